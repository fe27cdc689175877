"""Failed authentications, counted by minute for the audit log."""

import base64
import binascii
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime

import msgspec

from comptoir.auth.audit import Act, ActName, Actor
from comptoir.edm.times import Clock
from comptoir.edm.types import is_guid

MOST_KINDS = 100
"""The most entries of a minute, without the one for all other failures."""

MOST_MINUTES = 60
"""The most minutes in memory, while they cannot be written; the oldest is dropped first."""

MOST_CHARACTERS = 200
"""The most characters of what a request sent, and of a reason."""

MOST_OF_OTHERS = 8
"""The most characters of what was sent as the id of a client and is not a Guid."""

OTHERS = "others"
"""The target of the entry for all failures of a minute that have none of their own."""

_MINUTE = 60


class _Kind(msgspec.Struct, frozen=True):
    target: str
    address: str
    reason: str


class _Count(msgspec.Struct):
    request: str
    failures: int = 0


class _Named(msgspec.Struct, frozen=True):
    """The claims of a token that name its issuer and its client; both are not verified."""

    iss: str = ""
    client_id: str = ""


class Failures:
    """Counts failed authentications; failures of one kind in a minute become one entry."""

    def __init__(self, clock: Clock = time.time) -> None:
        self._clock = clock
        self._minutes: dict[int, dict[_Kind, _Count]] = {}

    def note(self, target: str, address: str, reason: str, request: str) -> None:
        """Count a failure of what claims to be `target`, in the request with this id."""
        minute = int(self._clock()) // _MINUTE
        kinds = self._minutes.setdefault(minute, {})
        if len(self._minutes) > MOST_MINUTES:
            del self._minutes[min(self._minutes)]
        kind = _Kind(_readable(target), _readable(address), _readable(reason))
        if kind not in kinds and len(kinds) >= MOST_KINDS:
            kind = _Kind(OTHERS, "", OTHERS)
        kinds.setdefault(kind, _Count(request)).failures += 1

    async def write(
        self, record: Callable[[Sequence[Act]], Awaitable[None]], *, is_last: bool = False
    ) -> None:
        """Record the minutes that have ended, or all that are left if this `is_last`.

        What `record` raises is raised, and the minute is recorded by the next call.
        """
        this_minute = int(self._clock()) // _MINUTE
        for minute in sorted(self._minutes):
            if minute < this_minute or is_last:
                await record(_acts(minute, self._minutes[minute]))
                self._minutes.pop(minute, None)


def sent_as_id(client_id: str) -> str:
    """What a client sent as its id; of what no client has as its id, the beginning.

    The rest may be a secret, sent in the wrong place.
    """
    if is_guid(client_id) or len(client_id) <= MOST_OF_OTHERS:
        return client_id
    return f"{client_id[:MOST_OF_OTHERS]}…"


def sent_by(authorization: bytes) -> str:
    """The issuer and the client that a bearer token names, as far as it can be read."""
    _, _, token = authorization.partition(b" ")
    _, _, rest = token.strip().partition(b".")
    payload = rest.partition(b".")[0]
    try:
        decoded = base64.urlsafe_b64decode(payload + b"=" * (-len(payload) % 4))
        named = msgspec.json.decode(decoded, type=_Named)
    except (binascii.Error, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    return f"{named.iss} {named.client_id}".strip()


def _acts(minute: int, kinds: dict[_Kind, _Count]) -> list[Act]:
    at = datetime.fromtimestamp(minute * _MINUTE, UTC)
    return [
        Act(
            Actor("", kind.address, count.request),
            ActName.AUTHENTICATION_FAILED,
            kind.target,
            f"count={count.failures} minute={at:%Y-%m-%dT%H:%MZ} reason={kind.reason}",
        )
        for kind, count in kinds.items()
    ]


def _readable(text: str) -> str:
    """The beginning of a text, in which U+FFFD replaces what cannot be printed or stored."""
    return "".join([each if each.isprintable() else "\ufffd" for each in text[:MOST_CHARACTERS]])
