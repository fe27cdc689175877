"""The addresses that the service may reach on behalf of others (server-side request forgery)."""

import errno
import socket
from collections.abc import Iterable
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

from yarl import URL

from comptoir.messages import quoted
from comptoir.outgoing.documents import OutgoingError

_FIRST_UNPRIVILEGED_PORT = 1_024
_LONGEST_URL = 2_000

_GLOBAL_V6 = IPv6Network("2000::/3")
_NOT_GLOBAL = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
            "2001::/23",
            "2001:db8::/32",
            "2002::/16",
            "3fff::/20",
        ),
    )
)
"""The special addresses of IANA's registries; `is_global` of Python 3.11 lets some pass."""

AddressInfo = tuple[
    int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[object, ...]
]
"""A result of `socket.getaddrinfo`."""


class BlockedError(OSError):
    """The address of a host may not be reached; the client may try its other addresses."""


class Guard:
    """Allows `https` to global addresses, and to the networks of the operator's list.

    With `plain`, it allows `http` too.
    """

    def __init__(
        self, allowed: Iterable[IPv4Network | IPv6Network] = (), *, plain: bool = False
    ) -> None:
        self._allowed = tuple(allowed)
        self._ports = {"https": 443, "http": 80} if plain else {"https": 443}

    def checked(self, text: str) -> URL:
        """The URL in a text; raises `OutgoingError` for one that may not be reached.

        Its host is not looked up: `open_socket` checks each address.
        """
        if len(text) > _LONGEST_URL or not text.isascii() or not text.isprintable():
            raise OutgoingError(f"the URL {quoted(text)} is not printable ASCII, or is too long")
        try:
            url = URL(text)
            port, host = url.port, url.host
            # a look-up would raise an error of its own for such labels as `a..b`
            (host or "").encode("idna")
        except ValueError:
            raise OutgoingError(f"{quoted(text)} is not a URL") from None
        if url.scheme not in self._ports or not host:
            raise OutgoingError(f"the URL {quoted(text)} does not start with https://")
        if url.user is not None or url.password is not None:
            # not quoted, because it contains credentials
            raise OutgoingError("the URL contains a user or a password")
        usual = self._ports[url.scheme]
        if port is None or not (port == usual or port >= _FIRST_UNPRIVILEGED_PORT):
            raise OutgoingError(f"the URL {quoted(text)} has a port below 1024 other than {usual}")
        return url

    def open_socket(self, info: AddressInfo) -> socket.socket:
        """A socket for a connection to an address; raises `BlockedError`."""
        family, kind, protocol, _, address = info
        host = str(address[0])
        if not self.allows(host):
            raise BlockedError(errno.EACCES, f"{host} is not a global address")
        opened = socket.socket(family, kind, protocol)
        opened.setblocking(False)
        return opened

    def allows(self, text: str) -> bool:
        """Whether an IP address may be reached."""
        address = ip_address(text)
        if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        if any(address in network for network in self._allowed):
            return True
        if any(address in network for network in _NOT_GLOBAL):
            return False
        return isinstance(address, IPv4Address) or address in _GLOBAL_V6
