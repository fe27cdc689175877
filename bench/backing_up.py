"""A backup of many records beside writers, and its restore to the first answer."""

import asyncio
import subprocess
from collections.abc import Sequence
from shutil import rmtree
from time import monotonic, sleep

from company import settings_in
from figures import Comparison, Figure, Single
from filling import filled
from processes import on_core, program_beside, running
from workbench import Workbench, serving
from writers import writing

from comptoir.config import Settings

RECORDS = 450_000

_QUICK_RECORDS = 20_000
_ALONE_SECONDS = 5
_P99 = 0.99


class BackingUp:
    """Measures the time of both, and the writes beside the backup."""

    notes: Sequence[str] = ()

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._folder = bench.folder / "backing-up"
        self._folder.mkdir(mode=0o700)
        self._filled = asyncio.run(filled(self._folder, _QUICK_RECORDS if bench.quick else RECORDS))
        self._server = bench.serve("the service that is backed up", self._filled.settings)
        name = f"{self._filled.count:,} records"
        self._backup = Single(f"backup of {name}", "s", limit=30)
        self._waits = Comparison(f"backup of {name}: p99 of a write beside", "ms", "alone")
        self._restore = Single(f"restore of {name}, to the first answer", "s", limit=30)

    @property
    def figures(self) -> Sequence[Figure]:
        """All figures, in the order of the table."""
        return [self._backup, self._waits, self._restore]

    def warm_up(self) -> None:
        """Write for a moment."""
        with writing(self._filled, self._server):
            sleep(1)

    def measure(self) -> None:
        """Measure everything once."""
        file, place = self._folder / "backup.zip", self._folder / "place"
        with writing(self._filled, self._server) as alone:
            sleep(_ALONE_SECONDS)
        began = monotonic()
        with writing(self._filled, self._server) as beside:
            self._run("backup", str(file), settings=self._filled.settings)
            self._backup.add(monotonic() - began)
        self._waits.add(*(each[int(len(each) * _P99)] * 1e3 for each in (beside, alone)))
        settings, began = settings_in(place), monotonic()
        self._run("restore", str(file), settings=settings)
        command = [program_beside("comptoir"), *serving(settings)]
        with running("the restored service", command, self._bench.cores.server):
            self._restore.add(monotonic() - began)
        rmtree(place)
        file.unlink()

    def _run(self, *arguments: str, settings: Settings) -> None:
        command = [program_beside("comptoir"), *arguments, "--database", settings.database]
        pinned = on_core(self._bench.cores.load, [*command, "--keys", settings.keys])
        subprocess.run(pinned, stdout=subprocess.DEVNULL, check=True)
