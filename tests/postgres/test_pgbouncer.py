"""PgBouncer in transaction mode between the service and its server."""

from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.store.migration import migrate
from postgres.conftest import Served
from support.client import record, tag_of
from support.databases import migrated
from support.pgbouncer import pooled
from support.postgres import Databases


def test_many_clients_share_the_connections_of_pgbouncer(
    postgres_server: Databases, served: Served
) -> None:
    with pooled(postgres_server, migrated(postgres_server)) as url:
        service = served(url, statement_cache=0)
        company = service.new_company()
        created = [
            company.build("POST", "campaignsExt", body={"number": f"C-{number}"})
            for number in range(60)
        ]
        assert {each.status_code for each in service.send_all(created)} == {201}

        paths = [f"campaignsExt({each['id']})" for each in company.listed("campaignsExt")]
        read = service.send_all([company.build("GET", path) for path in paths])
        assert {each.status_code for each in read} == {200}
        changed = [
            company.build(
                "PATCH", path, body={"description": "new"}, headers={"If-Match": tag_of(each)}
            )
            for path, each in zip(paths, read, strict=True)
        ]
        assert {each.status_code for each in service.send_all(changed)} == {200}
        numbers = [each.number for each in company.changes()]
        assert numbers == list(range(1, 121))


def test_migrations_and_loads_go_through_pgbouncer(
    postgres_server: Databases, served: Served
) -> None:
    with pooled(postgres_server, postgres_server.new_database()) as url:
        migrate(Settings(database=url, statement_cache=0), MODEL)
        company = served(url, statement_cache=0).new_company()
        company.load("campaignsExt", *[{"number": f"C-{number}"} for number in range(500)])
        changed = [{"number": f"C-{number}", "description": "old"} for number in range(100)]
        company.load("campaignsExt", *changed)
        company.load("campaignsExt", {"number": "C-7", "description": "changed"})
        found = company.listed("campaignsExt", {"$filter": "contains(description,'chang')"})
        assert [each["number"] for each in found] == ["C-7"]
        record(company.get(f"campaignsExt({found[0]['id']})"))
        assert len(company.listed("campaignsExt", {"$filter": "description eq 'old'"})) == 99
