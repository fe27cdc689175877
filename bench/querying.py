"""Large queries: filters, counts, sums, related records."""

from collections.abc import Mapping, Sequence
from functools import partial

import driver
from calls import cpu_in_turns, cpu_of
from company import CONTACTS, PRICES, database_file
from figures import Comparison, Figure
from large_scenarios import EXPANDED
from processes import being_on
from workbench import Workbench

_OF_COMPANY = "WHERE company_id = ?"
_BY_DRIVER: Mapping[str, str] = {
    "scan": f'SELECT * FROM "{CONTACTS}" {_OF_COMPANY}'
    ' AND city = ? AND "type" = ? AND country = ? ORDER BY id',
    "count": f'SELECT count(*) FROM "{CONTACTS}" {_OF_COMPANY}',
    "group": f'SELECT "sourceType", sum("unitPrice") FROM "{PRICES}" {_OF_COMPANY} GROUP BY 1',
}
"""The comparison for queries that read all records."""


class Querying:
    """Measures a server of a large company, and the bare driver with the same work."""

    notes: Sequence[str] = ()

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        # sequential requests vary less, so a part of the time is enough
        self._seconds = max(0.5, bench.seconds / 6)
        large = bench.large
        contacts, prices = f"{len(large.partners.contacts):,} contacts", f"{large.prices:,} prices"
        driven = partial(Comparison, unit="µs", against="bare driver")
        self._indexed = Comparison(f"3 conditions, indexed, {contacts}", "µs", "by id")
        self._driven = {
            "scan": driven(f"3 conditions, no index, {contacts}"),
            "count": driven(f"$count of {contacts}"),
            "group": driven(f"$apply, groups of {prices}"),
        }
        name = f"prices of an item, {EXPANDED} by $expand"
        self._expand = Comparison(name, "µs", "alone", at_most=1)

    @property
    def figures(self) -> Sequence[Figure]:
        """All figures, in the order of the table."""
        return [self._indexed, *self._driven.values(), self._expand]

    def warm_up(self) -> None:
        """Send short requests for a moment."""
        self._in_turns("indexed", "id", "prices")

    def measure(self) -> None:
        """Measure everything once."""
        self._indexed.add(*self._in_turns("indexed", "id"))
        for name, figure in self._driven.items():
            figure.add(self._long(name), self._by_driver(name))
        expand, alone = self._in_turns("expand", "prices")
        self._expand.add(expand / EXPANDED, alone)

    def _in_turns(self, *names: str) -> Sequence[float]:
        bench = self._bench
        asked = [(bench.large_service, bench.large_scenarios[name]) for name in names]
        return cpu_in_turns(asked, self._seconds)

    def _long(self, name: str) -> float:
        bench = self._bench
        return cpu_of(bench.large_service, bench.large_scenarios[name], self._seconds)

    def _by_driver(self, name: str) -> float:
        large = self._bench.large
        company = large.partners.company.id
        values: list[list[str]] = [[company]]
        if name == "scan":
            contacts = self._bench.large_scenarios.contacts
            values = [[company, each["city"], "Person", each["country"]] for each in contacts]
        database = database_file(large.settings)
        with being_on((self._bench.cores.server,)):
            return driver.cpu_of(database, _BY_DRIVER[name], values, self._seconds)
