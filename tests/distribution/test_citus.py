"""`comptoir migrate --distribute citus`: its calls of Citus, and its errors.

Without Citus on the machine, a stand-in is tested: a database with the catalog of the extension,
and with a function that records its calls.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from comptoir.catalog import MODEL, read_catalog
from comptoir.errors.refusal import OperatorError
from comptoir.store.postgres.migration import SEQUENTIAL, Placements, check_citus, check_placements
from distribution.own_sets import write_own
from postgres.conftest import on_insert
from support.catalogs import COURIERS
from support.command import Command
from support.databases import FreshDatabase
from support.postgres import ADMINISTRATOR, ROLE, Databases, Postgres, name_of
from support.postgres_proxy import StatementProxy, looks_a_type_up
from support.samples import PATHS, SAMPLES
from support.service import Service
from support.shards import TABLES, tables_of
from support.subjects import added_options

DISTRIBUTE = ("migrate", "--distribute", "citus", "--database")
DONE: Placements = dict.fromkeys(TABLES, (True, 7))

STAND_IN = """
INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
    VALUES (99999, 'citus', 10, 11, false, '12.1-1');
CREATE TABLE pg_dist_partition
    (logicalrelid REGCLASS, partmethod "char", partkey TEXT, colocationid INT);
GRANT SELECT ON pg_dist_partition TO comptoir;
CREATE TABLE calls
    (number SERIAL, name TEXT, distributed_by TEXT, colocated_with TEXT, shard_mode TEXT);
CREATE FUNCTION column_to_column_name(REGCLASS, TEXT) RETURNS TEXT LANGUAGE sql AS 'SELECT $2';
CREATE FUNCTION create_distributed_table
    (name REGCLASS, distribution_column TEXT, colocate_with TEXT) RETURNS VOID
    LANGUAGE sql SECURITY DEFINER AS $$
    INSERT INTO calls (name, distributed_by, colocated_with, shard_mode)
        VALUES ($1, $2, $3, current_setting('citus.multi_shard_modify_mode'));
    INSERT INTO pg_dist_partition VALUES ($1, 'h', $2, 7)
$$
"""


@pytest.fixture
def stand_in(postgres_server: Databases, postgres_url: str) -> str:
    """The URL of an empty database with a stand-in for Citus."""
    postgres_server.administer(STAND_IN, database=name_of(postgres_url))
    return postgres_url


def calls(postgres_server: Databases, url: str) -> list[tuple[object, ...]]:
    """The calls of the stand-in: table, column, the colocated table, and the type."""
    query = "SELECT name, distributed_by, colocated_with, shard_mode FROM calls ORDER BY number"
    return postgres_server.asked(query, name_of(url))


def test_a_database_without_citus_is_refused_without_changes(
    command: Command, postgres_server: Databases, postgres_url: str
) -> None:
    line = command.error(*DISTRIBUTE, postgres_url)
    assert "lacks the extension citus" in line
    assert "CREATE EXTENSION citus in this database" in line
    tables = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"
    assert postgres_server.asked(tables, name_of(postgres_url)) == [(0,)]


def test_a_file_is_refused_and_not_created(command: Command) -> None:
    line = command.error(*DISTRIBUTE, f"sqlite:///{command.database}")
    assert "is a file and cannot be distributed" in line
    assert not command.database.exists()


def test_another_engine_is_refused(command: Command) -> None:
    assert "'mongo' is not 'citus'" in command.error("migrate", "--distribute", "mongo")


def distributed(
    command: Command, postgres_server: Databases, stand_in: str, tables: Sequence[str]
) -> list[tuple[object, ...]]:
    """Distribute all tables by company and colocate them; returns the calls."""
    with StatementProxy(stand_in) as proxy:
        done = command.done(*DISTRIBUTE, proxy.url)

    assert "has schema " in done.out
    assert "its tables are distributed by company_id" in done.err
    first, *others = calls(postgres_server, stand_in)
    assert first == ("companies", "company_id", "none", "sequential")
    assert {(str(name).strip('"'), *how) for name, *how in others} == {
        (table, "company_id", "companies", "sequential") for table in tables if table != "companies"
    }
    run = list(proxy.statements)
    created = [at for at, text in enumerate(run) if text.startswith("CREATE OR REPLACE FUNCTION")]
    assert run.index(SEQUENTIAL) < created[0]
    assert not [text for text in run if looks_a_type_up(text)]
    return [first, *others]


def test_a_later_migration_distributes_only_new_tables(
    command: Command, postgres_server: Databases, stand_in: str, tmp_path: Path
) -> None:
    """The first one distributes those that an own catalog adds to the built-in ones too."""
    file = added_options(tmp_path)
    command.done("catalog", "apply", file, "--database", stand_in)
    assert calls(postgres_server, stand_in) == []
    tables = tables_of(read_catalog(file))
    assert len(tables) > len(TABLES)
    before = distributed(command, postgres_server, stand_in, tables)
    forget = "DELETE FROM pg_dist_partition WHERE logicalrelid = 'repeats'::regclass"

    assert "distributed" not in command.done(*DISTRIBUTE, stand_in).err
    assert calls(postgres_server, stand_in) == before
    for again in (("migrate", "--database"), DISTRIBUTE):
        postgres_server.administer(forget, database=name_of(stand_in))
        assert "distributed by company_id" in command.done(*again, stand_in).err
        before.append(("repeats", "company_id", "companies", "sequential"))
        assert calls(postgres_server, stand_in) == before


def test_a_larger_catalog_distributes_its_new_tables(
    command: Command, postgres_server: Databases, stand_in: str, tmp_path: Path
) -> None:
    before = distributed(command, postgres_server, stand_in, TABLES)
    file = tmp_path / "couriers.toml"
    file.write_text(COURIERS, encoding="utf-8")

    for added in ([("couriers", "company_id", "companies", "sequential")], []):
        command.done("catalog", "apply", file, "--database", stand_in)
        before += added
        assert calls(postgres_server, stand_in) == before
    with Service(lambda *_: stand_in, tmp_path, read_catalog(file)) as service:
        company = service.new_company()
        assert company.post("couriers", {"code": "DHL"}).status_code == 201
        item = {"number": "1000", "displayName": "Chair", "courierCode": "DHL"}
        assert company.post("itemsExt", item).json()["courierCode"] == "DHL"


def test_a_unique_index_without_the_company_is_refused(
    command: Command, postgres_server: Databases, stand_in: str
) -> None:
    command.done("migrate", "--database", stand_in)
    assert calls(postgres_server, stand_in) == [], "a plain migration distributes nothing"
    index = 'CREATE UNIQUE INDEX by_hand ON "itemsExt" (number)'
    postgres_server.administer(index, database=name_of(stand_in))

    ended = command.here(*DISTRIBUTE, stand_in)

    assert ended.status == 1
    # without pg_trgm there is a line before it
    assert "by_hand on the table itemsExt" in ended.err.splitlines()[-1]
    assert calls(postgres_server, stand_in) == []


@pytest.mark.parametrize(
    "placements",
    [{**DONE, "repeats": (False, 7)}, {**DONE, "repeats": (True, 8)}, {"repeats": (True, 7)}],
    ids=["by another column", "apart", "without the companies"],
)
def test_a_table_with_another_distribution_is_refused(placements: Placements) -> None:
    with pytest.raises(OperatorError, match=r"table repeats of x .* undistribute_table"):
        check_placements(placements, "x")


@pytest.mark.parametrize("version", ["10.2", "9.5"])
def test_an_old_version_of_citus_is_refused(version: str) -> None:
    with pytest.raises(OperatorError, match=f"has Citus {version}; 11 or later is needed"):
        check_citus(version, "x")


def test_a_duplicate_on_a_shard_has_the_constraint_of_its_table(
    fresh_postgres: FreshDatabase, tmp_path: Path
) -> None:
    """Citus has the name of the shard's constraint in the message only."""
    url = fresh_postgres(tmp_path, MODEL)
    error = 'duplicate key value violates unique constraint "ux_itemsExt_0_102042"'
    refuse = f"RAISE '{error}' USING ERRCODE = 'unique_violation'"
    with on_insert(url, "itemsExt", refuse), Service(lambda *_: url, tmp_path) as service:
        answer = service.new_company().post("itemsExt", SAMPLES["itemsExt"])
    assert answer.status_code == 409
    assert answer.json()["error"]["target"] == "number"


def test_citus_accepts_the_distribution(
    postgres_server: Databases, command: Command, tmp_path: Path
) -> None:
    available = "SELECT 1 FROM pg_available_extensions WHERE name = 'citus'"
    if not postgres_server.asked(available):
        pytest.skip("Citus is not installed for this PostgreSQL; citusdata.com has packages")
    with Postgres(
        {"shared_preload_libraries": "citus", "max_prepared_transactions": 100}
    ) as server:
        url = server.new_database()
        # the node connects to itself, as its administrator and as the service
        password = server.place.password
        server.administer(
            "CREATE EXTENSION citus",
            f"ALTER ROLE {ADMINISTRATOR} PASSWORD '{password}'",
            *(
                f"INSERT INTO pg_dist_authinfo VALUES (0, '{role}', 'password={password}')"
                for role in (ADMINISTRATOR, ROLE)
            ),
            database=name_of(url),
        )
        for _ in range(2):
            command.done(*DISTRIBUTE, url)
        with Service(lambda *_: url, tmp_path) as service:
            company = service.new_company()
            for resource, sample in SAMPLES.items():
                company.load(resource, sample)
                assert len(company.listed(resource)) == 1
                company.catch_up(resource)
                assert company.get(resource, "$search=desk").status_code == 200
            # a write binds the JSON of the record
            path = PATHS["contactsExt"]
            assert company.patch(path, {"city": "Linz"}, "*").status_code == 200
            assert company.record(path)["city"] == "Linz"
        command.done("catalog", "apply", added_options(tmp_path), "--database", url)
        model = read_catalog(added_options(tmp_path))
        with Service(lambda *_: url, tmp_path, model) as service:
            write_own(service, model)
        tables = "SELECT table_name::TEXT FROM citus_tables WHERE citus_table_type = 'distributed'"
        found = {str(name).strip('"') for (name,) in server.asked(tables, name_of(url))}
        assert found == set(tables_of(model))
        assert re.search(r"has schema \w+", command.done("migrate", "--database", url).out)
