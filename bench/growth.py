"""How cost grows with the number of records: `make bench ARGS=--growth`.

Each number of records is in a database of its own, with one company. Together the databases fit
into the memory of the operating system, so the figures show the work and not the disk. A service
runs for each of them, and each round measures every operation on all of them in turn, in
alternating order. Keys and values are chosen at random over all that a database has.

Pages at the start, in the middle and at the end are several consecutive ones. An export is a part
of one: a hundred pages from the start and a hundred from the middle. The text index is up to date
when searches begin. Before each count a record changes. A load is that of a file of further
records: of new items, whose numbers come after all others, or of items among the others.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from calls import cpu_in_turns
from curves import Curve, Growth
from figures import Comparison, Figure, Single
from filling import VARIANTS
from place import ALTERNATE_KEY, CHANGES, END, MIDDLE, START, Place
from workbench import Workbench
from wrk import Scenario

SIZES = (100_000, 1_000_000, 10_000_000)
QUICK_SIZES = (10_000, 100_000)

Measure = Callable[[Sequence[Place]], Sequence[float]]
"""Returns the cost of an operation on each place."""

_ALTERNATE_KEY = ",".join(ALTERNATE_KEY)
_ORDERS = {
    "key": "",
    "alternate key": _ALTERNATE_KEY,
    "alternate key, descending": ",".join(f"{each} desc" for each in ALTERNATE_KEY),
    "item descending, language": "itemNo desc,languageCode",
}
_TO_PAGE_BY_KEY = 3
"""The goal of a page in another order, compared with one in the order of the key."""

_SECONDS = 1
"""How long requests that follow one another are sent to each place."""


@dataclass(frozen=True)
class _Operation:
    """An operation, and its cost on each place in every round.

    `at_most` is the goal of its growth, or `more` that of the difference. `limit` is the goal of
    the cost itself.
    """

    name: str
    measure: Measure
    series: str = ""
    unit: str = "µs"
    at_most: float = 1.3
    more: float | None = None
    limit: float | None = None
    warm_up: Measure | None = None
    values: Sequence[list[float]] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The name with that of the series."""
        return f"{self.name}, {self.series}" if self.series else self.name

    def figure(self, sizes: Sequence[int]) -> Figure:
        """The cost at the largest size against that at the smallest."""
        name, against = f"{self.title}: {sizes[-1]:,}", f"{sizes[0]:,}"
        last, first = self.values[-1], self.values[0]
        if self.more is not None:
            more = [each - other for each, other in zip(last, first, strict=True)]
            return Single(f"{name}, more than {against}", self.unit, self.more, more)
        return Comparison(
            name, self.unit, against, self.at_most, limit=self.limit, values=last, others=first
        )

    def curve(self) -> Curve:
        """The curve of the operation."""
        goal = f"{self.at_most:g}" if self.more is None else f"+{self.more:g} {self.unit}"
        return Curve(self.name, self.series, self.unit, goal, self.values)


def _under_load(name: str, requests: Callable[[Place], Scenario]) -> _Operation:
    """Requests of many connections."""
    return _Operation(
        name,
        lambda places: [each.under_load(requests(each)) for each in places],
        warm_up=lambda places: [each.warm_up(requests(each)) for each in places],
    )


def _in_turns(
    name: str,
    requests: Callable[[Place], Scenario],
    series: str = "",
    at_most: float = 1.3,
    limit: float | None = None,
) -> _Operation:
    """Requests that follow one another."""

    def measure(places: Sequence[Place]) -> Sequence[float]:
        return cpu_in_turns([(each.server, requests(each)) for each in places], _SECONDS)

    return _Operation(name, measure, series, at_most=at_most, limit=limit, warm_up=measure)


def _each(measure: Callable[[Place], float]) -> Measure:
    return lambda places: [measure(each) for each in places]


def _pages() -> Iterator[_Operation]:
    for name, orderby in _ORDERS.items():
        for where in (START, MIDDLE, END):
            requests = partial(Place.pages, orderby=orderby, where=where)
            yield _in_turns(f"page by {name}", requests, where)


def _operations() -> Iterator[_Operation]:
    """All operations, in the order of the picture. Those that write come after the searches."""
    yield _under_load("read by id", Place.by_id)
    yield _under_load("read by alternate key", Place.by_alternate_key)
    yield _under_load(f"filter by an index, {VARIANTS} records", Place.filters)
    yield from _pages()
    export = _each(partial(Place.export, orderby=_ALTERNATE_KEY))
    yield _Operation("export by alternate key, a record", export, at_most=1.2, warm_up=export)
    yield _in_turns("search for a rare word", Place.searches, at_most=1.5, limit=5_000)
    yield _under_load("durable update", Place.updates)
    yield _in_turns(f"delta page, {CHANGES} changes", Place.deltas)
    yield replace(_under_load("create", Place.creates), warm_up=None)
    for series, query in (("$count", "/$count"), ("$count=true", "?$top=1&$count=true")):
        measure = _each(partial(Place.after_writes, query=query))
        yield _Operation("count after a write", measure, series)
    yield _Operation("first $count after a start", _each(Place.first_count))
    for series, scattered in (("new items", False), ("among others", True)):
        measure = _each(partial(Place.load, scattered=scattered))
        yield _Operation("load, a record", measure, series, limit=60)
    yield _Operation("start", _each(Place.start), unit="s", more=0.1)
    yield _Operation("memory of the service", _each(Place.memory), unit="MiB", at_most=1.1)


class Growing:
    """Measures every operation at every size."""

    notes: Sequence[str] = ()

    def __init__(self, bench: Workbench) -> None:
        self._sizes = QUICK_SIZES if bench.quick else SIZES
        self._operations = [
            replace(each, values=[[] for _ in self._sizes]) for each in _operations()
        ]
        self._places = []
        for size in self._sizes:
            _say(f"filling a database with {size:,} records")
            self._places.append(Place(bench, size))
        self._round = 0

    @property
    def figures(self) -> Sequence[Figure]:
        """The growth of each operation, and pages compared with those by the key."""
        pages = [each for each in self._operations if each.series in (START, MIDDLE, END)]
        by_key = {each.series: each for each in pages[:3]}
        return [
            *(each.figure(self._sizes) for each in self._operations),
            *(
                Comparison(
                    f"{each.title}: {self._sizes[-1]:,}",
                    each.unit,
                    "by key",
                    _TO_PAGE_BY_KEY,
                    values=each.values[-1],
                    others=by_key[each.series].values[-1],
                )
                for each in pages[3:]
            ),
        ]

    def growth(self, machine: dict[str, str | float]) -> Growth:
        """The curves, measured on a machine."""
        return Growth(machine, self._sizes, [each.curve() for each in self._operations])

    def warm_up(self) -> None:
        """Read the files, and send requests to every service without measuring."""
        for each in self._places:
            each.read_file()
        for operation in self._operations:
            if operation.warm_up is not None:
                _say(f"warming up: {operation.title}")
                operation.warm_up(self._places)

    def measure(self) -> None:
        """Measure everything once."""
        self._round += 1
        for each in self._places:
            each.read_file()
            each.index()
        step = 1 if self._round % 2 else -1
        for operation in self._operations:
            _say(f"round {self._round}: {operation.title}")
            costs = operation.measure(self._places[::step])
            for cost, values in zip(costs, operation.values[::step], strict=True):
                values.append(cost)


def _say(what: str) -> None:
    print(f"growth: {what}", file=sys.stderr, flush=True)
