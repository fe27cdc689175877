"""What is answered: a status, headers, and a body, whole or in pieces."""

from collections.abc import AsyncGenerator

import msgspec

Header = tuple[bytes, bytes]

Pieces = AsyncGenerator[bytes, None]
"""A body in pieces. Its reader closes it, so that what produces it ends at once."""


class Answer(msgspec.Struct):
    """An answer to a request. Content-Type is among the headers, Content-Length is not yet.

    One that `is_revalidated` stays the same as long as its entity tag does.
    """

    status: int
    headers: list[Header]
    body: bytes | Pieces = b""
    is_revalidated: bool = False
