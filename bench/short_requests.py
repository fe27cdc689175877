"""Short requests beside the floor, and updates that share commits."""

from collections.abc import Sequence
from pathlib import Path

import floor
from company import copied
from figures import Comparison, Figure
from processes import python_command
from workbench import CONNECTIONS, Workbench, serving
from wrk import Run, Scenario

HERE = Path(__file__).parent


class ShortRequests:
    """Measures the service, the floor, and the service with a commit for each write."""

    notes: Sequence[str] = ()

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        asked = bench.scenarios
        self._against = {
            scenario.name: (scenario, Comparison(title, "µs", "the floor", at_most, guarded=True))
            for scenario, title, at_most in (
                (asked.read, "read a customer by id", 3.45),
                (asked.price, "price filter, 5 rows, new", 4.5),
                (asked.price_again, "price filter, 5 rows, seen before", 4.5),
                (asked.update, "durable update", 7.05),
            )
        }
        self._group = Comparison(
            "updates committed in groups", "/s", "each alone", at_least=2.2 / 1.5
        )
        self._floors = {}
        for scenario, _ in self._against.values():
            answer = floor.record(bench.service.url, scenario)
            path = answer.keep(bench.folder / f"{scenario.name}.answer")
            command = python_command(HERE / "floor.py", str(path))
            self._floors[scenario.name] = bench.start(f"the floor of {scenario.name}", command)
        copy = copied(bench.company.settings, bench.folder / "copy")
        alone = python_command(HERE / "each_alone.py", *serving(copy))
        self._alone = bench.start("the service, each write alone", alone)

    @property
    def figures(self) -> Sequence[Figure]:
        """All figures, in the order of the table."""
        return [*(figure for _, figure in self._against.values()), self._group]

    def warm_up(self) -> None:
        """Send each scenario to its servers for a second."""
        wrk = self._bench.wrk
        for scenario, _ in self._against.values():
            wrk.run(self._floors[scenario.name], scenario, CONNECTIONS, 1)
            wrk.run(self._bench.service, scenario, CONNECTIONS, 1)
        wrk.run(self._alone, self._bench.scenarios.update, CONNECTIONS, 1)

    def measure(self) -> None:
        """Measure everything once."""
        runs = {
            scenario.name: self._against_floor(scenario, figure)
            for scenario, figure in self._against.values()
        }
        update = self._bench.scenarios.update
        alone = self._bench.run(self._alone, update)
        self._group.add(runs[update.name].rate, alone.rate)

    def _against_floor(self, scenario: Scenario, figure: Comparison) -> Run:
        bare = self._bench.run(self._floors[scenario.name], scenario)
        run = self._bench.run(self._bench.service, scenario)
        figure.add(run.cpu, bare.cpu)
        return run
