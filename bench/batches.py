"""Batches of reads and of creates, compared with single requests."""

from collections.abc import Sequence

from figures import Comparison, Figure
from scenarios import BATCH
from workbench import CONNECTIONS, Workbench

BATCH_CLIENTS = 4


class Batches:
    """Measures a part of a batch, and the same request alone."""

    notes: Sequence[str] = ()

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._read, self._create = (
            Comparison(f"a {what} in a batch of {BATCH}", "µs", "alone", at_most=1)
            for what in ("read", "create")
        )

    @property
    def figures(self) -> Sequence[Figure]:
        """All figures, in the order of the table."""
        return [self._read, self._create]

    def warm_up(self) -> None:
        """Send reads for a second."""
        self._bench.wrk.run(self._bench.service, self._bench.scenarios.read, CONNECTIONS, 1)

    def measure(self) -> None:
        """Measure everything once."""
        bench, asked = self._bench, self._bench.scenarios
        for batch, alone, figure in (
            (asked.read_batch, asked.read, self._read),
            (asked.create_batch, asked.create, self._create),
        ):
            in_batch = bench.run(bench.service, batch, BATCH_CLIENTS)
            figure.add(in_batch.cpu / BATCH, bench.run(bench.service, alone).cpu)
