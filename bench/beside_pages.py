"""Point reads beside clients that fetch pages."""

from collections.abc import Sequence

from figures import Comparison, Figure, Single
from scenarios import PAGE
from workbench import CONNECTIONS, Workbench

PAGE_CLIENTS = 4

_FEWEST_SECONDS = 2
"""A percentile needs more requests than their CPU."""


class BesidePages:
    """Measures the latency of point reads, alone and beside pages of 1,000 contacts."""

    notes: Sequence[str] = ()

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        beside = f"beside {PAGE_CLIENTS} page clients"
        self._waits = {
            count: (
                Comparison(f"read by id {beside}, {count} conn.: p50", "µs", "alone", 3),
                Single(f"read by id {beside}, {count} conn.: p99", "ms", limit=15),
            )
            for count in (1, CONNECTIONS)
        }

    @property
    def figures(self) -> Sequence[Figure]:
        """All figures, in the order of the table."""
        return [figure for figures in self._waits.values() for figure in figures]

    def warm_up(self) -> None:
        """Send reads and pages for a second."""
        asked = self._bench.partner_scenarios
        for scenario in (asked.read, asked.pages[PAGE]):
            self._bench.wrk.run(self._bench.partners_service, scenario, PAGE_CLIENTS, 1)

    def measure(self) -> None:
        """Measure everything once."""
        bench, asked = self._bench, self._bench.partner_scenarios
        service, seconds = bench.partners_service, max(_FEWEST_SECONDS, bench.seconds)
        for connections, (p50, p99) in self._waits.items():
            alone = bench.wrk.run(service, asked.read, connections, seconds)
            with bench.wrk.beside(service, asked.pages[PAGE], PAGE_CLIENTS):
                beside = bench.wrk.run(service, asked.read, connections, seconds)
            p50.add(beside.p50, alone.p50)
            p99.add(beside.p99 / 1e3)
