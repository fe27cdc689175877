"""The memory of a worker."""

from collections.abc import Sequence

from calls import walk
from figures import Figure, Single
from processes import program_beside, running
from scenarios import PAGE
from workbench import Workbench, serving


class Worker:
    """Measures a new worker after a client has walked all contacts by the links of their pages."""

    notes: Sequence[str] = ()

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._peak = Single("memory of a worker, 100,000 contacts walked: peak", "MiB", limit=160)
        self._rest = Single("memory of a worker, 100,000 contacts walked: own", "MiB")

    @property
    def figures(self) -> Sequence[Figure]:
        """All figures, in the order of the table."""
        return [self._peak, self._rest]

    def warm_up(self) -> None:
        """Nothing: each round starts a worker."""

    def measure(self) -> None:
        """Measure everything once."""
        bench = self._bench
        page = bench.partner_scenarios.pages[PAGE]
        command = [program_beside("comptoir"), *serving(bench.partners.settings)]
        with running("the new worker", command, bench.cores.server) as server:
            for _ in walk(server, page):
                pass
            memory = server.memory
        self._peak.add(memory.peak)
        self._rest.add(memory.anonymous)
