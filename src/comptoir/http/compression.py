"""Content codings of responses (RFC 9110, 8.4 and 12.5.3): zstd and gzip, slice by slice.

What each codec and level costs is in docs/explanation/performance.md.
"""

import asyncio
import sys
from collections.abc import Callable
from contextlib import aclosing
from typing import Protocol

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


class Compressor(Protocol):
    """Compresses one body."""

    def piece(self, content: memoryview) -> bytes:
        """Compress some content; the result can be decompressed at once."""

    def end(self, content: bytes | bytearray) -> bytes:
        """Compress the last content, and end the body."""


class _Gzip:
    """RFC 1952."""

    def __init__(self) -> None:
        self._compressor = isal_zlib.compressobj(_GZIP_LEVEL, isal_zlib.DEFLATED, _GZIP_WINDOW_BITS)

    def piece(self, content: memoryview) -> bytes:
        return self._compressor.compress(content) + self._compressor.flush(isal_zlib.Z_SYNC_FLUSH)

    def end(self, content: bytes | bytearray) -> bytes:
        return self._compressor.compress(content) + self._compressor.flush()


class _Zstd:
    """RFC 8878."""

    def __init__(self) -> None:
        self._compressor = zstd.ZstdCompressor(level=_ZSTD_LEVEL)

    def piece(self, content: memoryview) -> bytes:
        return self._compressor.compress(content, zstd.ZstdCompressor.FLUSH_BLOCK)

    def end(self, content: bytes | bytearray) -> bytes:
        return self._compressor.compress(content, zstd.ZstdCompressor.FLUSH_FRAME)


class Coding(msgspec.Struct, frozen=True):
    """A content coding: its name in `Content-Encoding`, and its compressor (None: identity).

    `always`: the client does not accept an uncompressed body, however short.
    """

    name: bytes
    compressor: Callable[[], Compressor] | None
    always: bool = False


IDENTITY = Coding(b"identity", None)
_CODINGS = (Coding(b"zstd", _Zstd), Coding(b"gzip", _Gzip))


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
    compressor = coding.compressor()
    if not isinstance(body, bytes):
        return _compressed(body, compressor)
    if len(body) > MOST_BYTES:
        return _compressed(_pieces(body), compressor)
    return compressor.end(body)


async def _compressed(body: Pieces, compressor: Compressor) -> Pieces:
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
                yield compressor.piece(content[start : start + MOST_BYTES])
    yield compressor.end(gathered)


async def _pieces(body: bytes) -> Pieces:
    yield body
