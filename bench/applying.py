"""A property is added to a set of many records, beside writers."""

import asyncio
import subprocess
from collections.abc import Sequence
from time import monotonic, sleep

from figures import Comparison, Figure, Single
from filling import TRANSLATIONS, filled
from processes import on_core, program_beside
from workbench import Workbench
from writers import writing

RECORDS = 300_000

_QUICK_RECORDS = 20_000
_ALONE_SECONDS = 5


class Applying:
    """Measures how long writers wait meanwhile, and the encoding of the stored JSON."""

    notes: Sequence[str] = ()

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        folder = bench.folder / "applying"
        folder.mkdir()
        self._filled = asyncio.run(filled(folder, _QUICK_RECORDS if bench.quick else RECORDS))
        self._server = bench.serve("the service of the catalog", self._filled.settings)
        self._file = folder / "own.toml"
        self._added = 0
        name = f"a property added to {self._filled.count:,} records"
        self._seconds = Single(f"{name}: with its JSON", "s", limit=40)
        self._waits = Comparison(f"{name}: the longest write beside", "ms", "alone", limit=50)

    @property
    def figures(self) -> Sequence[Figure]:
        """All figures, in the order of the table."""
        return [self._seconds, self._waits]

    def warm_up(self) -> None:
        """Write for a moment."""
        with writing(self._filled, self._server):
            sleep(1)

    def measure(self) -> None:
        """Measure everything once."""
        with writing(self._filled, self._server) as alone:
            sleep(_ALONE_SECONDS)
        self._added += 1
        lines = ["comptoir = 1", 'base = "built-in"', f"[sets.{TRANSLATIONS.name}.properties]"]
        lines += [f'added{each} = "String(20)"' for each in range(self._added)]
        self._file.write_text("\n".join(lines), encoding="utf-8")
        database = self._filled.settings.database
        command = [program_beside("comptoir"), "catalog", "apply", str(self._file)]
        pinned = on_core(self._bench.cores.load, [*command, "--database", database])
        began = monotonic()
        with writing(self._filled, self._server) as beside:
            subprocess.run(pinned, stdout=subprocess.DEVNULL, check=True)
        self._seconds.add(monotonic() - began)
        self._waits.add(beside[-1] * 1e3, alone[-1] * 1e3)
