"""HTTP responses: a status, headers, and a body, whole or in pieces; errors have one form."""

from collections.abc import AsyncGenerator

import msgspec

from comptoir.errors import Refusal

Header = tuple[bytes, bytes]

ODATA_VERSION: Header = (b"odata-version", b"4.0")
"""The version of all responses but `$metadata`."""

Pieces = AsyncGenerator[bytes, None]
"""A body in pieces. Its reader closes it, so that its producer ends at once."""


class Response(msgspec.Struct):
    """The response to a request. The headers include Content-Type, but not Content-Length.

    A client may cache a response that `is_revalidated`: its entity tag covers the whole body.
    """

    status: int
    headers: list[Header]
    body: bytes | Pieces = b""
    is_revalidated: bool = False


_LONGEST_MESSAGE = 1_000


def error_response(refusal: Refusal) -> Response:
    """The error as JSON (OData JSON Format 4.01, section 21)."""
    error: dict[str, str | list[dict[str, str]]] = {
        "code": refusal.error.code,
        "message": refusal.message[:_LONGEST_MESSAGE],
    }
    if refusal.target is not None:
        error["target"] = refusal.target
    if refusal.details:
        error["details"] = [
            {"code": each.code, "message": each.message[:_LONGEST_MESSAGE], "target": each.target}
            for each in refusal.details
        ]
    headers = [(b"content-type", b"application/json"), ODATA_VERSION]
    for name, value in refusal.headers.items():
        headers.append((name.lower().encode("latin-1"), value.encode("latin-1", "replace")))
    return Response(refusal.error.status, headers, msgspec.json.encode({"error": error}))
