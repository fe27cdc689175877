"""HTTP responses: a status, headers, and a body, whole or in pieces; and service roots."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from math import inf

import msgspec
from typing_extensions import override

from comptoir.errors.refusal import Refusal

Header = tuple[bytes, bytes]

ODATA_VERSION: Header = (b"odata-version", b"4.0")
"""The version of all responses but `$metadata`."""

Pieces = AsyncGenerator[bytes, None]
"""A body in pieces. Its reader closes it, so that its producer ends at once."""


class Response(msgspec.Struct):
    """The response to a request. The headers include Content-Type, but not Content-Length.

    A client may cache a response that `is_revalidated`: its entity tag covers the whole body.
    `path` is that of a record whose address the headers contain, as in `Request.path`, else empty.
    `refusal` is what an error says.
    """

    status: int
    headers: list[Header]
    body: bytes | Pieces = b""
    is_revalidated: bool = False
    path: str = ""
    refusal: Refusal | None = None


class Root(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """A service root (OData Protocol 4.01, section 10), by its URL without a slash at the end.

    Paths are percent-encoded and begin with a slash, as in `Request.path`. `unknown` is the
    group of the refusals of a path that names nothing. `challenge` is what a request without valid
    credentials gets as `WWW-Authenticate`; if it is empty, the challenge for bearer tokens.
    `basic`: HTTP Basic is accepted in place of a token. `joins_slashes`: several slashes in a row
    are read as one.
    """

    url: str
    unknown: str = "UNKNOWN_SEGMENT"
    challenge: str = ""
    basic: bool = False
    joins_slashes: bool = False

    def address(self, path: str) -> str:
        """The URL of a path, without a query."""
        return self.url + path

    def link(self, path: str, query: str = "") -> str:
        """The complete URL of a path."""
        return f"{self.url}{path}?{query}" if query else self.url + path

    def context(self, path: str) -> str:
        """The context URL of a path (OData Protocol 4.01, section 10)."""
        return f"{self.url}/$metadata#{path[1:]}"

    def naming(self, company: str, *, shown: str = "", query: str = "") -> "CompanyRoot":
        """The root for a client that names a company otherwise than by an id in the path."""
        same = msgspec.structs.asdict(self)
        return CompanyRoot(**same, company=company, shown=shown, query=query)


class CompanyRoot(Root, frozen=True, cache_hash=True, gc=False):
    """A root in whose addresses the path `company` is replaced by `shown`, and `query` added.

    `shown` may be empty.
    """

    company: str = ""
    shown: str = ""
    query: str = ""

    @override
    def address(self, path: str) -> str:
        return self.url + self._shown(path, self.shown)

    @override
    def link(self, path: str, query: str = "") -> str:
        query = "&".join(filter(None, (self.query, query)))
        return f"{self.address(path)}?{query}" if query else self.address(path)

    @override
    def context(self, path: str) -> str:
        return f"{self.url}/$metadata#{self._shown(path, self.shown or self.company)[1:]}"

    def _shown(self, path: str, shown: str) -> str:
        if path.startswith(self.company):
            return shown + path[len(self.company) :]
        return path


async def whole_body(response: Response, most: float = inf) -> bytes:
    """The body of a response, which may come in pieces; of one that has more bytes, the first."""
    if isinstance(response.body, bytes):
        return response.body
    body = bytearray()
    async with aclosing(response.body) as pieces:
        async for piece in pieces:
            body += piece
            if len(body) > most:
                break
    return bytes(body)
