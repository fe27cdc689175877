"""Requests to other servers: guarded, and bounded in time and in size."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from io import BytesIO

from aiohttp import (
    ClientConnectorError,
    ClientError,
    ClientResponse,
    ClientSession,
    ClientSSLError,
    DummyCookieJar,
    TCPConnector,
)

from comptoir.messages import quoted
from comptoir.outgoing.documents import OutgoingError
from comptoir.outgoing.guard import Guard

PLAIN = "identity"
"""The content coding of a body that is not compressed."""

_PIECE_BYTES = 16 << 10


class Outgoing:
    """Sends requests that follow no redirect, and use no proxy, cookie or compression."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        # reads the authorities that the machine trusts, once
        self._trust = ssl.create_default_context()

    @asynccontextmanager
    async def response(
        self,
        method: str,
        text: str,
        seconds: float,
        headers: Mapping[str, str],
        body: bytes | None = None,
    ) -> AsyncIterator[ClientResponse]:
        """The response to a request for the URL `text`; raises `OutgoingError`.

        The whole exchange may take `seconds`, with what is read of the response's body.
        """
        url = self._guard.checked(text)
        connector = TCPConnector(
            ssl=self._trust,
            socket_factory=self._guard.open_socket,
            use_dns_cache=False,
            force_close=True,
        )
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
                yield response
        except TimeoutError:
            problem = f"{quoted(text)} did not respond completely within {seconds:g} seconds"
            raise OutgoingError(problem) from None
        except ClientSSLError as fault:
            raise OutgoingError(f"{quoted(text)} cannot be trusted: {_reason(fault)}") from fault
        except ClientConnectorError as fault:
            problem = f"{quoted(text)} cannot be reached"
            public = f"{problem}, or its address is not a global one"
            raise OutgoingError(f"{problem}: {_reason(fault)}", public) from fault
        except (ClientError, OSError) as fault:
            # without the fault, which quotes what the server has sent
            raise OutgoingError(f"{quoted(text)} sent a malformed response") from fault


async def start_of_body(response: ClientResponse, most_bytes: int) -> bytes:
    """A response's body, or its first bytes: more than `most_bytes`, by one piece at most."""
    content = bytearray()
    async for piece in response.content.iter_chunked(_PIECE_BYTES):
        content += piece
        if len(content) > most_bytes:
            break
    return bytes(content)


def _reason(fault: ClientConnectorError) -> str:
    return fault.os_error.strerror or type(fault.os_error).__name__
