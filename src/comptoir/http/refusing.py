"""Errors that the server answers by itself, about requests that no exchange was made of."""

import logging

from uvicorn._types import ASGI3Application, ASGIReceiveCallable, ASGISendCallable, Scope

from comptoir.errors import (
    BAD_REQUEST,
    HEADERS_TOO_LARGE,
    HTTP_VERSION_NOT_SUPPORTED,
    REQUEST_TIMEOUT,
    TOO_MANY_REQUESTS,
    Refusal,
)
from comptoir.http.exchange import next_id
from comptoir.http.guards import NOT_KEPT
from comptoir.response.response import error_response

# how the parser words that a request is of another version
_OTHER_VERSION = frozenset(
    {"Invalid HTTP version", "Pause on PRI/Upgrade", "Expected HTTP/2 Connection Preface"}
)

_log = logging.getLogger(__name__)


def refusing(refusal: Refusal) -> ASGI3Application:
    """An application that answers with an error, and announces that the connection ends."""

    async def refuse(_: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        answer, request_id = error_response(refusal), next_id()
        # not the message, which may quote what the log must not hold
        _log.warning("refused request %s: %d %s", request_id, answer.status, refusal.error.code)
        body = answer.body if isinstance(answer.body, bytes) else b""
        headers = [
            *answer.headers,
            *NOT_KEPT,
            (b"x-request-id", request_id.encode()),
            (b"content-length", b"%d" % len(body)),
            (b"connection", b"close"),
        ]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return refuse


def malformed(reason: str) -> Refusal:
    """400 for what is not HTTP/1.1, or 505 for another version, by the parser's reason."""
    if reason in _OTHER_VERSION:
        return other_version("another version")
    return Refusal(
        BAD_REQUEST, f"The request is not valid HTTP/1.1: {reason}. Send HTTP/1.1 (RFC 9112)."
    )


def other_version(version: str) -> Refusal:
    """505 for a version of HTTP that the service does not speak."""
    return Refusal(
        HTTP_VERSION_NOT_SUPPORTED,
        f"The service speaks HTTP/1.1 and HTTP/1.0, not {version}. Send HTTP/1.1.",
    )


def broken_off() -> Refusal:
    """400 for a request whose client stops sending before its end."""
    return Refusal(
        BAD_REQUEST,
        "The client stopped sending before the end of the request. Send the request whole.",
    )


def too_slow(seconds: float) -> Refusal:
    """408 for a request that does not arrive in time."""
    return Refusal(
        REQUEST_TIMEOUT,
        f"The request did not arrive within {seconds:g} seconds. Send it whole and without "
        "pauses, or less at a time.",
    )


def too_many_pipelined(limit: int) -> Refusal:
    """429 for a request that comes while too many wait on its connection."""
    return Refusal(
        TOO_MANY_REQUESTS,
        f"{limit} requests wait on this connection already. Read their answers before you send "
        "more, or use more connections.",
        headers={"Retry-After": "1"},
    )


def head_too_large(limit: int) -> Refusal:
    """431 for a head of more bytes than the limit."""
    return Refusal(
        HEADERS_TOO_LARGE,
        f"The head of the request is longer than {limit} bytes. Send fewer or shorter headers.",
    )


def body_overhead_too_large(limit: int) -> Refusal:
    """431 for a body with more bytes beside its content than the limit."""
    return Refusal(
        HEADERS_TOO_LARGE,
        f"The trailers and chunk extensions of the body are longer than {limit} bytes. Send fewer "
        "or shorter ones, or none.",
    )
