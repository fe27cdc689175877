"""The planner's statistics are refreshed after many rows were written."""

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path

import asyncpg
import pytest

from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.edm.model import Company as StoredCompany
from comptoir.features.transfer.copy import Copy
from comptoir.features.transfer.files import FileSource
from comptoir.features.transfer.load import load_source
from comptoir.store.store import MANY_ROWS
from comptoir.store.text_index import MANY_UNITS, outdates_statistics
from postgres.conftest import Served, locks_held
from support.companies import Company
from support.databases import FreshDatabase, migrated
from support.postgres import ADMINISTRATOR, ROLE, Databases, name_of
from support.statements import Bound, statements_of
from support.stores import opened

AGENTS = "shippingAgentsExt"
DOCUMENTS = "search_documents"
CHANGES = "changes"
TABLES = (AGENTS, CHANGES, DOCUMENTS)
UNKNOWN = -1


def known(server: Databases, url: str) -> Mapping[str, int]:
    """The number of rows of some tables by PostgreSQL's statistics."""
    asked = f"SELECT relname::TEXT, reltuples::INT FROM pg_class WHERE relname IN {TABLES}"
    return {str(name): int(str(rows)) for name, rows in server.asked(asked, name_of(url))}


def agents_in(folder: Path, rows: int) -> FileSource:
    """A file of agents."""
    path = folder / "shippingAgentsExt.csv"
    path.write_text("\n".join(["code", *(f"A{at}" for at in range(rows))]))
    return FileSource(path)


def load(company: Company, folder: Path, rows: int) -> None:
    """Load agents as `comptoir load` does."""

    async def work(settings: Settings, stored: StoredCompany) -> None:
        agents, source = MODEL.by_name[AGENTS], agents_in(folder, rows)
        async with opened(settings) as store:
            report = await load_source(
                store, stored, source, agents, lambda *_: None, keep_good=False
            )
        assert report.inserted == rows

    company.admin.wait(work(company.admin.settings, company.stored))


def test_a_large_load_and_its_indexing_refresh_statistics(
    postgres_server: Databases, company: Company, tmp_path: Path
) -> None:
    url = company.admin.settings.database
    load(company, tmp_path, MANY_ROWS)
    loaded = {AGENTS: MANY_ROWS, CHANGES: MANY_ROWS, DOCUMENTS: UNKNOWN}
    assert known(postgres_server, url) == loaded

    company.catch_up(AGENTS)

    assert known(postgres_server, url) == {**loaded, DOCUMENTS: MANY_ROWS}


def test_a_small_load_refreshes_no_statistics(
    postgres_server: Databases, company: Company, tmp_path: Path
) -> None:
    load(company, tmp_path, MANY_ROWS - 1)

    held = known(postgres_server, company.admin.settings.database)
    assert set(held.values()) == {UNKNOWN}


def test_a_role_without_the_privilege_to_analyze_can_load(
    postgres_server: Databases, company: Company, tmp_path: Path
) -> None:
    url = company.admin.settings.database
    postgres_server.administer(
        # the owner of the database has the privilege too
        f'ALTER DATABASE "{name_of(url)}" OWNER TO {ADMINISTRATOR}',
        f'ALTER TABLE "{AGENTS}" OWNER TO {ADMINISTRATOR}',
        f'GRANT SELECT, INSERT, UPDATE, DELETE ON "{AGENTS}" TO {ROLE}',
        database=name_of(url),
    )

    load(company, tmp_path, MANY_ROWS)

    held = known(postgres_server, url)
    assert (held[AGENTS], held[CHANGES]) == (UNKNOWN, MANY_ROWS)


def test_a_load_does_not_wait_for_a_locked_table(
    postgres_server: Databases, company: Company, tmp_path: Path
) -> None:
    url = company.admin.settings.database

    with locks_held(url, f'LOCK "{AGENTS}" IN SHARE UPDATE EXCLUSIVE MODE'):
        load(company, tmp_path, MANY_ROWS)

    assert known(postgres_server, url)[AGENTS] == UNKNOWN


def test_statistics_of_the_index_are_refreshed_whenever_it_doubles() -> None:
    """With a plan for a small index, each unit would take as long as all previous ones."""
    for units, expected in ((MANY_UNITS - 1, []), (40, [16, 32, 40]), (64, [16, 32, 64])):
        done = range(1, units + 1)
        refreshed = [each for each in done if outdates_statistics(each, is_last=each == units)]
        assert refreshed == expected


def test_a_copy_refreshes_statistics(
    postgres_server: Databases, company: Company, fresh_sqlite: FreshDatabase, tmp_path: Path
) -> None:
    here = Settings(database=fresh_sqlite(tmp_path, MODEL))
    there = company.admin.settings

    async def work() -> None:
        async with opened(here) as source, opened(there) as target:
            stored = await source.create_company(company.id.replace("-4", "-5", 1), "Copied")
            agents, file = MODEL.by_name[AGENTS], agents_in(tmp_path, MANY_ROWS)
            await load_source(source, stored, file, agents, lambda *_: None, keep_good=False)
            await Copy(source, target, stored, lambda *_: None).run(restart=False)

    company.admin.wait(work())

    held = known(postgres_server, there.database)
    assert held == {AGENTS: MANY_ROWS, CHANGES: MANY_ROWS, DOCUMENTS: UNKNOWN}


async def analyzed(url: str, statement: Bound) -> str:
    """The plan of a statement, with how often each part of it ran."""
    connection = await asyncpg.connect(url)
    try:
        analyze = f"EXPLAIN (ANALYZE, TIMING OFF) {statement}"
        rows = await connection.fetch(analyze, *statement.values)
    finally:
        await connection.close()
    return "\n".join(str(row[0]) for row in rows)


@pytest.mark.parametrize("indexed", [True, False])
def test_a_search_runs_once_in_a_company_that_the_statistics_lack(
    postgres_server: Databases, served: Served, tmp_path: Path, indexed: bool
) -> None:
    """The planner expects one record, but it does not search again for each that there is."""
    url = migrated(postgres_server)
    service = served(url)
    large, small = service.new_company(), service.new_company()
    load(large, tmp_path, MANY_ROWS)
    large.catch_up(AGENTS)
    small.load(AGENTS, *({"code": f"B{number}", "name": "alike"} for number in range(100)))
    if indexed:
        small.catch_up(AGENTS)

    found, statements = statements_of(lambda: small.get(f"{AGENTS}/$count", {"$search": "B7"}))

    assert found.text.lstrip("\ufeff") == "11"
    (search,) = [each for each in statements if DOCUMENTS in each]
    assert isinstance(search, Bound)
    plan = asyncio.run(analyzed(url, search))
    times = re.findall(rf"on (?:{DOCUMENTS}|{CHANGES})\b.* loops=(\d+)", plan)
    assert set(times) == {"1"}, plan
