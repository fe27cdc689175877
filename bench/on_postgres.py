"""The service on PostgreSQL, with the same company and requests as on SQLite.

Both sides of a figure are measured in the same round: the other side is the service on SQLite, the
bare driver, or pgbench. The CPU of the database server is measured separately. It is added to the
service's CPU if a figure compares the two stores as a whole.
"""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from uuid import uuid4

from calls import cpu_of_each
from company import CONTACTS, CUSTOMERS, Measured, add_company, load_all
from figures import Comparison, Figure
from loads import load_seconds
from msgspec import structs
from partners import Partners
from pgbench import Pgbench
from point_select import round_trip
from processes import Server, being_on
from store_figures import ON, ReadFigures, UpdateFigures
from workbench import Workbench
from wrk import Run, Scenario

from comptoir.app import open_store
from comptoir.catalog import MODEL
from comptoir.store.migration import migrate
from support.postgres import name_of

READERS, WRITERS = 16, 64
COMPANIES = 8
"""The number of companies that are written to at the same time."""

_SELECT = f'SELECT * FROM "{CUSTOMERS}" WHERE company_id = $1 AND id = $2'


class OnPostgres:
    """Measures the service on PostgreSQL, the service on SQLite, and the database alone."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._searches = not bench.quick
        self._settings = structs.replace(
            bench.company.settings, database=bench.postgres.new_database()
        )
        self._companies = [str(uuid4()) for _ in range(COMPANIES)]
        migrate(self._settings, MODEL)
        asyncio.run(self._fill(bench.company, bench.partners))
        self._pgbench = Pgbench(bench.postgres, bench.cores)
        self._reads = ReadFigures()
        self._updates = UpdateFigures(WRITERS, COMPANIES)
        self._pairs: dict[str, Comparison] = {}
        self._load = Comparison(f"load 20,000 customers {ON}: CPU of both", "s", "on SQLite")
        name = "the service on PostgreSQL"
        self._server = bench.serve(name, self._settings, bench.postgres)

    async def _fill(self, measured: Measured, partners: Partners) -> None:
        store = open_store(self._settings)
        try:
            company = await add_company(store, measured.company_id)
            await load_all(store, company, measured.files)
            for company_id in self._companies:
                company = await add_company(store, company_id)
                await load_all(store, company, {CONTACTS: measured.files[CONTACTS]})
            company = await add_company(store, partners.company.id)
            await load_all(store, company, {CONTACTS: partners.contacts_file})
            # autovacuum does the same within a minute of such loads
            await self._analyze()
            if self._searches:
                await store.index(company.id, MODEL.by_name[CONTACTS], sys.maxsize)
                await self._analyze()
        finally:
            await store.close()

    async def _analyze(self) -> None:
        connection = await self._bench.postgres.administrator(name_of(self._settings.database))
        try:
            await connection.execute("VACUUM ANALYZE")
        finally:
            await connection.close()

    @property
    def figures(self) -> Sequence[Figure]:
        """All figures, in the order of the table."""
        return [*self._reads.figures, *self._updates.figures, *self._pairs.values(), self._load]

    @property
    def notes(self) -> Sequence[str]:
        """The server's version and settings, and what was not measured."""
        notes = [self._bench.postgres.description]
        if not self._searches:
            notes.append(
                "$search on PostgreSQL was not measured: making its index is too long for --quick."
            )
        return notes

    def warm_up(self) -> None:
        """Send short requests to the service for a second each."""
        asked = self._bench.scenarios
        for each in (asked.read, asked.price, asked.update):
            for server in (self._server, self._bench.service):
                self._bench.wrk.run(server, each, READERS, 1)

    def measure(self) -> None:
        """Measure everything once, beside SQLite."""
        bench = self._bench
        self._measure_reads()
        self._measure_updates()
        self._measure_short("price filter, 5 rows, new,", bench.service, bench.scenarios.price)
        many, large = f"{len(bench.partners.contacts):,} contacts", bench.large_scenarios
        if self._searches:
            self._measure_short(f"search {many}", bench.large_service, large["search"])
        for what, name in (("page of 1,000 contacts", "page"), (f"$count of {many}", "count")):
            self._measure_long(what, large[name])
        self._measure_loading()

    def _measure_reads(self) -> None:
        """Measure a read by id once, with its floors."""
        bench, read = self._bench, self._bench.scenarios.read
        values = [(bench.company.company_id, key) for key in bench.company.customers]
        with being_on((bench.cores.server,)):
            url = self._settings.database
            bare = round_trip(bench.postgres, url, _SELECT, values, bench.seconds)
        selects = self._pgbench.selects(bench.seconds)
        servers = (self._server, bench.service)
        many = [self._run(each, read, READERS) for each in servers]
        one = [self._run(each, read, 1) for each in servers]
        self._reads.add(many, one, bare, selects)

    def _measure_updates(self) -> None:
        """Measure durable updates once: of one company, of several, and by pgbench."""
        update = self._bench.scenarios.update
        own = self._run(self._server, update, WRITERS)
        pgbench = self._pgbench.updates(self._bench.seconds)
        several = self._run(self._server, self._spread(update), WRITERS)
        other = self._run(self._bench.service, update, WRITERS)
        self._updates.add(own, pgbench, several, other)

    def _measure_short(self, what: str, on_sqlite: Server, scenario: Scenario) -> None:
        """Measure a short request once, on both stores, with wrk."""
        own, other = (self._run(each, scenario, READERS) for each in (self._server, on_sqlite))
        self._pair(what).add(own.cpu + own.database, other.cpu)

    def _measure_long(self, what: str, scenario: Scenario) -> None:
        """Measure a long request once, on both stores, with few requests."""
        servers = (self._server, self._bench.large_service)
        self._pair(what).add(*cpu_of_each(servers, scenario, max(0.5, self._bench.seconds / 6)))

    def _pair(self, what: str) -> Comparison:
        if what not in self._pairs:
            name = f"{what} {ON}: CPU of both"
            self._pairs[what] = Comparison(name, "µs", "on SQLite")
        return self._pairs[what]

    def _measure_loading(self) -> None:
        """Measure a load once, on both stores."""
        bench = self._bench
        on_sqlite = load_seconds(bench, "service", str(bench.folder))
        before = bench.postgres.cpu_seconds
        seconds = load_seconds(bench, "postgres", self._settings.database)
        self._load.add(seconds + bench.postgres.cpu_seconds - before, on_sqlite)

    def _spread(self, update: Scenario) -> Scenario:
        """The same updates for several companies in turn."""
        paths = update.paths.read_text(encoding="ascii").splitlines()
        file = update.paths.with_name("contacts-of-several")
        spread = (
            path.replace(self._bench.company.company_id, self._companies[at % COMPANIES])
            for at, path in enumerate(paths)
        )
        file.write_text("".join(f"{path}\n" for path in spread), encoding="ascii")
        return replace(update, paths=file)

    def _run(self, server: Server, scenario: Scenario, connections: int) -> Run:
        return self._bench.wrk.run(server, scenario, connections, self._bench.seconds)
