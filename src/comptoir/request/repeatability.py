"""Headers by which a request that is sent again is known (OASIS Repeatable Requests 1.0)."""

from contextlib import suppress
from datetime import datetime
from email.utils import format_datetime, parsedate_to_datetime

import msgspec

from comptoir.errors import BAD_REQUEST, ErrorType, Refusal
from comptoir.request.headers import Headers
from comptoir.request.words import BLANKS

REQUEST_ID, CLIENT_ID = "Repeatability-Request-ID", "Repeatability-Client-ID"
FIRST_SENT, RESULT = "Repeatability-First-Sent", "Repeatability-Result"

LONGEST_ID = 256
"""The most characters of an id."""

_REQUEST_ID, _CLIENT_ID = REQUEST_ID.lower().encode(), CLIENT_ID.lower().encode()
_FIRST_SENT = FIRST_SENT.lower().encode()


_DATE_LENGTH = len("Tue, 26 Mar 2019 16:06:51 GMT")


class Repeatability(msgspec.Struct, frozen=True):
    """What a request is known by: its id, that of the client (maybe empty), when it was made."""

    request_id: str
    client_id: str
    first_sent: datetime


def repeatability(headers: Headers) -> Repeatability | None:
    """What a request is known by if it is sent again; None for one that is not repeatable.

    Raises `Refusal` (400) for headers that are incomplete or malformed.
    """
    request_id, first_sent = headers.get(_REQUEST_ID), headers.get(_FIRST_SENT)
    if request_id is None and first_sent is None and _CLIENT_ID not in headers:
        return None
    if request_id is None or first_sent is None:
        missing = FIRST_SENT if first_sent is None else REQUEST_ID
        raise rejected(
            BAD_REQUEST,
            f"A repeatable request needs both {REQUEST_ID} and {FIRST_SENT}. Send {missing} too.",
            missing,
        )
    return Repeatability(
        _id(REQUEST_ID, request_id),
        _id(CLIENT_ID, headers[_CLIENT_ID]) if _CLIENT_ID in headers else "",
        _instant(first_sent),
    )


def rejected(kind: ErrorType, message: str, target: str) -> Refusal:
    """A refusal that tells the client that the request is not repeatable as it stands."""
    return Refusal(kind, message, target=target, headers={RESULT: "rejected"})


def _id(name: str, value: bytes) -> str:
    text = value.decode("latin-1").strip(BLANKS)
    if text.isascii() and text.isprintable() and 0 < len(text) <= LONGEST_ID:
        return text
    raise rejected(
        BAD_REQUEST,
        f"{name} must be 1 to {LONGEST_ID} characters of ASCII. Send a Guid.",
        name,
    )


def _instant(value: bytes) -> datetime:
    text = value.decode("latin-1").strip(BLANKS)
    if len(text) == _DATE_LENGTH and text.endswith("GMT"):
        with suppress(ValueError, OverflowError):
            first_sent = parsedate_to_datetime(text)
            # only the one form gives itself again: the reader takes others too
            if format_datetime(first_sent, usegmt=True) == text:
                return first_sent
    raise rejected(
        BAD_REQUEST,
        f"{FIRST_SENT} must be an HTTP date such as Tue, 26 Mar 2019 16:06:51 GMT (RFC 9110, "
        f"5.6.7), but {text[:60]!r} is none.",
        FIRST_SENT,
    )
