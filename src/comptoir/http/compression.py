"""Content codings of responses (RFC 9110, 8.4 and 12.5.3): zstd and gzip, slice by slice.

What each codec and level costs is in docs/explanation/performance.md.
"""

import asyncio
import sys
from collections.abc import Callable
from contextlib import aclosing

import msgspec
from isal import isal_zlib

from comptoir.errors import refusal_rows as rows
from comptoir.request.headers import Headers, cached, elements, quality
from comptoir.response.response import Header, Pieces

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MIN_BYTES = 1_400
"""Bytes from which a body is compressed: a smaller one fits into one packet anyway."""

LEAST_BYTES = 128 << 10
"""Bytes of a streamed body that are gathered, then compressed and flushed.

A flush ends a block: after every 24 KB, compression would cost 10% (zstd) to 30% (gzip) more.
"""

MOST_BYTES = 256 << 10
"""Bytes that are compressed before the service yields to the event loop."""

VARY: Header = (b"vary", b"Accept-Encoding")

_ZSTD_LEVEL = 1
_GZIP_LEVEL = 1
_GZIP_WINDOW_BITS = 16 + isal_zlib.MAX_WBITS


Compress = Callable[[bytes | bytearray | memoryview, bool], bytes]
"""Compresses some content of a body, the last or not; the result can be decompressed at once."""


def _gzip() -> Compress:
    """RFC 1952."""
    compressor = isal_zlib.compressobj(_GZIP_LEVEL, isal_zlib.DEFLATED, _GZIP_WINDOW_BITS)
    piece, end = isal_zlib.Z_SYNC_FLUSH, isal_zlib.Z_FINISH
    return lambda content, is_last: (
        compressor.compress(content) + compressor.flush(end if is_last else piece)
    )


def _zstd() -> Compress:
    """RFC 8878."""
    compressor = zstd.ZstdCompressor(level=_ZSTD_LEVEL)
    return lambda content, is_last: compressor.compress(
        content, compressor.FLUSH_FRAME if is_last else compressor.FLUSH_BLOCK
    )


class Coding(msgspec.Struct, frozen=True):
    """A content coding: its name in `Content-Encoding`, and its compressor (None: identity).

    `always`: the client does not accept an uncompressed body, however short.
    """

    name: bytes
    compressor: Callable[[], Compress] | None
    always: bool = False


IDENTITY = Coding(b"identity", None)
_CODINGS = (Coding(b"zstd", _zstd), Coding(b"gzip", _gzip))


def response_coding(headers: Headers) -> Coding:
    """The coding for a response's body; `Refusal` (406) if the client accepts no coding."""
    accepted = headers.get(b"accept-encoding")
    return IDENTITY if accepted is None else _preferred(accepted)


@cached
def _preferred(accepted: bytes) -> Coding:
    qualities = {
        each.name.removeprefix("x-"): quality(each) for each in elements(accepted.decode("latin-1"))
    }
    rest = qualities.get("*", 0.0)
    best = max(_CODINGS, key=lambda each: qualities.get(each.name.decode(), rest))
    best_quality = qualities.get(best.name.decode(), rest)
    excludes_identity = qualities.get("identity", qualities.get("*")) == 0
    if best_quality and best_quality >= qualities.get("identity", 0.0):
        return Coding(best.name, best.compressor, always=excludes_identity)
    if excludes_identity:
        raise rows.NO_CODING("Accept-Encoding")
    return IDENTITY


Body = bytes | Pieces


def encoded(headers: list[Header], body: Body, coding: Coding) -> Body:
    """Compress a body for the client, and add the headers that announce it."""
    if isinstance(body, bytes) and len(body) < MIN_BYTES and not (coding.always and body):
        return body
    headers.append(VARY)
    if coding.compressor is None:
        return body
    headers.append((b"content-encoding", coding.name))
    compress = coding.compressor()
    if not isinstance(body, bytes):
        return _compressed(body, compress)
    if len(body) > MOST_BYTES:
        return _compressed(_pieces(body), compress)
    return compress(body, True)


async def _compressed(body: Pieces, compress: Compress) -> Pieces:
    gathered = bytearray()
    async with aclosing(body):
        async for piece in body:
            whole: bytes | bytearray = piece
            if gathered or len(piece) < LEAST_BYTES:
                gathered += piece
                whole = gathered
            if len(whole) < LEAST_BYTES:
                continue
            # a large piece is not copied
            content, gathered = memoryview(whole), bytearray()
            for start in range(0, len(content), MOST_BYTES):
                if start:
                    await asyncio.sleep(0)
                yield compress(content[start : start + MOST_BYTES], False)
    yield compress(gathered, True)


async def _pieces(body: bytes) -> Pieces:
    yield body
