"""Requests to other servers: guarded, and bounded in time and in size."""

import asyncio
import errno
import socket
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from io import BytesIO
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlencode

from aiohttp import (
    AddrInfoType,
    ClientConnectorError,
    ClientError,
    ClientResponse,
    ClientSession,
    ClientSSLError,
    DummyCookieJar,
    TCPConnector,
)
from yarl import URL

from comptoir.errors.messages import quoted
from comptoir.outgoing import Document, OutgoingError, PostAnswer

_FIRST_UNPRIVILEGED_PORT = 1_024
_LONGEST_URL = 2_000

_GLOBAL_V6 = IPv6Network("2000::/3")
_NOT_GLOBAL = tuple(
    map(
        ip_network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
            *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16"),
            *("198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
            *("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
        ),
    )
)
"""The special addresses of IANA's registries; `is_global` of Python 3.11 lets some pass."""


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

    def open_socket(self, info: AddrInfoType) -> socket.socket:
        """A socket for a connection to an address; raises `PermissionError` if it is not allowed.

        The client may then try other addresses of the host.
        """
        family, kind, protocol, _, address = info
        host = str(address[0])
        if not self.allows(host):
            raise PermissionError(errno.EACCES, f"{host} is not a global address")
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


PLAIN = "identity"
"""The content coding of a body that is not compressed."""

_PIECE_BYTES = 16 << 10
_OK = 200

KEPT_BYTES = 4 << 10
"""The most bytes of an answer to a post that are read and kept."""

DOCUMENT_BYTES, ANSWER_BYTES = 256 << 10, 64 << 10
"""The most bytes of a document, and of the answer to a form."""


@dataclass(slots=True, eq=False)
class Outgoing:
    """Sends requests that follow no redirect, and use no proxy, cookie or compression.

    A fetch or a form may take `seconds`.
    """

    guard: Guard
    seconds: float = 10.0
    _trust: ssl.SSLContext | None = None

    async def fetch(self, text: str) -> Document:
        """The document at a URL; raises `OutgoingError`."""
        headers = {"Accept": "application/json"}
        response, content = await self._sent("GET", text, self.seconds, headers, DOCUMENT_BYTES)
        if response.status != _OK:
            raise OutgoingError(f"{quoted(text)} responded with status {response.status}")
        if response.headers.get("Content-Encoding", PLAIN) != PLAIN:
            raise OutgoingError(f"{quoted(text)} responded with a compressed body")
        _check_size(content, text, DOCUMENT_BYTES)
        return Document(content, response.headers.get("Cache-Control", ""))

    async def post(self, text: str, body: bytes, seconds: float) -> PostAnswer:
        """The answer of a URL to JSON, with any status; raises `OutgoingError` without one."""
        headers = {"Content-Type": "application/json"}
        response, content = await self._sent("POST", text, seconds, headers, KEPT_BYTES, body)
        return PostAnswer(response.status, content[:KEPT_BYTES])

    async def post_form(
        self, text: str, fields: Mapping[str, str], authorization: str
    ) -> PostAnswer:
        """The answer of a URL, with any status; raises `OutgoingError` without one.

        A blank `authorization` is not sent.
        """
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "application/json",
            **({"Authorization": authorization} if authorization else {}),
        }
        body, seconds = urlencode(fields).encode(), self.seconds
        response, content = await self._sent("POST", text, seconds, headers, ANSWER_BYTES, body)
        _check_size(content, text, ANSWER_BYTES)
        return PostAnswer(response.status, content)

    async def _trusted(self) -> ssl.SSLContext:
        """The authorities that the machine trusts, which take some milliseconds to read, once."""
        if self._trust is None:
            self._trust = await asyncio.to_thread(ssl.create_default_context)
        return self._trust

    async def _sent(
        self,
        method: str,
        text: str,
        seconds: float,
        headers: Mapping[str, str],
        most_bytes: int,
        body: bytes | None = None,
    ) -> tuple[ClientResponse, bytes]:
        """The response to a request for the URL `text`, and its body; raises `OutgoingError`.

        The whole exchange may take `seconds`. Of a body with more than `most_bytes`, only these and
        the rest of a piece are read.
        """
        url = self.guard.checked(text)
        connector = TCPConnector(
            ssl=await self._trusted() if url.scheme == "https" else True,
            socket_factory=self.guard.open_socket,
            use_dns_cache=False,
            force_close=True,
        )
        content = bytearray()
        try:
            async with (
                asyncio.timeout(seconds),
                ClientSession(
                    connector=connector,
                    cookie_jar=DummyCookieJar(),
                    headers={**headers, "Accept-Encoding": PLAIN},
                    auto_decompress=False,
                    trust_env=False,
                ) as session,
                session.request(
                    method,
                    url,
                    # a file is sent in pieces, so a long body does not block the event loop
                    data=None if body is None else BytesIO(body),
                    allow_redirects=False,
                ) as response,
            ):
                async for piece in response.content.iter_chunked(_PIECE_BYTES):
                    content += piece
                    if len(content) > most_bytes:
                        break
                return response, bytes(content)
        except TimeoutError:
            problem = f"{quoted(text)} did not respond completely within {seconds:g} seconds"
            raise OutgoingError(problem) from None
        except ClientSSLError as error:
            raise OutgoingError(f"{quoted(text)} cannot be trusted: {_reason(error)}") from error
        except ClientConnectorError as error:
            problem = f"{quoted(text)} cannot be reached"
            public = f"{problem}, or its address is not a global one"
            raise OutgoingError(f"{problem}: {_reason(error)}", public) from error
        except (ClientError, OSError) as error:
            # without the error, which quotes what the server has sent
            raise OutgoingError(f"{quoted(text)} sent a malformed response") from error


def _check_size(content: bytes, url: str, most_bytes: int) -> None:
    if len(content) > most_bytes:
        raise OutgoingError(f"{quoted(url)} responded with more than {most_bytes} bytes")


def _reason(error: ClientConnectorError) -> str:
    return error.os_error.strerror or type(error.os_error).__name__
