"""The floor: an ASGI application that only sends a recorded response.

It runs on the service's server with the same settings, so the difference between the two is the
cost of the service's own code. Usage: `python bench/floor.py FILE`, with a file that
`Recorded.keep` wrote.
"""

import sys
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from bare_server import serve
from starlette.types import Receive, Scope, Send
from wrk import Scenario

_ADDED_BY_SERVER = {"date", "connection", "transfer-encoding"}


class Recorded(msgspec.Struct):
    """A response of the service: status, headers, body."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes

    def keep(self, path: Path) -> Path:
        """Write the response to a file, and return its path."""
        path.write_bytes(msgspec.msgpack.encode(self))
        return path


def record(url: str, scenario: Scenario) -> Recorded:
    """The service's response to the first request of a scenario."""
    path = scenario.paths.read_text(encoding="ascii").partition("\n")[0]
    connection = HTTPConnection(urlsplit(url).netloc, timeout=10)
    method = "PATCH" if scenario.body else "GET"
    content = scenario.body.replace("%d", "0").encode() or None
    connection.request(method, path, content, dict(scenario.headers))
    with connection.getresponse() as answer:
        headers = [
            (name.lower().encode("latin-1"), value.encode("latin-1"))
            for name, value in answer.getheaders()
            if name.lower() not in _ADDED_BY_SERVER
        ]
        recorded = Recorded(answer.status, headers, answer.read())
    connection.close()
    return recorded


def main(path: Path) -> None:
    """Send the response to every request, on a free port, until a signal stops the server."""
    answer = msgspec.msgpack.decode(path.read_bytes(), type=Recorded)
    start = {"type": "http.response.start", "status": answer.status, "headers": answer.headers}
    body = {"type": "http.response.body", "body": answer.body}

    async def application(_: Scope, __: Receive, send: Send) -> None:
        await send(start)
        await send(body)

    serve(application)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
