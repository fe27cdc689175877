"""What is answered: a status, headers, and a body, whole or in pieces."""

from collections.abc import AsyncIterator

import msgspec

Header = tuple[bytes, bytes]


class Answer(msgspec.Struct):
    """An answer to a request. Content-Type is among the headers, Content-Length is not yet."""

    status: int
    headers: list[Header]
    body: bytes | AsyncIterator[bytes] = b""
