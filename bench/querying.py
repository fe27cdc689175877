"""Large queries: pages, filters, counts, sums, related records."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

import driver
import floor
from calls import cpu_of, status_of
from company import CONTACTS, PRICES, database_file
from figures import Comparison, Figure, Single
from large import ITEMS, Large
from processes import Cores, Server, python_command, running
from wrk import Scenario, Wrk

PAGE = 1_000
EXPANDED = 100
ASKED = 500
"""The number of different values in the filters."""

CONNECTIONS = 4
_NOT_IMPLEMENTED = 501

_GROUPING = "groupby((sourceType),aggregate(unitPrice with sum as total))"
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

    def __init__(
        self, large: Large, token: str, folder: Path, cores: Cores, seconds: float
    ) -> None:
        self._large = large
        self._folder = folder
        self._core = cores.server
        # sequential requests vary less, so a part of the time is enough
        self._seconds = max(0.5, seconds / 6)
        self._wrk = Wrk(cores.load)
        self._headers = {"Authorization": f"Bearer {token}"}
        self._contacts = [each for each in large.contacts if each["companyNumber"]]
        self._contacts = self._contacts[:: len(self._contacts) // ASKED]
        self._scenarios = self._all_scenarios()
        self._groups = True
        self._bare: Server | None = None
        contacts, prices = f"{len(large.contacts):,} contacts", f"{large.prices:,} prices"
        against = "µs, bare driver"
        self._page = Comparison("page of 1,000 contacts", "µs", "µs, the floor")
        self._bytes = Single("page of 1,000 contacts", "bytes")
        self._indexed = Comparison(f"3 conditions, indexed, {contacts}", "µs", "µs, by id")
        self._driven = {
            "scan": Comparison(f"3 conditions, no index, {contacts}", "µs", against),
            "count": Comparison(f"$count of {contacts}", "µs", against),
            "group": Comparison(f"$apply, groups of {prices}", "µs", against),
        }
        name = f"prices of an item, {EXPANDED} by $expand"
        self._expand = Comparison(name, "µs", "µs, alone", at_most=1)

    @property
    def figures(self) -> list[Figure]:
        """All figures, in the order of the table."""
        driven = [self._driven[name] for name in self._names]
        return [self._page, self._bytes, self._indexed, *driven, self._expand]

    @property
    def notes(self) -> list[str]:
        """What was not measured, and why."""
        return [] if self._groups else ["$apply was not measured: the service answers 501."]

    def scenario(self, name: str) -> Scenario:
        """A scenario, for another server of the same company."""
        return self._scenarios[name]

    def start(self, stack: ExitStack, server: Server) -> None:
        """Start the floor of a page, which stops with the stack; find out what the service
        supports."""
        page = floor.record(server.url, self._scenarios["page"])
        self._bytes.add(len(page.body))
        command = python_command(
            Path(floor.__file__), str(page.keep(self._folder / "large-page.answer"))
        )
        self._bare = stack.enter_context(running("the floor of a page", command, self._core))
        self._groups = status_of(server, self._scenarios["group"]) != _NOT_IMPLEMENTED

    def measure(self, server: Server) -> None:
        """Measure everything once."""
        if self._bare is None:
            raise LookupError("the floor has not been started")
        self._page.add(self._long(server, "page"), self._long(self._bare, "page"))
        self._indexed.add(self._short(server, "indexed"), self._short(server, "id"))
        for name in self._names:
            self._driven[name].add(self._long(server, name), self._by_driver(name))
        self._expand.add(self._long(server, "expand") / EXPANDED, self._long(server, "prices"))

    @property
    def _names(self) -> Sequence[str]:
        return [name for name in self._driven if self._groups or name != "group"]

    def _short(self, server: Server, name: str) -> float:
        return self._wrk.run(server, self._scenarios[name], CONNECTIONS, self._seconds).cpu

    def _long(self, server: Server, name: str) -> float:
        return cpu_of(server, self._scenarios[name], self._seconds)

    def _by_driver(self, name: str) -> float:
        company = self._large.company_id
        values: list[list[str]] = [[company]]
        if name == "scan":
            values = [[company, each["city"], "Person", each["country"]] for each in self._contacts]
        database = database_file(self._large.settings)
        return driver.cpu_of(database, _BY_DRIVER[name], values, self._seconds)

    def _all_scenarios(self) -> Mapping[str, Scenario]:
        by_key = sorted(each["id"] for each in self._large.items)
        paths = {
            "page": [CONTACTS],
            "id": [f"{CONTACTS}({each['id']})" for each in self._contacts],
            "indexed": self._filtered("companyNumber"),
            "scan": self._filtered("city"),
            "count": [f"{CONTACTS}/$count"],
            "group": [f"{PRICES}?$apply={quote(_GROUPING)}"],
            "expand": [f"{ITEMS}?$top={EXPANDED}&$expand=prices"],
            "prices": [f"{ITEMS}({key})/prices" for key in by_key[:EXPANDED]],
        }
        return {name: self._scenario(name, each) for name, each in paths.items()}

    def _filtered(self, name: str) -> list[str]:
        """Filters with three conditions, the first of them on `name`."""
        found = []
        for each in self._contacts:
            value = each[name].replace("'", "''")
            text = f"{name} eq '{value}' and type eq 'Person' and country eq '{each['country']}'"
            found.append(f"{CONTACTS}?$filter={quote(text)}")
        return found

    def _scenario(self, name: str, paths: Sequence[str]) -> Scenario:
        file = self._folder / f"large-{name}"
        file.write_text("".join(f"{self._large.path}/{path}\n" for path in paths), encoding="ascii")
        wishes = {"Prefer": f"odata.maxpagesize={PAGE}"} if name == "page" else {}
        return Scenario(name, file, self._headers | wishes)
