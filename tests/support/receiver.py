"""A receiver of notifications on the loopback address, over plain HTTP."""

from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event
from urllib.parse import parse_qs, urlsplit

import msgspec
from typing_extensions import override

from support.sockets import InThread
from support.waiting import until

Answer = Callable[[BaseHTTPRequestHandler], None]


class Notified(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """A notification."""

    subscription_id: str
    client_state: str
    expiration_date_time: str
    resource: str
    change_type: str
    last_modified_date_time: str


class _Delivery(msgspec.Struct, forbid_unknown_fields=True):
    value: list[Notified]


def status(number: int, body: bytes = b"", **headers: str) -> Answer:
    """Answer with a status."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(number)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def token_of(handler: BaseHTTPRequestHandler) -> bytes:
    """The validation token of a request, empty if it has none."""
    query = parse_qs(urlsplit(handler.path).query)
    return query.get("validationToken", [""])[0].encode()


def echo(handler: BaseHTTPRequestHandler) -> None:
    """Return the validation token."""
    status(200, token_of(handler))(handler)


def echo_in_bytes(handler: BaseHTTPRequestHandler) -> None:
    """Return the validation token byte by byte, with a line end."""
    token = token_of(handler) + b"\r\n"
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(token)))
    handler.end_headers()
    for each in token:
        handler.wfile.write(bytes([each]))
        handler.wfile.flush()


def cut(handler: BaseHTTPRequestHandler) -> None:
    """Close the connection without an answer."""
    handler.close_connection = True


class Receiver(InThread):
    """Has what was posted to it; `handshake` and `delivery` answer."""

    def __init__(self) -> None:
        self.handshake: Answer = echo
        self.delivery: Answer = status(202)
        self.handshakes: list[str] = []
        self.deliveries: list[tuple[str, list[Notified]]] = []
        self._released = Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"]))
                if token_of(self):
                    receiver.handshakes.append(self.path)
                    receiver.handshake(self)
                else:
                    decoded = msgspec.json.decode(content, type=_Delivery)
                    receiver.deliveries.append((self.path, decoded.value))
                    receiver.delivery(self)

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        self._port = server.server_port
        super().__init__(server)

    @override
    def __exit__(self, *_: object) -> None:
        self.release()
        super().__exit__()

    def url(self, path: str = "/hook") -> str:
        return f"http://127.0.0.1:{self._port}{path}"

    def hang(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer nothing until `release`."""
        self._released.wait()
        cut(handler)

    def release(self) -> None:
        """End what hangs."""
        self._released.set()

    @property
    def notified(self) -> list[Notified]:
        """All notifications in the order in which they came."""
        return [each for _, value in self.deliveries for each in value]

    def wait(self, count: int) -> None:
        """Wait for a number of deliveries."""
        until(lambda: len(self.deliveries) >= count or None, f"{count} deliveries")
