"""Skip tokens and delta tokens: where a client continues to read a collection.

A token carries a checksum of the query that it belongs to: the set, the filter and so on.

A skip token has the keyset of a page's last row. A page after a keyset neither repeats nor skips
rows while others are added and removed, which an offset would do. A delta token (OData Protocol
4.01, section 11.3) has numbers of the company's change log and the company's incarnation, because
a restored backup numbers its changes again.
"""

import base64
import binascii
from collections.abc import Sequence
from hashlib import blake2b
from typing import Annotated, TypeVar

import msgspec

from comptoir.edm.model import Company
from comptoir.edm.types import TEXT, PrimitiveType, Stored, Text, ValueFault
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import (
    Refusal,
    refuse,
)
from comptoir.plan.read import Keyset, OrderKey

_Number = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
_Integer = Annotated[int, msgspec.Meta(ge=-(2**63) + 1, le=2**63 - 1)]

T = TypeVar("T")


class SkipToken(msgspec.Struct, frozen=True):
    """The number of rows on earlier pages and the keyset after which the next page starts.

    `now` is the time of the first page, for queries that depend on it.
    """

    earlier: int
    keyset: Keyset
    now: str = ""


class RecordToken(msgspec.Struct, frozen=True):
    """A skip token that names the last record of a page by its key.

    `sorted_by` is a digest of that record's sort values, empty if the key alone sorts the records.
    Without it, a page after a record that has moved would skip records or repeat them.
    """

    key: Stored
    sorted_by: str = ""

    @property
    def text(self) -> str:
        """The token's text."""
        return f"{self.key},{self.sorted_by}" if self.sorted_by else str(self.key)


class Delta(msgspec.Struct, frozen=True, array_like=True):
    """Changes of a company: after the number `since`, and up to `until` unless that is None.

    `issued` is the time of the first link in the chain, in nanoseconds since the epoch.
    """

    since: _Number
    until: _Number | None
    issued: _Number

    @property
    def known(self) -> int:
        """The number of the last change that the company had when the token was issued."""
        return self.since if self.until is None else self.until


_SKIP = msgspec.json.Decoder(tuple[str, _Number, list[str | _Integer | None], str])
_DELTA = msgspec.json.Decoder(tuple[str, str, Delta])


def encode_skip(query: Sequence[str], token: SkipToken) -> str:
    """The text of a skip token for a query."""
    return _encode(query, *msgspec.structs.astuple(token))


def decode_skip(text: str, query: Sequence[str], order: Sequence[OrderKey]) -> SkipToken:
    """Read a skip token; raises `Refusal` (400) if it is damaged or belongs to another query."""
    content = _decode(text, _SKIP)
    if content is None:
        raise invalid_skip()
    checksum, earlier, keyset, now = content
    fits = len(keyset) == len(order) and all(
        key.nullable if value is None else isinstance(value, str) == key.text
        for value, key in zip(keyset, order, strict=True)
    )
    if not fits or checksum != _checksum(query, earlier, keyset, now):
        raise invalid_skip()
    return SkipToken(earlier, tuple(keyset), now)


def record_token(order: Sequence[OrderKey], key: str, keyset: Keyset) -> RecordToken:
    """The token of a record with these values of an order, one of which is that of the `key`."""
    value = keyset[[each.name for each in order].index(key)]
    if value is None:
        raise LookupError(f"{key} is null")
    return RecordToken(value, "" if len(order) == 1 else _checksum((), *keyset))


def decode_record_token(
    text: str, order: Sequence[OrderKey], key_type: PrimitiveType
) -> RecordToken:
    """Read the token of a record; raises `Refusal` (400) if it is damaged."""
    key, comma, sorted_by = (text, "", "") if len(order) == 1 else text.rpartition(",")
    if len(order) > 1 and not comma:
        raise invalid_skip()
    # a stored code may have another form than the type gives to those that clients send
    stored_type = TEXT if isinstance(key_type, Text) else key_type
    try:
        return RecordToken(stored_type.from_text(key), sorted_by)
    except ValueFault:
        raise invalid_skip() from None


def encode_delta(query: Sequence[str], company: Company, delta: Delta) -> str:
    """The text of a delta token for a query."""
    return _encode(query, company.incarnation, delta)


def decode_delta(text: str, query: Sequence[str], company: Company, *, oldest: int) -> Delta:
    """Read a delta token; `oldest` is the earliest time of issue.

    Raises `Refusal`: 400 if it is damaged or belongs to another query, 410 if it has expired.
    """
    content = _decode(text, _DELTA)
    if content is None:
        raise invalid_delta()
    checksum, incarnation, delta = content
    if checksum != _checksum(query, incarnation, delta):
        raise invalid_delta()
    if incarnation != company.incarnation or delta.issued < oldest:
        raise expired_delta()
    return delta


def invalid_delta() -> Refusal:
    """400: a delta token that the service did not issue for this query."""
    return refuse(rows.DELTA_TOKEN, "$deltatoken")


def expired_delta() -> Refusal:
    """410: a delta token whose changes the company no longer has."""
    return refuse(rows.DELTA_EXPIRED, "$deltatoken")


def invalid_skip() -> Refusal:
    """400: a skip token that the service did not issue for this query, or that is outdated."""
    return refuse(rows.SKIP_TOKEN, "$skiptoken")


def _encode(query: Sequence[str], *content: object) -> str:
    token = msgspec.json.encode((_checksum(query, *content), *content))
    return base64.urlsafe_b64encode(token).rstrip(b"=").decode()


def _decode(text: str, decoder: msgspec.json.Decoder[T]) -> T | None:
    try:
        return decoder.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (binascii.Error, ValueError):
        return None


def _checksum(query: Sequence[str], *content: object) -> str:
    return blake2b(msgspec.json.encode((query, *content)), digest_size=9).hexdigest()
