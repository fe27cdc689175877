"""Searches among many contacts: with the index, with a scan, and beside point reads."""

from collections.abc import Sequence

from calls import cpu_in_turns
from figures import Comparison, Figure, Single
from workbench import Workbench


class Searching:
    """Searches for a few of many contacts in three ways."""

    notes: Sequence[str] = ()

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        # sequential requests vary less, so a part of the time is enough
        self._seconds = max(0.5, bench.seconds / 6)
        self._indexing = Single("CPU to index a contact", "µs")
        self._indexing.add(bench.partners.indexing)
        what = f"search {len(bench.large.partners.contacts):,} contacts"
        self._scanned = Comparison(what, "µs", "by a scan", at_most=0.1)
        self._read = Comparison(what, "µs", "read a contact")

    @property
    def figures(self) -> Sequence[Figure]:
        """All figures, in the order of the table."""
        return [self._read, self._scanned, self._indexing]

    def warm_up(self) -> None:
        """Search and read for a moment."""
        self._in_turns("search", "id")

    def measure(self) -> None:
        """Measure once: searches with the index, with a scan, and point reads."""
        read, search, scan = self._in_turns("id", "search", "search-by-scan")
        self._read.add(search, read)
        self._scanned.add(search, scan)

    def _in_turns(self, *names: str) -> Sequence[float]:
        bench = self._bench
        asked = [(bench.large_service, bench.large_scenarios[name]) for name in names]
        return cpu_in_turns(asked, self._seconds)
