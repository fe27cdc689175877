"""Requests to a service that keeps them for the console, beside one that does not."""

from collections.abc import Sequence

from company import copied
from figures import Comparison, Figure
from processes import program_beside
from workbench import CONNECTIONS, Workbench, serving

from comptoir.config import environment_name


class Inspecting:
    """Measures requests of which the headers and bodies are kept."""

    notes: Sequence[str] = ()

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        asked = bench.scenarios
        self._compared = [
            (scenario, Comparison(f"{title}, kept", "µs", "not kept", at_most=1 / 0.95))
            for scenario, title in (
                (asked.read, "read a customer by id"),
                (asked.update, "durable update"),
            )
        ]
        settings = copied(bench.company.settings, bench.folder / "inspected")
        keeping = ["env", f"{environment_name('inspect')}=bodies", program_beside("comptoir")]
        self._keeping = bench.start(
            "the service that keeps requests", [*keeping, *serving(settings)]
        )

    @property
    def figures(self) -> Sequence[Figure]:
        """All figures, in the order of the table."""
        return [figure for _, figure in self._compared]

    def warm_up(self) -> None:
        """Send each scenario to both services for a second."""
        for scenario, _ in self._compared:
            for server in (self._bench.service, self._keeping):
                self._bench.wrk.run(server, scenario, CONNECTIONS, 1)

    def measure(self) -> None:
        """Measure everything once."""
        for scenario, figure in self._compared:
            plain = self._bench.run(self._bench.service, scenario)
            figure.add(self._bench.run(self._keeping, scenario).cpu, plain.cpu)
