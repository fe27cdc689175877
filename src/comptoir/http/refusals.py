"""Errors about HTTP itself: malformed messages, limits of the server, failures."""

from comptoir.errors import (
    BAD_REQUEST,
    BODY_TOO_LARGE,
    HEADERS_TOO_LARGE,
    HTTP_VERSION_NOT_SUPPORTED,
    INTERNAL_ERROR,
    REQUEST_TIMEOUT,
    TOO_MANY_REQUESTS,
    Refusal,
)
from comptoir.refusals import limit_exceeded

# the parser's reasons for which a request is of another version
_OTHER_VERSION = frozenset(
    {"Invalid HTTP version", "Pause on PRI/Upgrade", "Expected HTTP/2 Connection Preface"}
)


def malformed(reason: str) -> Refusal:
    """400 for a request that is not HTTP/1.1, or 505 for another version.

    `reason` is that of the parser.
    """
    if reason in _OTHER_VERSION:
        return other_version("The HTTP version of the request")
    problem = f"The request is not valid HTTP/1.1: {reason}"
    return Refusal(BAD_REQUEST, problem, "Send HTTP/1.1 (RFC 9112).")


def other_version(version: str) -> Refusal:
    """505 for a version of HTTP that the service does not support."""
    return Refusal(HTTP_VERSION_NOT_SUPPORTED, f"{version} is not supported", "Send HTTP/1.1.")


def incomplete() -> Refusal:
    """400 for a request whose client stops sending before its end."""
    problem = "The client stopped sending before the end of the request"
    return Refusal(BAD_REQUEST, problem, "Send the whole request.")


def too_slow(seconds: float) -> Refusal:
    """408 for a request that does not arrive in time."""
    return Refusal(
        REQUEST_TIMEOUT,
        f"The request did not arrive within {seconds:g} seconds",
        "Send it without pauses, or send less at a time.",
    )


def too_many_pipelined(limit: int) -> Refusal:
    """429 for a request on a connection on which too many others wait."""
    return Refusal(
        TOO_MANY_REQUESTS,
        f"{limit} requests already wait on this connection",
        "Read their responses before you send more, or use more connections.",
        headers={"Retry-After": "1"},
    )


def head_too_large(limit: int) -> Refusal:
    """431 for a head of more bytes than the limit."""
    remedy = "Send fewer or shorter headers."
    return limit_exceeded(
        "The head of the request", limit, "bytes", remedy, error=HEADERS_TOO_LARGE
    )


def body_overhead_too_large(limit: int) -> Refusal:
    """431 for a body with more bytes besides its content than the limit."""
    return limit_exceeded(
        "The size of the body's trailers and chunk extensions",
        limit,
        "bytes",
        "Send fewer or shorter ones, or none.",
        error=HEADERS_TOO_LARGE,
    )


def body_too_large(limit: int, *, is_unread: bool = False) -> Refusal:
    """413 for a body of more bytes than the limit."""
    refusal = limit_exceeded(
        "The body", limit, "bytes", "Send less at a time.", error=BODY_TOO_LARGE
    )
    if is_unread:
        # the connection cannot be used again
        refusal.headers = {"Connection": "close"}
    return refusal


def failed(request_id: str = "") -> Refusal:
    """500 for a request that failed because of a defect; without an id, it names X-Request-Id."""
    shown = request_id or "in X-Request-Id"
    remedy = f"Ask the operator for the cause, which is in the log under the id {shown}."
    return Refusal(INTERNAL_ERROR, "The service failed", remedy)
