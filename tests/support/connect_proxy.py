"""A proxy for HTTPS, as companies have: it connects programs to the hosts that they name.

The names of one service lead to its port. Other hosts are refused, and recorded.
"""

import socket
import socketserver
from collections.abc import Collection
from threading import Thread
from typing import Self

from typing_extensions import override

from support.ports import LOOPBACK
from support.sockets import pass_on, send


class ConnectProxy:
    """Connects programs to the hosts `names`, which are all the service at `address`."""

    def __init__(self, names: Collection[str], address: tuple[str, int]) -> None:
        self.refused: list[str] = []
        """What programs asked for besides connections to `names` at the port of HTTPS."""
        self._server = _Server({f"CONNECT {each}:443" for each in names}, address, self.refused)
        self.url = f"http://{LOOPBACK}:{self._server.server_address[1]}"
        self._thread = Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(socketserver.ThreadingTCPServer):
    def __init__(
        self, allowed: Collection[str], service: tuple[str, int], refused: list[str]
    ) -> None:
        self.allowed = allowed
        self.service = service
        self.refused = refused
        super().__init__((LOOPBACK, 0), _Connection)


class _Connection(socketserver.StreamRequestHandler):
    server: _Server
    connection: socket.socket

    @override
    def handle(self) -> None:
        asked = self.rfile.readline().decode().rpartition(" HTTP/")[0]
        while self.rfile.readline().strip():
            pass
        if asked not in self.server.allowed:
            self.server.refused.append(asked)
            send(self.connection, b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            return
        with socket.create_connection(self.server.service) as service:
            send(self.connection, b"HTTP/1.1 200 OK\r\n\r\n")
            answers = Thread(target=pass_on, args=(service, self.connection))
            answers.start()
            pass_on(self.connection, service)
            answers.join()
