"""Searching many contacts: a company of its own, its index, and what is asked of it."""

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from time import process_time
from urllib.parse import quote

from company import CONTACTS, Measured, add_company, load, settings_in, write_rows
from figures import Comparison, Figure, Single
from processes import Cores, Server, program_beside, running
from wrk import Scenario, Wrk

from comptoir.app import open_store
from comptoir.catalog import MODEL
from comptoir.samples import SampleSize, sample_company
from comptoir.store.migrate import migrate

CONNECTIONS = 4
SOUGHT = 500
"""How many contacts are looked for, by numbers that one or a few of all contacts hold."""


class Searching:
    """A server over the contacts of a medium company, asked for a few of them in three ways."""

    def __init__(self, measured: Measured, folder: Path, cores: Cores, seconds: float) -> None:
        self._measured = measured
        self._folder = folder
        self._cores = cores
        self._seconds = seconds
        self._wrk = Wrk(cores.load)
        self._settings = settings_in(folder, "search.db")
        self._server: Server | None = None
        self._indexing = Single("CPU to index a contact", "µs")
        company_id, contacts = asyncio.run(self._prepare())
        what = f"search {len(contacts):,} contacts"
        self._scanned = Comparison(what, "µs", "µs, by a scan", at_most=0.1)
        self._read = Comparison(what, "µs", "µs, read a contact")
        self._root = f"{measured.settings.base_path}/companies({company_id})/{CONTACTS}"
        sought = contacts[:: max(1, len(contacts) // SOUGHT)]
        self._by_key = self._scenario("read a contact", [f"({key})" for key, _ in sought])
        self._by_index = self._scenario("search", [f"?$search={number}" for _, number in sought])
        # a term that no text has, and that is too short for the index
        rest = quote(" OR ~~")
        self._by_scan = self._scenario(
            "search by a scan", [f"?$search={number}{rest}" for _, number in sought]
        )

    @property
    def figures(self) -> list[Figure]:
        """What was measured, in the order of the table."""
        return [self._read, self._scanned, self._indexing]

    def start(self, stack: ExitStack) -> None:
        """Start the server, which stops with the stack."""
        options = ["--port", "0", "--host", "127.0.0.1", "--keys", self._settings.keys]
        command = [program_beside("comptoir"), "serve", *options]
        command += ["--database", self._settings.database]
        self._server = stack.enter_context(running("search", command, self._cores.server))

    def measure(self) -> None:
        """Measure once: searches by the index, by a scan, and point reads."""
        read, search, scan = map(self._cpu, (self._by_key, self._by_index, self._by_scan))
        self._read.add(search, read)
        self._scanned.add(search, scan)

    def _cpu(self, scenario: Scenario) -> float:
        if self._server is None:
            raise LookupError("the server has not been started")
        return self._wrk.run(self._server, scenario, CONNECTIONS, self._seconds).cpu

    def _scenario(self, name: str, paths: Sequence[str]) -> Scenario:
        file = self._folder / name.replace(" ", "-")
        file.write_text("".join(f"{self._root}{path}\n" for path in paths), encoding="ascii")
        return Scenario(name, file, {"Authorization": f"Bearer {self._measured.token}"})

    async def _prepare(self) -> tuple[str, list[tuple[str, str]]]:
        """Load and index the contacts; gives the company, and their keys and numbers."""
        contacts = next(
            each for each in sample_company(SampleSize.MEDIUM) if each.entity_set == CONTACTS
        )
        rows = list(contacts.rows)
        file = write_rows(self._folder / "searched.csv", contacts.columns, rows)
        migrate(self._settings.database, MODEL)
        store = open_store(self._settings)
        try:
            company = await add_company(store)
            report = await load(store, company, CONTACTS, file)
            if report.refused:
                raise ValueError(f"{file}: {report.faults[0]}")
            before = process_time()
            await store.catch_up(company, MODEL.by_name[CONTACTS])
            self._indexing.add((process_time() - before) / len(rows) * 1e6)
        finally:
            await store.close()
        key, number = contacts.columns.index("id"), contacts.columns.index("number")
        return company.id, [(row[key], row[number]) for row in rows]
