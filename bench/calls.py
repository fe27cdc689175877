"""Sends long requests one after the other, from a process that does nothing else."""

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
    """The CPU of a request in µs, measured over `seconds` and at least three requests.

    Includes the CPU of the database server, if the service has one. wrk is unsuitable for few
    requests, because it stops in the middle of one. Raises `LoadFault` unless each response has
    status 200.
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
    """The status of the response to the first request of a scenario."""
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
