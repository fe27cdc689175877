"""Long requests, one behind the other, from a process that sends nothing else."""

from collections.abc import Mapping
from http.client import HTTPConnection
from itertools import cycle
from time import monotonic
from urllib.parse import urlsplit

from processes import Server
from wrk import LoadFault, Scenario

_FEWEST = 3
_PATIENCE_SECONDS = 30


def cpu_of(server: Server, scenario: Scenario, seconds: float) -> float:
    """The CPU of a request of a scenario, in µs, over some seconds and at least three of them.

    With that of the database server, where there is one beside the server.

    wrk leaves off in the midst of requests, which counts when there are few. Raises `LoadFault`
    unless each is answered with 200.
    """
    paths = cycle(scenario.paths.read_text(encoding="ascii").splitlines())
    connection = HTTPConnection(urlsplit(server.url).netloc, timeout=_PATIENCE_SECONDS)
    try:
        before = server.cpu_seconds + server.database_seconds
        until, count = monotonic() + seconds, 0
        while count < _FEWEST or monotonic() < until:
            status = _status(connection, next(paths), scenario.headers)
            if status != 200:
                raise LoadFault(f"{scenario.name} from {server.name}: the answer was {status}.")
            count += 1
        return (server.cpu_seconds + server.database_seconds - before) / count * 1e6
    finally:
        connection.close()


def status_of(server: Server, scenario: Scenario) -> int:
    """The status with which the first request of a scenario is answered."""
    path = scenario.paths.read_text(encoding="ascii").partition("\n")[0]
    connection = HTTPConnection(urlsplit(server.url).netloc, timeout=_PATIENCE_SECONDS)
    try:
        return _status(connection, path, scenario.headers)
    finally:
        connection.close()


def _status(connection: HTTPConnection, path: str, headers: Mapping[str, str]) -> int:
    connection.request("GET", path, headers=dict(headers))
    with connection.getresponse() as answer:
        answer.read()
        return answer.status
