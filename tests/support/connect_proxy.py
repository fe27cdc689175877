"""A proxy for HTTPS, as companies have: it connects programs to the hosts that they name.

The names of one service lead to its port. Other hosts are refused, and recorded.
"""

import socket
from collections.abc import Collection
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread

from support.ports import LOOPBACK
from support.sockets import InThread, pass_on, send


class ConnectProxy(InThread):
    """Connects programs to the hosts `names`, which are all the service at `address`."""

    def __init__(self, names: Collection[str], address: tuple[str, int]) -> None:
        self.refused: list[str] = []
        """What programs asked for besides connections to `names` at the port of HTTPS."""
        allowed, refused = {f"CONNECT {each}:443" for each in names}, self.refused

        class Connection(StreamRequestHandler):
            def handle(self) -> None:
                asked = self.rfile.readline().decode().rpartition(" HTTP/")[0]
                while self.rfile.readline().strip():
                    pass
                if asked not in allowed:
                    refused.append(asked)
                    send(self.connection, b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
                    return
                with socket.create_connection(address) as service:
                    send(self.connection, b"HTTP/1.1 200 OK\r\n\r\n")
                    answers = Thread(target=pass_on, args=(service, self.connection))
                    answers.start()
                    pass_on(self.connection, service)
                    answers.join()

        server = ThreadingTCPServer((LOOPBACK, 0), Connection)
        self.url = f"http://{LOOPBACK}:{server.server_address[1]}"
        super().__init__(server)
