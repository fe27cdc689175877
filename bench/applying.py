"""A property is added to a set of many records, beside writers."""

import asyncio
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from random import Random
from secrets import token_hex
from threading import Event
from time import monotonic, sleep
from urllib.parse import urlsplit

from company import token_for
from figures import Comparison, Figure, Single
from filling import TRANSLATIONS, filled
from processes import on_core, program_beside
from workbench import Workbench
from wrk import LoadError

RECORDS = 300_000
WRITERS = 4

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
        with self._writing():
            sleep(1)

    def measure(self) -> None:
        """Measure everything once."""
        with self._writing() as alone:
            sleep(_ALONE_SECONDS)
        self._added += 1
        lines = ["comptoir = 1", 'base = "built-in"', f"[sets.{TRANSLATIONS.name}.properties]"]
        lines += [f'added{each} = "String(20)"' for each in range(self._added)]
        self._file.write_text("\n".join(lines), encoding="utf-8")
        database = self._filled.settings.database
        command = [program_beside("comptoir"), "catalog", "apply", str(self._file)]
        pinned = on_core(self._bench.cores.load, [*command, "--database", database])
        began = monotonic()
        with self._writing() as beside:
            subprocess.run(pinned, stdout=subprocess.DEVNULL, check=True)
        self._seconds.add(monotonic() - began)
        self._waits.add(beside[0] * 1e3, alone[0] * 1e3)

    @contextmanager
    def _writing(self) -> Iterator[list[float]]:
        """Write until the block ends; the list then has the longest time of a write in seconds."""
        is_over, longest = Event(), list[float]()
        with ThreadPoolExecutor(WRITERS) as pool:
            writers = [pool.submit(self._write, each, is_over) for each in range(WRITERS)]
            try:
                yield longest
            finally:
                is_over.set()
            longest.append(max(each.result() for each in writers))

    def _write(self, seed: int, is_over: Event) -> float:
        random, longest = Random(seed), 0.0
        token = token_for(self._filled.settings)
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "If-Match": "*",
        }
        with closing(HTTPConnection(urlsplit(self._server.url).netloc, timeout=60)) as connection:
            while not is_over.is_set():
                key = self._filled.key(random.randrange(self._filled.count))
                body, began = f'{{"description2":"{token_hex(8)}"}}', monotonic()
                connection.request("PATCH", f"{self._filled.path}({key})", body, headers)
                with connection.getresponse() as answer:
                    answer.read()
                longest = max(longest, monotonic() - began)
                if answer.status != 200:
                    raise LoadError(f"a write was answered by {answer.status}")
        return longest
