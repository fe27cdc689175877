"""Headers that identify a repeated request (OASIS Repeatable Requests 1.0)."""

from contextlib import suppress
from datetime import datetime
from email.utils import format_datetime, parsedate_to_datetime

import msgspec

from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import refuse
from comptoir.request.headers import BLANKS, Headers

REQUEST_ID, CLIENT_ID = "Repeatability-Request-ID", "Repeatability-Client-ID"
FIRST_SENT, RESULT = "Repeatability-First-Sent", "Repeatability-Result"

LONGEST_ID = 256
"""Characters of an id."""

_REQUEST_ID, _CLIENT_ID = REQUEST_ID.lower().encode(), CLIENT_ID.lower().encode()
_FIRST_SENT = FIRST_SENT.lower().encode()
_DATE_LENGTH = len("Tue, 26 Mar 2019 16:06:51 GMT")


class Repeatability(msgspec.Struct, frozen=True):
    """The identity of a request; `client_id` may be empty."""

    request_id: str
    client_id: str
    first_sent: datetime


def repeatability(headers: Headers) -> Repeatability | None:
    """The identity of a repeatable request; None if it is not repeatable.

    Raises `Refusal` (400) for headers that are incomplete or malformed.
    """
    request_id, first_sent = headers.get(_REQUEST_ID), headers.get(_FIRST_SENT)
    if request_id is None and first_sent is None and _CLIENT_ID not in headers:
        return None
    if request_id is None or first_sent is None:
        missing = FIRST_SENT if first_sent is None else REQUEST_ID
        raise refuse(rows.INCOMPLETE_REPEAT, missing, header=missing)
    return Repeatability(
        _id(REQUEST_ID, request_id),
        _id(CLIENT_ID, headers[_CLIENT_ID]) if _CLIENT_ID in headers else "",
        _instant(first_sent),
    )


def _id(name: str, value: bytes) -> str:
    text = value.decode("latin-1").strip(BLANKS)
    if text.isascii() and text.isprintable() and 0 < len(text) <= LONGEST_ID:
        return text
    raise refuse(rows.REPEAT_ID, name, value=text, header=name, longest=LONGEST_ID)


def _instant(value: bytes) -> datetime:
    text = value.decode("latin-1").strip(BLANKS)
    if len(text) == _DATE_LENGTH and text.endswith("GMT"):
        with suppress(ValueError, OverflowError):
            first_sent = parsedate_to_datetime(text)
            # the reader accepts other forms too
            if format_datetime(first_sent, usegmt=True) == text:
                return first_sent
    raise refuse(rows.REPEAT_TIME, FIRST_SENT, value=text)
