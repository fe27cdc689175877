"""Encoded bodies of responses, and their contents."""

import sys
import zlib
from typing import Protocol

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_MAGIC = {"zstd": b"\x28\xb5\x2f\xfd", "gzip": b"\x1f\x8b"}


class Decoder(Protocol):
    """Decodes the beginning of a body."""

    def decompress(self, data: bytes, /) -> bytes: ...

    @property
    def eof(self) -> bool: ...


def decoder(coding: str) -> Decoder:
    """Read a body of this coding in pieces."""
    return zstd.ZstdDecompressor() if coding == "zstd" else zlib.decompressobj(wbits=31)


def decoded(content: bytes) -> bytes:
    """Decode a whole body by the coding that its first bytes show."""
    for coding, magic in _MAGIC.items():
        if content.startswith(magic):
            reader = decoder(coding)
            plain = reader.decompress(content)
            assert reader.eof
            return plain
    return content
