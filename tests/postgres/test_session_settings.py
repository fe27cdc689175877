"""Responses do not depend on the settings of the role or the database."""

import asyncio

from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.store.migration import migrate
from comptoir.store.snapshot import open_snapshot
from postgres.conftest import Served
from support.client import record
from support.databases import migrated
from support.event_loop import in_event_loop
from support.postgres import Databases, name_of
from support.stores import opened

UNUSUAL = {
    "standard_conforming_strings": "off",
    "default_transaction_isolation": "serializable",
    "DateStyle": "German, DMY",
    "IntervalStyle": "postgres_verbose",
    "TimeZone": "Pacific/Chatham",
    "client_encoding": "LATIN1",
    "bytea_output": "escape",
    "array_nulls": "off",
    "extra_float_digits": "-15",
}


def test_settings_of_the_database_do_not_affect_responses(
    postgres_server: Databases, served: Served
) -> None:
    url = postgres_server.new_database()
    postgres_server.administer(
        *(
            f'ALTER DATABASE "{name_of(url)}" SET {name} = {value!r}'
            for name, value in UNUSUAL.items()
        )
    )
    migrate(Settings(database=url), MODEL)
    company = served(url).new_company()
    for name in (r"a\%b_ñ", "a%b", "other"):
        record(company.post("contactsExt", {"displayName": name}), 201)

    def found(**options: str) -> list[object]:
        query = {f"${name}": value for name, value in options.items()}
        return [each["displayName"] for each in company.listed("contactsExt", query)]

    assert found(filter=r"contains(displayName,'\%')") == [r"a\%b_ñ"]
    assert found(search='"%B_Ñ"') == [r"a\%b_ñ"]
    assert found(filter="lastModifiedDateTime le now()", orderby="displayName desc") == [
        "other",
        r"a\%b_ñ",
        "a%b",
    ]


@in_event_loop
async def test_a_snapshot_outlasts_the_limit_of_idle_transactions(
    postgres_server: Databases,
) -> None:
    url = await asyncio.to_thread(migrated, postgres_server)
    limit = f'ALTER DATABASE "{name_of(url)}" SET idle_in_transaction_session_timeout = 1'
    async with opened(Settings(database=url)) as store:
        company = await store.create_company("c1", "Company")
        await asyncio.to_thread(postgres_server.administer, limit)
        async with open_snapshot(store) as snapshot:
            await asyncio.to_thread(postgres_server.asked, "SELECT pg_sleep(0.2)")
            assert await snapshot.company(company.id) is not None
