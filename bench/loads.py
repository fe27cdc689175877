"""The load of a file, compared with the bare driver."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from company import CUSTOMERS
from figures import Comparison, Figure
from processes import on_core, python_command
from workbench import Workbench

LOADING = Path(__file__).with_name("loading.py")


class Loads:
    """Measures a load into SQLite, each in a process of its own."""

    notes: Sequence[str] = ()

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._load = Comparison("load 20,000 customers", "s", "bare driver", 2.2, guarded=True)

    @property
    def figures(self) -> Sequence[Figure]:
        """All figures, in the order of the table."""
        return [self._load]

    def warm_up(self) -> None:
        """Nothing: a load starts cold."""

    def measure(self) -> None:
        """Measure everything once."""
        folder = str(self._bench.folder)
        self._load.add(*(load_seconds(self._bench, way, folder) for way in ("service", "driver")))


def load_seconds(bench: Workbench, way: str, place: str) -> float:
    """The CPU seconds of a load of the company's customers, by one of the ways of `loading.py`."""
    command = python_command(LOADING, way, place, str(bench.company.files[CUSTOMERS]))
    pinned = on_core(bench.cores.server, command)
    return float(subprocess.run(pinned, stdout=subprocess.PIPE, text=True, check=True).stdout)
