"""Delta tokens: from which change on a client wants to hear of changes (OData Protocol 4.01, 11.3).

A token carries a checksum of the query that it belongs to, and the incarnation of its company: a
backup that was restored has changes of its own under the numbers that the token knows.
"""

import base64
import binascii
from collections.abc import Sequence
from hashlib import blake2b
from typing import Annotated

import msgspec

from comptoir.edm.model import Company
from comptoir.errors import INVALID_URL, LINK_EXPIRED, Refusal

_Number = Annotated[int, msgspec.Meta(ge=0, le=2**62)]


class Delta(msgspec.Struct, frozen=True, array_like=True):
    """A walk along the changes of a company: behind `since`, up to `until` if that is decided.

    `issued` is when the walk's first link was given, in nanoseconds since the epoch.
    """

    since: _Number
    until: _Number | None
    issued: _Number

    @property
    def reached(self) -> int:
        """The number of the last change that the company had when the token was given."""
        return self.since if self.until is None else self.until


_TOKEN = msgspec.json.Decoder(tuple[str, str, Delta])


def encode_delta(query: Sequence[str], company: Company, delta: Delta) -> str:
    """The token of a delta; `query` is what it belongs to: the set, the filter and so on."""
    content = msgspec.json.encode(
        (_checksum(query, company.incarnation, delta), company.incarnation, delta)
    )
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def decode_delta(token: str, query: Sequence[str], company: Company, *, oldest: int) -> Delta:
    """Read a token; `oldest` is the earliest time of issue.

    Raises `Refusal`: 400 when it is damaged or belongs to another query, 410 when it has expired.
    """
    try:
        content = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        checksum, incarnation, delta = _TOKEN.decode(content)
    except (binascii.Error, ValueError):
        raise no_delta() from None
    if checksum != _checksum(query, incarnation, delta):
        raise no_delta()
    if incarnation != company.incarnation or delta.issued < oldest:
        raise expired()
    return delta


def _checksum(query: Sequence[str], incarnation: str, delta: Delta) -> str:
    content = msgspec.json.encode((query, incarnation, delta))
    return blake2b(content, digest_size=9).hexdigest()


def expired() -> Refusal:
    """410: a delta token whose changes the company does not know, or not any more."""
    return Refusal(
        LINK_EXPIRED,
        "The delta link has expired. Start over: read the collection with Prefer: "
        "odata.track-changes, replace what you have, and keep its new @odata.deltaLink.",
        target="$deltatoken",
    )


def no_delta() -> Refusal:
    """400: a delta token that the service has not given for this query."""
    return Refusal(
        INVALID_URL,
        "The $deltatoken is damaged or belongs to another query. Follow @odata.deltaLink as it was "
        "given, or start over with Prefer: odata.track-changes.",
        target="$deltatoken",
    )
