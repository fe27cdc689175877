"""Request bodies: read when an operation gets to them, within a limit."""

from starlette.types import Receive

from comptoir.errors import BODY_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, Refusal
from comptoir.request.headers import Headers


class ClientLeft(Exception):  # noqa: N818 - nobody is left to tell of an error
    """The client closed the connection before it was answered."""


async def read_body(receive: Receive, headers: Headers, limit: int) -> bytes:
    """The whole body, in bytes; raises `Refusal` (415, 413) without reading past the limit."""
    check_coding(headers)
    declared = headers.get(b"content-length", b"0")
    if declared.isdigit() and int(declared[:18]) > limit:
        raise _too_large(limit)
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientLeft
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise _too_large(limit)
        if not message.get("more_body", False):
            return part if not parts else b"".join([*parts, part])
        parts.append(part)


async def client_left(receive: Receive) -> None:
    """Return when the client has closed the connection; a body is passed over."""
    while (await receive())["type"] != "http.disconnect":
        pass


def check_coding(headers: Headers) -> None:
    """Raise `Refusal` (415) for a body that is coded."""
    coding = headers.get(b"content-encoding", b"identity")
    if coding.strip().lower() in (b"identity", b""):
        return
    raise Refusal(
        UNSUPPORTED_MEDIA_TYPE,
        f"The body is coded by {coding.decode('latin-1')[:40]!r}. Send it as it is, without "
        "Content-Encoding.",
        target="Content-Encoding",
        # which codings the service takes (RFC 9110, 15.5.16)
        headers={"Accept-Encoding": "identity"},
    )


def _too_large(limit: int) -> Refusal:
    # the rest of the body is not read, so the connection cannot be used again
    return Refusal(
        BODY_TOO_LARGE,
        f"The body is larger than {limit} bytes. Send less at a time.",
        headers={"Connection": "close"},
    )
