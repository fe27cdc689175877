"""An HTTPS server on the loopback address that sends what a test says."""

import asyncio
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Self

from comptoir.auth.local_authority import Pair, local_certificate
from support.waiting import PATIENCE_SECONDS, until

OK = b"HTTP/1.1 200 OK\r\n"

Respond = Callable[[ssl.SSLSocket], None]


def sending(content: bytes) -> Respond:
    return lambda connection: connection.sendall(content)


def with_body(body: bytes, head: bytes = OK) -> Respond:
    """A complete response."""
    return sending(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)


class LyingServer:
    """Calls `respond` with each connection after the head of a request; `heads` lists these."""

    def __init__(self, folder: Path, respond: Respond, host: str) -> None:
        self.heads: list[bytes] = []
        self.stopped = Event()
        self.is_busy = False
        """Whether a connection is open."""
        self._respond = respond
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.local = local_certificate(folder)
        self.present(self.local.localhost)
        self._listener = socket.create_server((host, 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = Thread(target=self._serve, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def present(self, pair: Pair) -> None:
        """Present a certificate to later connections."""
        self._context.load_cert_chain(pair.certificate, pair.key)

    def stop(self) -> None:
        """Accept no more connections."""
        if not self.stopped.is_set():
            self.stopped.set()
            self._listener.shutdown(socket.SHUT_RDWR)
            self._thread.join()
            self._listener.close()

    async def ended(self) -> None:
        """Wait until no connection is open on either side."""
        await asyncio.to_thread(until, lambda: not self.is_busy or None, "an end of the server's")
        # the event loop ends a closed connection in the iterations after the server's end
        for _ in range(3):
            await asyncio.sleep(0)

    def _serve(self) -> None:
        while True:
            self.is_busy = False
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.is_busy = True
            connection.settimeout(PATIENCE_SECONDS)
            # a client may refuse the certificate, and end the connection at any time
            with (
                suppress(OSError),
                self._context.wrap_socket(connection, server_side=True) as secure,
            ):
                head = b""
                while b"\r\n\r\n" not in head:
                    piece = secure.recv(1 << 16)
                    if not piece:
                        # a client on a busy machine may give up before it sends anything
                        raise ConnectionAbortedError
                    head += piece
                self.heads.append(head)
                self._respond(secure)
