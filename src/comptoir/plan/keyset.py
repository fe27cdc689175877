"""Skip tokens: where a page ended, as the values of its last record that the order sorts by.

A page that continues behind those values stays right while records are added and removed, which
an offset would not. The token carries a checksum of the query that it belongs to.
"""

import base64
import binascii
from collections.abc import Sequence
from hashlib import blake2b
from typing import Annotated

import msgspec

from comptoir.edm.model import EntityType
from comptoir.edm.types import Stored
from comptoir.errors import INVALID_URL, Refusal
from comptoir.plan.read import Order, OrderKey, OrderTerm, Seek

_Given = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
_Sought = Annotated[int, msgspec.Meta(ge=-(2**63) + 1, le=2**63 - 1)]
_TOKEN = msgspec.json.Decoder(tuple[str, _Given, list[str | _Sought | None], str])


class Continuation(msgspec.Struct, frozen=True):
    """Where a page continues: how many records earlier pages gave, and what to seek behind.

    `now` is the instant at which the first page was read, for queries that name it.
    """

    given: int
    seek: Seek
    now: str = ""


def encode_token(query: Sequence[str], continuation: Continuation) -> str:
    """The token of a continuation; `query` is what it belongs to: the set, filter and order."""
    checksum = _checksum(query, continuation)
    content = msgspec.json.encode((checksum, *msgspec.structs.astuple(continuation)))
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def decode_token(token: str, query: Sequence[str], kind: EntityType, order: Order) -> Continuation:
    """Read a token; raises `Refusal` (400) when it is damaged or belongs to another query."""
    try:
        content = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        checksum, given, seek, now = _TOKEN.decode(content)
    except (binascii.Error, ValueError):
        raise _refused() from None
    continuation = Continuation(given, tuple(seek), now)
    fits = len(seek) == len(order) and all(
        _fits(value, kind, key) for value, key in zip(seek, order, strict=True)
    )
    if not fits or checksum != _checksum(query, continuation):
        raise _refused()
    return continuation


def _fits(value: Stored | None, kind: EntityType, key: OrderKey | OrderTerm) -> bool:
    if isinstance(key, OrderKey):
        return isinstance(value, type(kind.by_name[key.name].type.default))
    if value is None:
        return key.nullable
    return isinstance(value, str) == key.text


def _checksum(query: Sequence[str], continuation: Continuation) -> str:
    content = msgspec.json.encode((query, *msgspec.structs.astuple(continuation)))
    return blake2b(content, digest_size=9).hexdigest()


def _refused() -> Refusal:
    return Refusal(
        INVALID_URL,
        "The $skiptoken is damaged or belongs to another query. Follow @odata.nextLink as it was "
        "given, or start over without $skiptoken.",
        target="$skiptoken",
    )
