"""Searches among many contacts: with the index, with a scan, and beside point reads."""

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from company import CONTACTS
from figures import Comparison, Figure, Single
from large import Large
from processes import Cores, Server
from wrk import Scenario, Wrk

CONNECTIONS = 4
SOUGHT = 500
"""The number of searched contacts, by numbers that one or a few contacts contain."""


class Searching:
    """Searches for a few of many contacts in three ways."""

    def __init__(
        self, large: Large, token: str, folder: Path, cores: Cores, seconds: float
    ) -> None:
        self._token = token
        self._folder = folder
        # a third of the time is enough
        self._seconds = max(1, seconds / 3)
        self._wrk = Wrk(cores.load)
        self._indexing = Single("CPU to index a contact", "µs")
        self._indexing.add(large.indexing)
        what = f"search {len(large.contacts):,} contacts"
        self._scanned = Comparison(what, "µs", "µs, by a scan", at_most=0.1)
        self._read = Comparison(what, "µs", "µs, read a contact")
        self._root = f"{large.path}/{CONTACTS}"
        sought = large.contacts[:: max(1, len(large.contacts) // SOUGHT)]
        numbers = [each["number"] for each in sought]
        self._by_key = self._scenario("read a contact", [f"({each['id']})" for each in sought])
        self.by_index = self._scenario("search", [f"?$search={number}" for number in numbers])
        # a term that no text contains, and that is too short for the index
        rest = quote(" OR ~~")
        self._by_scan = self._scenario(
            "search by a scan", [f"?$search={number}{rest}" for number in numbers]
        )

    @property
    def figures(self) -> list[Figure]:
        """All figures, in the order of the table."""
        return [self._read, self._scanned, self._indexing]

    def measure(self, server: Server) -> None:
        """Measure once: searches with the index, with a scan, and point reads."""
        read, search, scan = (
            self._wrk.run(server, scenario, CONNECTIONS, self._seconds).cpu
            for scenario in (self._by_key, self.by_index, self._by_scan)
        )
        self._read.add(search, read)
        self._scanned.add(search, scan)

    def _scenario(self, name: str, paths: Sequence[str]) -> Scenario:
        file = self._folder / name.replace(" ", "-")
        file.write_text("".join(f"{self._root}{path}\n" for path in paths), encoding="ascii")
        return Scenario(name, file, {"Authorization": f"Bearer {self._token}"})
