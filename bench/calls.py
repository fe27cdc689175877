"""Sends long requests one after the other, from a process that does nothing else."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from http.client import HTTPConnection, HTTPResponse
from itertools import cycle
from time import monotonic
from urllib.parse import urlsplit

import msgspec
from processes import Server
from wrk import LoadError, Scenario

_FEWEST = 3
_TURN_SECONDS = 0.1
_PATIENCE_SECONDS = 30


class Calls:
    """Sends the requests of a scenario to a server, and adds up their CPU.

    This includes the CPU of the database server, if the service has one. wrk is unsuitable for few
    requests, because it stops in the middle of one.
    """

    def __init__(self, server: Server, scenario: Scenario) -> None:
        self._server = server
        self._scenario = scenario
        self._paths = cycle(scenario.paths.read_text(encoding="ascii").splitlines())
        self._connection = _connection(server)
        self._count = 0
        self._used = 0.0

    def send(self, seconds: float, fewest: int) -> None:
        """Send requests for some seconds; raises `LoadError` unless all have status 200."""
        before, until = self._server.total_seconds, monotonic() + seconds
        left = fewest
        while left > 0 or monotonic() < until:
            with _answer(self._connection, next(self._paths), self._scenario.headers) as answer:
                answer.read()
                _check(answer, self._server, self._scenario)
            self._count += 1
            left -= 1
        self._used += self._server.total_seconds - before

    @property
    def cpu(self) -> float:
        """The CPU of a request in µs."""
        return self._used / self._count * 1e6

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def cpu_of(server: Server, scenario: Scenario, seconds: float) -> float:
    """The CPU of a request in µs, measured over `seconds` and at least three requests."""
    with closing(Calls(server, scenario)) as calls:
        calls.send(seconds, _FEWEST)
        return calls.cpu


def cpu_of_each(servers: Sequence[Server], scenario: Scenario, seconds: float) -> Sequence[float]:
    """The CPU of a request to each server in µs, as by `cpu_in_turns`."""
    return cpu_in_turns([(server, scenario) for server in servers], seconds)


def cpu_in_turns(asked: Sequence[tuple[Server, Scenario]], seconds: float) -> Sequence[float]:
    """The CPU of a request of each scenario in µs, measured over `seconds` for each of them.

    They take turns of a tenth of a second, so that other activity on the machine affects all.
    """
    calls = [Calls(server, scenario) for server, scenario in asked]
    try:
        for _ in range(max(_FEWEST, round(seconds / _TURN_SECONDS))):
            for each in calls:
                each.send(_TURN_SECONDS, 1)
        return [each.cpu for each in calls]
    finally:
        for each in calls:
            each.close()


def body_of(server: Server, scenario: Scenario) -> bytes:
    """The body of the response to the first request of a scenario, as it was sent."""
    with (
        closing(_connection(server)) as connection,
        _answer(connection, _first_path(scenario), scenario.headers) as answer,
    ):
        _check(answer, server, scenario)
        return answer.read()


class Page(msgspec.Struct):
    """A page of a collection; the records are as they were sent."""

    value: list[msgspec.Raw]
    next_link: str | None = msgspec.field(default=None, name="@odata.nextLink")


def walk(server: Server, scenario: Scenario) -> Iterator[Page]:
    """The pages of a collection, from the first request of a scenario by the links to the last."""
    path: str | None = _first_path(scenario)
    with closing(_connection(server)) as connection:
        while path is not None:
            with _answer(connection, path, scenario.headers) as answer:
                _check(answer, server, scenario)
                page = msgspec.json.decode(answer.read(), type=Page)
            yield page
            path = page.next_link and _target(page.next_link)


def _target(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}"


def _first_path(scenario: Scenario) -> str:
    return scenario.paths.read_text(encoding="ascii").partition("\n")[0]


def _connection(server: Server) -> HTTPConnection:
    return HTTPConnection(urlsplit(server.url).netloc, timeout=_PATIENCE_SECONDS)


def _answer(connection: HTTPConnection, path: str, headers: Mapping[str, str]) -> HTTPResponse:
    connection.request("GET", path, headers=dict(headers))
    return connection.getresponse()


def _check(answer: HTTPResponse, server: Server, scenario: Scenario) -> None:
    if answer.status != 200:
        raise LoadError(f"{scenario.name} from {server.name}: the answer was {answer.status}.")
