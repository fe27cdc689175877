"""Failed authentications: they slow down their address, and go to the audit log."""

import asyncio
import binascii
import math
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address, ip_network

import msgspec
from joserfc.util import urlsafe_b64decode

from comptoir.auth.audit import Act, ActName, Actor
from comptoir.edm.times import Clock
from comptoir.edm.types import is_guid
from comptoir.errors.refusal import Refusal

FREE_FAILURES = 5
"""The failures in `WINDOW_SECONDS` after which a client usually has to wait at an address."""

WINDOW_SECONDS = 60.0
LONGEST_WAIT = 60.0
MOST_ENTRIES = 10_000
"""The most clients and addresses that are remembered; the oldest failure is forgotten first."""

_LONGEST_TEXT = 64
_NETWORK_BITS = 64
"""The bits of an IPv6 address that do not vary for one subscriber."""


@dataclass(slots=True)
class _Failures:
    """The failures of a client at an address; times are those of the clock."""

    recent: deque[float]
    wait: float = 0.0
    until: float = 0.0


@dataclass(slots=True, eq=False)
class Guesses:
    """Counts the failed authentications of each client at each address, in this process.

    Only that client has to wait, and only at that address: nobody can lock others out. For the
    console and the audit log, a name that they choose takes the place of the client. `free` are the
    failures in `WINDOW_SECONDS` after which a client has to wait.
    """

    clock: Clock = time.monotonic
    free: int = FREE_FAILURES
    _entries: OrderedDict[tuple[str, str], _Failures] = field(default_factory=OrderedDict)

    def wait(self, client_id: str, address: str) -> int:
        """The seconds that a client still has to wait at an address, 0 if it may try."""
        failures = self._entries.get(_key(client_id, address))
        return 0 if failures is None else max(math.ceil(failures.until - self.clock()), 0)

    def note(self, client_id: str, address: str) -> None:
        """Note a failure; too many in a minute are followed by waits of 2, 4, … 60 seconds."""
        now, key = self.clock(), _key(client_id, address)
        failures = self._entries.setdefault(key, _Failures(deque(maxlen=self.free)))
        self._entries.move_to_end(key)
        if len(self._entries) > MOST_ENTRIES:
            self._entries.popitem(last=False)
        if now > failures.until + WINDOW_SECONDS:
            failures.wait = 0.0
        failures.recent.append(now)
        is_often = len(failures.recent) == self.free
        if failures.wait or (is_often and now - failures.recent[0] <= WINDOW_SECONDS):
            failures.wait = min(max(failures.wait, 1.0) * 2, LONGEST_WAIT)
            failures.until = now + failures.wait


def _key(client_id: str, address: str) -> tuple[str, str]:
    return client_id[:_LONGEST_TEXT], network_of(address)


def network_of(address: str) -> str:
    """The network of an IPv6 address, or an address of another form as it is; 64 characters."""
    try:
        parsed = ip_address(address)
    except ValueError:
        # a proxy may send another name of the client
        return address[:_LONGEST_TEXT]
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ip_network((int(parsed), _NETWORK_BITS), strict=False))


FREE_ENTRIES = 20
"""The entries of an address in a minute after which it gets the next one only after a wait."""

MOST_WAITING = 1_000
"""The most failures in memory, while they cannot be written; later ones are dropped."""

MOST_CHARACTERS = 200
"""The most characters of what a request sent, and of a reason."""

_OBJECT = msgspec.json.Decoder(dict[str, object])

MOST_OF_OTHERS = 8
"""The most characters of what was sent as the id of a client and is not a Guid."""


class Failures:
    """Failed authentications, each an entry of the audit log, which no address can flood."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._noted = Guesses(clock, FREE_ENTRIES)
        self._acts: list[Act] = []

    def note(self, target: str, address: str, reason: str, request: str) -> None:
        """Note a failure of what claims to be `target`, in the request with this id.

        Does nothing while the address has to wait, as in `Guesses`.
        """
        if self._noted.wait("", address) or len(self._acts) >= MOST_WAITING:
            return
        self._noted.note("", address)
        actor, detail = Actor("", _readable(address), request), f"reason={_readable(reason)}"
        self._acts.append(Act(actor, ActName.AUTHENTICATION_FAILED, _readable(target), detail))

    async def write(self, record: Callable[[Sequence[Act]], Awaitable[None]]) -> None:
        """Record what was noted. What is refused is raised, and the next call repeats it."""
        if not self._acts:
            return
        acts, self._acts = self._acts, []
        try:
            await record(acts)
        except (Refusal, asyncio.CancelledError):
            # after a cancellation, the log may have them twice, which is better than never
            self._acts = [*acts, *self._acts]
            raise


def sent_as_id(client_id: str) -> str:
    """The id that a client sent; only its beginning if no client has it.

    The rest may be a secret, sent in the wrong place.
    """
    if is_guid(client_id) or len(client_id) <= MOST_OF_OTHERS:
        return client_id
    return f"{client_id[:MOST_OF_OTHERS]}…"


def sent_by(authorization: bytes) -> str:
    """The issuer and the client that a bearer token names, as far as it can be read."""
    _, _, token = authorization.partition(b" ")
    _, _, rest = token.strip().partition(b".")
    claims = unverified(rest.partition(b".")[0])
    named = [claims.get(name) for name in ("iss", "client_id")]
    return " ".join(each for each in named if isinstance(each, str)).strip()


def unverified(part: bytes) -> Mapping[str, object]:
    """The header or the claims of a token, whose signature is not verified; empty if unreadable."""
    try:
        return _OBJECT.decode(urlsafe_b64decode(part))
    except (binascii.Error, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}


def _readable(text: str) -> str:
    """The beginning of a text, in which U+FFFD replaces what cannot be printed or stored."""
    return "".join([each if each.isprintable() else "\ufffd" for each in text[:MOST_CHARACTERS]])
