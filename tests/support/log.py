"""The log of a service that runs as a process: the lines of requests."""

import msgspec

from support.server import Server
from support.waiting import until


class Line(msgspec.Struct, forbid_unknown_fields=True):
    """A log line of a request."""

    time: str
    level: str
    event: str
    id: str
    method: str
    path: str
    status: int
    bytes: int
    ms: float
    by: str
    client: str
    fault: str = ""


def line_of(server: Server, request_id: str) -> Line:
    """The line of a request, as soon as it is written."""
    return _line(server, f'"id":"{request_id}"', 0)


def line_about(server: Server, path: str, since: int = 0) -> Line:
    """The first line with a path after `since` bytes of the log, as soon as it is written."""
    return _line(server, f'"path":"{path}"', since)


def _line(server: Server, text: str, since: int) -> Line:
    wanted = text.encode()

    def look() -> Line | None:
        lines = server.log.read_bytes()[since:].splitlines(keepends=True)
        written = [line for line in lines if wanted in line and line.endswith(b"\n")]
        return msgspec.json.decode(written[0], type=Line) if written else None

    return until(look, f"a line in the log with {text}")
