"""Point reads and pages beside one client with many heavy reads."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from company import token_for
from figures import Comparison, Figure
from workbench import CONNECTIONS, Workbench
from wrk import Scenario

HEAVY_READS = 50
NAMES: Mapping[str, str] = {"id": "read by id", "indexed": "filter with an index"}
"""The scenarios of the other client, with what they are."""

_FEWEST_SECONDS = 5
"""The 99th percentile of few connections needs more requests than their CPU."""


class BesideHeavy:
    """Measures the latency of a client's reads while another one searches without an index."""

    notes: Sequence[str] = ()

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        beside = f"beside {HEAVY_READS} heavy reads of another client"
        self._waits = {
            (name, count): Comparison(
                f"{what} {beside}, {count} conn.: p99", "ms", "alone", limit=50
            )
            for name, what in NAMES.items()
            for count in (1, CONNECTIONS)
        }

    @property
    def figures(self) -> Sequence[Figure]:
        """All figures, in the order of the table."""
        return list(self._waits.values())

    def warm_up(self) -> None:
        """Send heavy reads, then the others, for a second each."""
        asked = self._bench.large_scenarios
        for scenario in (self._heavy, *(asked[name] for name in NAMES)):
            self._bench.wrk.run(self._bench.large_service, scenario, 1, 1)

    def measure(self) -> None:
        """Measure everything once."""
        bench, asked = self._bench, self._bench.large_scenarios
        service, seconds = bench.large_service, max(_FEWEST_SECONDS, bench.seconds)
        for (name, connections), p99 in self._waits.items():
            # meanwhile the server notices that the heavy reads of the previous run have ended
            alone = bench.wrk.run(service, asked[name], connections, seconds)
            with bench.wrk.beside(service, self._heavy, HEAVY_READS):
                beside = bench.wrk.run(service, asked[name], connections, seconds)
            p99.add(beside.p99 / 1e3, alone.p99 / 1e3)

    @cached_property
    def _heavy(self) -> Scenario:
        token = token_for(self._bench.large.settings, "heavy")
        scenario = self._bench.large_scenarios["search-by-scan"]
        return replace(scenario, headers={"Authorization": f"Bearer {token}"})
