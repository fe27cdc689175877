"""How the cost of a request grows with the number of records: `make bench ARGS=--growth`.

Each number of records is in one database with one company, and in another with a thousand. A
service runs for each database, and each round sends every operation to all of them in turn, in
alternating order. Keys, items and companies are chosen at random over all that a database has.
"""

import asyncio
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from http.client import HTTPConnection
from random import Random
from secrets import token_hex
from urllib.parse import quote, urlsplit

import msgspec
from calls import Page
from company import database_file
from curves import Curve, Growth
from figures import Comparison, Figure
from filling import LANGUAGES, TEXT_LENGTH, Filled, filled
from processes import Server
from scenarios import paged
from workbench import CONNECTIONS, Workbench
from wrk import LoadError, Scenario, scenario

SIZES = (10_000, 1_000_000, 10_000_000)
QUICK_SIZES = (10_000, 100_000)
PAGES = {1: 100, 1_000: 5}
"""The records of a page, by the number of companies: the smallest companies have ten records."""

AT_MOST = 1.3

_READ = "read by key"
_FILTER = f"filter by an index, {len(LANGUAGES)} records"
_UPDATE = "durable update"
_FIRST, _LAST = "first page", "last page, by nextLink"
_OPERATIONS = (_READ, _FILTER, _UPDATE, _FIRST, _LAST)

_REQUESTS = 20_000
"""The most requests of a run that differ: more than any cache of the service has entries."""

_WARM_UP_SECONDS = 4
_READ_BYTES = 1 << 24
_PATIENCE_SECONDS = 120


class _Place:
    """A database with its service."""

    def __init__(self, bench: Workbench, companies: int, records: int) -> None:
        name = f"{records:,} records in {companies:,} companies"
        print(f"growth: filling a database with {name}", file=sys.stderr, flush=True)
        self._filled = asyncio.run(filled(bench.folder, companies, records))
        self.server = bench.serve(f"the service of {name}", self._filled.settings)
        self._bench = bench
        self._random = Random(records)
        self._page = bench.headers | paged(PAGES[companies])
        self._first = [self._filled.path(company) for company in range(companies)]
        self._last = list(_last_pages(self.server, self._filled, self._page, PAGES[companies]))

    def read_file(self) -> None:
        """Read the file, so that the operating system has it in memory if there is room."""
        with database_file(self._filled.settings).open("rb") as file:
            while file.read(_READ_BYTES):
                pass

    def warm_up(self, operation: str) -> None:
        """Send requests without measuring, until the process has mapped most pages that it reads.

        The first read of a mapped page costs a fault, which later reads do not pay.
        """
        self._bench.wrk.run(self.server, self._scenario(operation), CONNECTIONS, _WARM_UP_SECONDS)

    def cpu_of(self, operation: str) -> float:
        """The CPU of a request in µs, measured for the time of a run."""
        return self._bench.run(self.server, self._scenario(operation)).cpu

    def _scenario(self, operation: str) -> Scenario:
        file = self._bench.folder / operation.partition(",")[0].replace(" ", "-")
        headers = self._bench.headers
        if operation == _FIRST:
            return scenario(file, self._shuffled(self._first), self._page)
        if operation == _LAST:
            return scenario(file, self._shuffled(self._last), self._page)
        if operation == _FILTER:
            return scenario(file, [self._filter() for _ in range(_REQUESTS)], headers)
        keys = [self._key() for _ in range(_REQUESTS)]
        if operation == _READ:
            return scenario(file, keys, headers)
        writing = {**headers, "Content-Type": "application/json", "If-Match": "*"}
        # the text keeps its length, so that no record moves; half of it is the number of a request
        text = f"{token_hex(TEXT_LENGTH // 4)}%0{TEXT_LENGTH // 2}d"
        return scenario(file, keys, writing, f'{{"description2":"{text}"}}')

    def _key(self) -> str:
        company, number = self._any_record()
        return f"{self._filled.path(company)}({self._filled.key(number)})"

    def _filter(self) -> str:
        company, number = self._any_record()
        condition = quote(f"itemNo eq '{self._filled.item(number)}'")
        return f"{self._filled.path(company)}?$filter={condition}"

    def _any_record(self) -> tuple[int, int]:
        """The position of a company, and that of one of its records."""
        company = self._random.randrange(len(self._filled.companies))
        return company, self._random.randrange(self._filled.of_company)

    def _shuffled(self, paths: Sequence[str]) -> Sequence[str]:
        return self._random.sample(paths, len(paths))


class Growing:
    """Measures every operation at every size."""

    notes: Sequence[str] = ()

    def __init__(self, bench: Workbench) -> None:
        self._sizes = QUICK_SIZES if bench.quick else SIZES
        self._places = {
            companies: [_Place(bench, companies, size) for size in self._sizes]
            for companies in PAGES
        }
        self._values: dict[tuple[str, int], list[list[float]]] = {
            (operation, companies): [[] for _ in self._sizes]
            for operation in _OPERATIONS
            for companies in PAGES
        }
        self._round = 0

    @property
    def figures(self) -> Sequence[Figure]:
        """The cost at the largest size against that at the smallest, in the order of the plots."""
        first, last = self._sizes[0], self._sizes[-1]
        against = f"among {first:,}"
        return [
            Comparison(
                f"{operation}, {last:,} in {_companies(companies)}",
                "µs",
                against,
                AT_MOST,
                values=values[-1],
                others=values[0],
            )
            for (operation, companies), values in self._values.items()
        ]

    def growth(self, machine: dict[str, str | float]) -> Growth:
        """The curves, measured on a machine."""
        curves = [
            Curve(operation, companies, values)
            for (operation, companies), values in self._values.items()
        ]
        return Growth(machine, self._sizes, curves)

    def warm_up(self) -> None:
        """Send each kind of request to every service, without measuring."""
        for places in self._places.values():
            for place in places:
                for operation in _OPERATIONS:
                    place.warm_up(operation)

    def measure(self) -> None:
        """Measure everything once."""
        self._round += 1
        for places in self._places.values():
            for place in places:
                place.read_file()
        for (operation, companies), values in self._values.items():
            what = f"round {self._round}: {operation} in {_companies(companies)}"
            print(f"growth: {what}", file=sys.stderr, flush=True)
            turns = list(zip(self._places[companies], values, strict=True))
            for place, collected in turns if self._round % 2 else turns[::-1]:
                collected.append(place.cpu_of(operation))


def _companies(count: int) -> str:
    return "one company" if count == 1 else f"{count:,} companies"


def _last_pages(
    server: Server, filled: Filled, headers: Mapping[str, str], size: int
) -> Iterator[str]:
    """The path of the last page of each company: the link on the page before it."""
    skipped = filled.of_company - 2 * size
    host = urlsplit(server.url).netloc
    with closing(HTTPConnection(host, timeout=_PATIENCE_SECONDS)) as connection:
        for company in range(len(filled.companies)):
            before = _page(connection, f"{filled.path(company)}?$skip={skipped}", headers)
            link = urlsplit(before.next_link or "")
            path = f"{link.path}?{link.query}"
            last = _page(connection, path, headers)
            if len(last.value) != size or last.next_link is not None:
                raise LoadError(f"{server.name}: the page of {path} is not the last one.")
            yield path


def _page(connection: HTTPConnection, path: str, headers: Mapping[str, str]) -> Page:
    connection.request("GET", path, headers=dict(headers))
    with connection.getresponse() as answer:
        content = answer.read()
    if answer.status != 200:
        raise LoadError(f"{path}: the answer was {answer.status}.")
    return msgspec.json.decode(content, type=Page)
