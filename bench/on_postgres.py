"""The service on PostgreSQL, with the same company and requests as on SQLite.

Both sides of a figure are measured in the same round: the other side is the service on SQLite, the
bare driver, or pgbench. The CPU of the database server is measured separately. It is added to the
service's CPU if a figure compares the two stores as a whole.
"""

import asyncio
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from calls import cpu_of
from company import CONTACTS, CUSTOMERS, Measured, add_company, load_all
from figures import Comparison, Figure
from large import Large
from own_postgres import OwnPostgres
from pgbench import Pgbench
from point_select import round_trip
from processes import Cores, Server, being_on, on_core, program_beside, python_command, running
from store_figures import ON, ReadFigures, UpdateFigures
from wrk import Run, Scenario, Wrk

from comptoir.app import open_store
from comptoir.catalog import MODEL
from comptoir.store.migration import migrate
from support.postgres import name_of

LOADING = Path(__file__).with_name("loading.py")
READERS, WRITERS = 16, 64
COMPANIES = 8
"""The number of companies that are written to at the same time."""

_SELECT = f'SELECT * FROM "{CUSTOMERS}" WHERE company_id = $1 AND id = $2'


class OnPostgres:
    """Measures the service on PostgreSQL, the service on SQLite, and the database alone."""

    def __init__(
        self,
        postgres: OwnPostgres,
        measured: Measured,
        large: Large,
        cores: Cores,
        seconds: float,
        *,
        searches: bool,
    ) -> None:
        self._postgres = postgres
        self._measured = measured
        self._cores = cores
        self._seconds = seconds
        self.searches = searches
        self._wrk = Wrk(cores.load)
        self._settings = replace(measured.settings, database=postgres.new_database())
        self._companies = [str(uuid4()) for _ in range(COMPANIES)]
        migrate(self._settings, MODEL)
        asyncio.run(self._fill(large))
        self._pgbench = Pgbench(postgres, cores)
        self._reads = ReadFigures()
        self._updates = UpdateFigures(WRITERS, COMPANIES)
        self._pairs: dict[str, Comparison] = {}
        self._load = Comparison(f"load 20,000 customers {ON}: CPU of both", "s", "s, on SQLite")
        self._server: Server | None = None

    async def _fill(self, large: Large) -> None:
        measured = self._measured
        store = open_store(self._settings)
        try:
            company = await add_company(store, measured.company_id)
            await load_all(store, company, measured.files)
            for company_id in self._companies:
                company = await add_company(store, company_id)
                await load_all(store, company, {CONTACTS: measured.files[CONTACTS]})
            company = await add_company(store, large.company_id)
            await load_all(store, company, {CONTACTS: large.files[CONTACTS]})
            # autovacuum does the same within a minute of such loads
            await self._analyze()
            if self.searches:
                await store.catch_up(company, MODEL.by_name[CONTACTS])
                await self._analyze()
        finally:
            await store.close()

    async def _analyze(self) -> None:
        connection = await self._postgres.administrator(name_of(self._settings.database))
        try:
            await connection.execute("VACUUM ANALYZE")
        finally:
            await connection.close()

    @property
    def figures(self) -> list[Figure]:
        """All figures, in the order of the table."""
        return [
            *self._reads.figures,
            *self._updates.figures,
            *self._pairs.values(),
            self._load,
        ]

    @property
    def notes(self) -> list[str]:
        """The server's version and settings, and what was not measured."""
        told = [self._postgres.told]
        if not self.searches:
            told.append(
                "$search on PostgreSQL was not measured: making its index is too long for --quick."
            )
        return told

    def start(self, stack: ExitStack) -> None:
        """Start the service, which stops with the stack."""
        options = ["--port", "0", "--host", "127.0.0.1", "--keys", self._settings.keys]
        command = [program_beside("comptoir"), "serve", *options]
        command += ["--database", self._settings.database]
        self._server = stack.enter_context(
            running("the service on PostgreSQL", command, self._cores.server, self._postgres)
        )

    def warm_up(self, scenarios: Sequence[Scenario]) -> None:
        """Send each scenario to the service for a second, without measuring."""
        for scenario in scenarios:
            self._wrk.run(self._own, scenario, READERS, 1)

    def measure_reads(self, on_sqlite: Server, read: Scenario) -> None:
        """Measure a read by id once, with its floors."""
        values = [(self._measured.company_id, key) for key in self._measured.customers]
        with being_on((self._cores.server,)):
            bare = round_trip(
                self._postgres, self._settings.database, _SELECT, values, self._seconds
            )
        selects = self._pgbench.selects(self._seconds)
        many = [self._run(each, read, READERS) for each in (self._own, on_sqlite)]
        one = [self._run(each, read, 1) for each in (self._own, on_sqlite)]
        self._reads.add(many, one, bare, selects)

    def measure_updates(self, on_sqlite: Server, update: Scenario) -> None:
        """Measure durable updates once: of one company, of several, and by pgbench."""
        own = self._run(self._own, update, WRITERS)
        pgbench = self._pgbench.updates(self._seconds)
        several = self._run(self._own, self._spread(update), WRITERS)
        other = self._run(on_sqlite, update, WRITERS)
        self._updates.add(own, pgbench, several, other)

    def measure_short(self, what: str, on_sqlite: Server, scenario: Scenario) -> None:
        """Measure a short request once, on both stores, with wrk."""
        own, other = (self._run(each, scenario, READERS) for each in (self._own, on_sqlite))
        self._pair(what).add(own.cpu + own.database, other.cpu)

    def measure_long(self, what: str, on_sqlite: Server, scenario: Scenario) -> None:
        """Measure a long request once, on both stores, with few requests."""
        seconds = max(0.5, self._seconds / 6)
        own, other = (cpu_of(each, scenario, seconds) for each in (self._own, on_sqlite))
        self._pair(what).add(own, other)

    def _pair(self, what: str) -> Comparison:
        if what not in self._pairs:
            name = f"{what} {ON}: CPU of both"
            self._pairs[what] = Comparison(name, "µs", "µs, on SQLite")
        return self._pairs[what]

    def measure_loading(self, on_sqlite: float) -> None:
        """Measure a load once, beside the CPU seconds that it took on SQLite."""
        file = str(self._measured.files[CUSTOMERS])
        command = python_command(LOADING, "postgres", self._settings.database, file)
        before = self._postgres.cpu_seconds
        output = subprocess.run(
            on_core(self._cores.server, command), stdout=subprocess.PIPE, text=True, check=True
        ).stdout
        used = self._postgres.cpu_seconds - before
        self._load.add(float(output) + used, on_sqlite)

    def _spread(self, update: Scenario) -> Scenario:
        """The same updates for several companies in turn."""
        paths = update.paths.read_text(encoding="ascii").splitlines()
        file = update.paths.with_name("contacts-of-several")
        spread = (
            path.replace(self._measured.company_id, self._companies[at % COMPANIES])
            for at, path in enumerate(paths)
        )
        file.write_text("".join(f"{path}\n" for path in spread), encoding="ascii")
        return replace(update, paths=file)

    def _run(self, server: Server, scenario: Scenario, connections: int) -> Run:
        return self._wrk.run(server, scenario, connections, self._seconds)

    @property
    def _own(self) -> Server:
        if self._server is None:
            raise LookupError("the service has not been started")
        return self._server
