"""HTTP responses: a status, headers, and a body, whole or in pieces."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec

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


async def whole_body(response: Response) -> bytes:
    """The body of a response, which may come in pieces."""
    if isinstance(response.body, bytes):
        return response.body
    async with aclosing(response.body) as pieces:
        return b"".join([piece async for piece in pieces])
