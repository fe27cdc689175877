"""Loads on PostgreSQL: few statements, no additional privileges, concurrent writes."""

import asyncio
from pathlib import Path

from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.features.transfer.files import FileSource
from comptoir.features.transfer.load import load_source
from comptoir.response.response import Response
from comptoir.service import Service
from postgres.conftest import Served
from support.companies import Company, Row
from support.databases import migrated
from support.direct import request_of
from support.postgres import ROLE, Databases, name_of
from support.statements import traced
from support.stores import opened

FIRMS = 10
AGENTS = "shippingAgentsExt"


def agents(count: int, name: str) -> list[Row]:
    return [{"code": f"A{number}", "name": f"{name} {number}"} for number in range(count)]


def persons(first: int, count: int, city: str) -> list[Row]:
    return [
        {
            "number": f"P{number}",
            "displayName": "Person",
            "companyNumber": f"F{number % FIRMS}",
            "city": city,
        }
        for number in range(first, first + count)
    ]


def statements_of(company: Company, resource: str, rows: list[Row]) -> int:
    """The number of statements of a load."""
    with traced() as statements:
        company.load(resource, *rows)
    return len(statements)


def test_the_number_of_statements_of_a_load_does_not_grow_with_its_rows(company: Company) -> None:
    firms: list[Row] = [
        {"number": f"F{number}", "type": "Company", "displayName": f"Firm {number}"}
        for number in range(FIRMS)
    ]
    company.load("contactsExt", *firms)

    for city in ("", "Bonn"):
        few = statements_of(company, "contactsExt", persons(0, 60, city))
        assert statements_of(company, "contactsExt", persons(60, 500, city)) <= few
    found = company.listed("contactsExt", {"$filter": "city eq 'Bonn'"})
    assert len(found) == 560
    assert {(each["companyNumber"], each["companyName"]) for each in found} == {
        (f"F{number}", f"Firm {number}") for number in range(FIRMS)
    }


def test_rows_that_change_in_different_columns_share_statements(company: Company) -> None:
    def units(count: int, text: str) -> list[Row]:
        """Units of measure; every other one has the text as its name, the rest as their code."""
        columns = ("displayName", "internationalStandardCode")
        return [
            {
                "code": f"U{at}",
                "displayName": "",
                "internationalStandardCode": "",
                columns[at % 2]: text,
            }
            for at in range(count)
        ]

    company.load("unitsOfMeasureExt", *units(500, "A"))

    few = statements_of(company, "unitsOfMeasureExt", units(100, "B"))
    assert statements_of(company, "unitsOfMeasureExt", units(500, "C")) <= few


def test_a_load_needs_no_privilege_to_create_temporary_tables(
    postgres_server: Databases, served: Served
) -> None:
    url = migrated(postgres_server)
    postgres_server.administer(f'REVOKE TEMPORARY ON DATABASE "{name_of(url)}" FROM PUBLIC, {ROLE}')
    may = f"SELECT has_database_privilege('{ROLE}', '{name_of(url)}', 'TEMPORARY')"
    assert postgres_server.asked(may) == [(False,)]
    company = served(url).new_company()

    company.load(AGENTS, *agents(200, "before"))
    company.load(AGENTS, *agents(200, "after"))

    names = {each["name"] for each in company.listed(AGENTS)}
    assert names == {f"after {number}" for number in range(200)}


def test_a_write_waits_for_one_unit_of_a_load_only(company: Company, tmp_path: Path) -> None:
    path = tmp_path / f"{AGENTS}.csv"
    rows = 20_000
    path.write_text("code\n" + "".join(f"A{number}\n" for number in range(rows)))

    answer = company.admin.wait(written_beside(company, company.admin.settings, path))

    assert answer.status == 201
    changes = company.changes()
    assert len(changes) == rows + 1
    assert changes[-1].entity_set == AGENTS


async def written_beside(company: Company, settings: Settings, path: Path) -> Response:
    """Load a file, and write on other connections when the first unit is stored."""
    written: list[asyncio.Task[Response]] = []

    def begin(stage: str, *_: int) -> None:
        if stage.startswith("writing") and not written:
            item = request_of(company, "POST", "itemsExt", {"number": "I1"})
            written.append(asyncio.ensure_future(service.handle(item)))

    agents, source = MODEL.by_name[AGENTS], FileSource(path)
    async with opened(settings) as loading, opened(settings) as serving:
        service = Service(MODEL, serving, settings)
        await load_source(loading, company.stored, source, agents, begin, keep_good=False)
        return await written[0]
