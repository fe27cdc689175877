"""Failed authentications, which slow down the address that they come from."""

import math
import time
from collections import OrderedDict, deque
from ipaddress import IPv6Address, ip_address, ip_network

from comptoir.edm.times import Clock

FREE_FAILURES = 5
"""The failures in `WINDOW_SECONDS` after which a client usually has to wait at an address."""

WINDOW_SECONDS = 60.0
LONGEST_WAIT = 60.0
MOST_ENTRIES = 10_000
"""The most clients and addresses that are remembered; the oldest failure is forgotten first."""

_LONGEST_TEXT = 64
_NETWORK_BITS = 64
"""The bits of an IPv6 address that do not vary for one subscriber."""


class _Failures:
    """The failures of a client at an address; times are those of the clock."""

    __slots__ = ("recent", "until", "wait")

    def __init__(self, free: int) -> None:
        self.recent: deque[float] = deque(maxlen=free)
        self.wait = 0.0
        self.until = 0.0


class Guesses:
    """Counts the failed authentications of each client at each address, in this process.

    Only that client has to wait, and only at that address: nobody can lock others out. For the
    console and the audit log, a name that they choose takes the place of the client.
    """

    def __init__(self, clock: Clock = time.monotonic, free: int = FREE_FAILURES) -> None:
        """`free` are the failures in `WINDOW_SECONDS` after which a client has to wait."""
        self._clock = clock
        self._free = free
        self._entries: OrderedDict[tuple[str, str], _Failures] = OrderedDict()

    def wait(self, client_id: str, address: str) -> int:
        """The seconds that a client still has to wait at an address, 0 if it may try."""
        failures = self._entries.get(_key(client_id, address))
        return 0 if failures is None else max(math.ceil(failures.until - self._clock()), 0)

    def note(self, client_id: str, address: str) -> None:
        """Note a failure; too many in a minute are followed by waits of 2, 4, … 60 seconds."""
        now, key = self._clock(), _key(client_id, address)
        failures = self._entries.setdefault(key, _Failures(self._free))
        self._entries.move_to_end(key)
        if len(self._entries) > MOST_ENTRIES:
            self._entries.popitem(last=False)
        if now > failures.until + WINDOW_SECONDS:
            failures.wait = 0.0
        failures.recent.append(now)
        is_often = len(failures.recent) == self._free
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
