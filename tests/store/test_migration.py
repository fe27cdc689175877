"""Migrations: any schema is upgraded, once, and the records are kept."""

import asyncio
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from threading import Event, Thread

import apsw
import asyncpg
import pytest
from sqlalchemy import Connection, text

from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.errors.refusal import OperatorError
from comptoir.sql.dialects.postgresql.routines import routine_statements, routines_digest
from comptoir.sql.tables import build_tables
from comptoir.store.migration import make_ready, migrate
from comptoir.store.postgres import migration
from comptoir.store.postgres.migration import LOCK
from comptoir.store.schema import HEAD, SERVES, TEXT_INDEX
from comptoir.store.sqlite.connection import database_path
from comptoir.store.urls import is_postgres, redacted
from conftest import stock
from support.command import Command
from support.databases import FreshDatabase, differences, in_database, run_sql
from support.earlier import set_back
from support.postgres import Databases, name_of
from support.refusals import refusal
from support.samples import SAMPLES
from support.service import Service
from support.specimen import SPECIMENS, WITH_SPECIMENS

COMPANY = "c0ffee00-0000-4000-8000-000000000001"
CONTACT = "c0ffee00-0000-4000-8000-000000000002"
AT = "2024-02-29T12:00:00.000Z"


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database, SQLite and PostgreSQL."""
    if request.param == "postgresql":
        url: str = request.getfixturevalue("postgres_url")
        return url
    return f"sqlite:///{tmp_path / 'test.db'}"


@pytest.fixture
def current(fresh_database: FreshDatabase, tmp_path: Path) -> str:
    """The URL of a database with the current schema, SQLite and PostgreSQL."""
    return fresh_database(tmp_path, MODEL)


@pytest.fixture
def current_postgres(fresh_postgres: FreshDatabase, tmp_path: Path) -> str:
    """The URL of a database with the current schema, on PostgreSQL."""
    return fresh_postgres(tmp_path, MODEL)


def brought_back(url: str, revision: str) -> None:
    """Give a database with the current schema that of an earlier revision."""
    in_database(url, partial(set_back, revision=revision))


def migrated(url: str) -> tuple[str, list[str]]:
    """Migrate: the revision, and the reports of a server with pg_trgm."""
    head, notices = noticed(url)
    return head, with_trigrams(notices)


def noticed(url: str) -> tuple[str, list[str]]:
    """Migrate: the revision, and all reports."""
    notices: list[str] = []
    return migrate(Settings(database=url), MODEL, notices.append), notices


def with_trigrams(notices: Iterable[str]) -> list[str]:
    """The reports without the one about pg_trgm, which not every build of PostgreSQL has."""
    return [each for each in notices if "pg_trgm is not available" not in each]


def run(url: str, *statements: str) -> None:
    for each in statements:
        run_sql(url, each)


def insert(connection: Connection, table: str, given: Mapping[str, object]) -> None:
    columns = ", ".join(f'"{name}"' for name in given)
    places = ", ".join(f":{name}" for name in given)
    connection.execute(text(f'INSERT INTO "{table}" ({columns}) VALUES ({places})'), given)


def fill(connection: Connection) -> None:
    """A company with a contact, as written by the first release."""
    own, columns = {"company_id": COMPANY}, MODEL.by_name["contactsExt"].type.properties
    names = {"name": "Acme", "displayName": "Acme", "lastModifiedDateTime": AT}
    state = {"record_version": 0, "incarnation": "0badcafe", "change_number": 1, "changed_at": AT}
    insert(connection, "companies", {**own, **names, **state})
    empty = {each.name: each.type.default for each in columns}
    contact = {"id": CONTACT, "number": "K1", "displayName": "Zoë Ångström"}
    version = {"record_version": 1, "lastModifiedDateTime": AT}
    insert(connection, "contactsExt", {**own, **empty, **contact, **version})
    change = {"number": 1, "entity_set": "contactsExt", "record": CONTACT, "verb": "create"}
    insert(connection, "changes", {**own, **change, "at": AT, "by": "tests"})


def use(url: str, folder: Path) -> None:
    """Read, search, update and create records by the service."""
    with Service(lambda *_: url, folder) as service:
        contacts = f"companies({COMPANY})/contactsExt"
        path = f"{contacts}({CONTACT})"
        held = service.client.record(path)
        assert (held["displayName"], held["privacyBlocked"]) == ("Zoë Ångström", False)
        assert held["lastModifiedDateTime"] == AT
        changed = service.client.patch(path, {"city": "Bonn"}, str(held["@odata.etag"]))
        assert changed.status_code == 200, changed.text
        made = service.client.post(contacts, {"displayName": "Ada"})
        assert made.status_code == 201, made.text
        assert [each["city"] for each in service.client.listed(contacts, "$search=ÅNGST")] == [
            "Bonn"
        ]


def test_a_database_of_the_first_schema_keeps_its_records(current: str, tmp_path: Path) -> None:
    brought_back(current, "0001")
    in_database(current, fill)
    assert migrated(current) == (HEAD, [])
    use(current, tmp_path)


APART = ("0001", "0005", "0006", "0011", "0013", HEAD)
"""Revisions that lack all, indexes, JSON, a column, what was added last, and nothing."""


def schema_of(url: str) -> Sequence[object]:
    """The columns of all tables, in any order, and the statements of all indexes."""
    if is_postgres(url):
        columns = (
            "table_name, column_name, data_type, collation_name, is_nullable"
            " FROM information_schema.columns WHERE table_schema = 'public'"
        )
        indexes = "indexdef, '' FROM pg_indexes WHERE schemaname = 'public'"
    else:
        columns = (
            """held.name, own.name, own.type, own."notnull", own.pk"""
            " FROM sqlite_schema AS held, pragma_table_info(held.name) AS own"
        )
        indexes = "name, sql FROM sqlite_schema WHERE type = 'index'"
    return [sorted(map(repr, run_sql(url, f"SELECT {each}"))) for each in (columns, indexes)]


def test_every_revision_can_be_upgraded(empty: str, request: pytest.FixtureRequest) -> None:
    """Copies of a database that is set back to them; on a server some, only by `migrate`."""
    migrated(empty)
    assert differences(empty, MODEL) == []
    assert f"'{SPECIMENS.name}'" in str(differences(empty, WITH_SPECIMENS))
    expected = schema_of(empty)
    server = request.getfixturevalue("postgres_server") if is_postgres(empty) else None
    for revision in APART if server else SERVES:
        copy = f"{empty}.{revision}"
        if server:
            copy = server.new_database(empty)
        else:
            shutil.copy(database_path(empty), database_path(copy))
        brought_back(copy, revision)
        assert run_sql(copy, "SELECT version_num FROM alembic_version") == [(revision,)]
        if server and revision != HEAD:
            with pytest.raises(OperatorError, match=f"has schema {revision}, and"):
                make_ready(Settings(database=copy), MODEL)
        assert migrated(copy)[0] == HEAD
        assert schema_of(copy) == expected
        assert run_sql(copy, "SELECT * FROM control") == [(1,)]
        make_ready(Settings(database=copy), MODEL)


def renumber(url: str, revision: str, serves: str) -> None:
    """Turn a schema into one that this program does not know."""
    run(
        url,
        f"UPDATE alembic_version SET version_num = '{revision}'",
        f"UPDATE schema_state SET value = '{revision}' WHERE name = 'revision'",
        f"UPDATE schema_state SET value = '{serves}' WHERE name = 'serves'",
    )


def test_a_newer_schema_that_serves_this_program_is_used_unchanged(
    current: str, tmp_path: Path
) -> None:
    """During a rolling upgrade, earlier programs work with the expanded schema."""
    in_database(current, fill)
    run(
        current,
        """ALTER TABLE "contactsExt" ADD COLUMN since VARCHAR NOT NULL DEFAULT '0001-01-01'""",
        "ALTER TABLE changes ADD COLUMN reason VARCHAR",
        "CREATE TABLE vendors (company_id VARCHAR PRIMARY KEY)",
    )
    renumber(current, "9999", serves=HEAD)
    assert migrated(current) == ("9999", [])
    make_ready(Settings(database=current), MODEL)
    use(current, tmp_path)


def test_a_newer_schema_that_does_not_serve_this_program_is_refused(current: str) -> None:
    """Also after an upgrade without `migrate`, which does not record what it serves."""
    run(current, "UPDATE alembic_version SET version_num = '9999'")
    for serves in ("", "9998", "9999"):
        if serves:
            renumber(current, "9999", serves)
        for work in (migrate, make_ready):
            with pytest.raises(OperatorError, match="has schema 9999, which is newer"):
                work(Settings(database=current), MODEL)


def test_migration_again_writes_nothing(current_postgres: str) -> None:
    run(
        current_postgres,
        f"ALTER DATABASE {name_of(current_postgres)} SET default_transaction_read_only = on",
    )
    assert migrated(current_postgres) == (HEAD, [])


def test_routines_are_built_only_to_be_installed(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To build them takes more CPU time than the rest of a migration that changes nothing."""
    built: list[None] = []

    def counted() -> tuple[str, ...]:
        built.append(None)
        return routine_statements()

    monkeypatch.setattr(migration, "routine_statements", counted)
    migrated(postgres_url)
    migrated(postgres_url)
    assert len(built) == 1
    # as after a release with other routines, or on another version of Python
    run(postgres_url, "UPDATE schema_state SET value = 'other' WHERE name = 'routines'")
    make_ready(Settings(database=postgres_url), MODEL)
    migrated(postgres_url)
    assert len(built) == 2
    routines = "SELECT value FROM schema_state WHERE name = 'routines'"
    assert run_sql(postgres_url, routines) == [(routines_digest(HEAD),)]


def test_a_service_waits_until_its_database_has_the_schema(
    postgres_url: str, tmp_path: Path
) -> None:
    """And refuses requests on a newer one."""
    with Service(lambda *_: postgres_url, tmp_path) as service:
        refused(service, "Internal_DatabaseNotReady")
        migrated(postgres_url)
        assert service.client.listed("companies") == []
    renumber(postgres_url, "9999", serves="9999")
    with Service(lambda *_: postgres_url, tmp_path) as service:
        refused(service, "Internal_DatabaseNotReady")


def refused(service: Service, code: str) -> None:
    """Readiness and concurrent requests return 503 with `Retry-After`."""
    assert service.origin.get("readyz").status_code == 503
    several = [service.client.build("GET", "companies") for _ in range(5)]
    for answer in service.send_all(several):
        refusal(answer, code)
        assert int(answer.headers["Retry-After"]) > 0


def test_three_processes_migrate_an_empty_database_at_once(empty: str, tmp_path: Path) -> None:
    migrated_by_three(empty, tmp_path)


def test_three_processes_upgrade_a_database_at_once(current: str, tmp_path: Path) -> None:
    brought_back(current, "0006")
    in_database(current, fill)
    migrated_by_three(current, tmp_path)
    use(current, tmp_path)


def migrated_by_three(url: str, folder: Path) -> None:
    with ExitStack() as stack:
        migrating = Command(folder, url).started
        started = [stack.enter_context(migrating("migrate")) for _ in range(3)]
        done = [each.stdout.read().decode() for each in started]
        lines = [line.decode().rstrip() for each in started for line in each.stderr]
        assert [each.wait() for each in started] == [0] * 3, lines
    assert done == [f"{redacted(url)} has schema {HEAD}.\n"] * 3
    assert set(with_trigrams(lines)) <= {
        f"{redacted(url)}: another process is migrating it. Waiting until it ends."
    }


def test_a_file_in_use_is_migrated(fresh_sqlite: FreshDatabase, tmp_path: Path) -> None:
    """A service of an earlier release keeps its file open, and goes on writing to it."""
    url = fresh_sqlite(tmp_path, MODEL)
    brought_back(url, "0006")
    in_database(url, fill)
    with closing(apsw.Connection(str(database_path(url)))) as other:
        other.execute("PRAGMA journal_mode=wal")
        other.execute("SELECT * FROM companies").fetchall()
        assert migrated(url)[0] == HEAD
        other.execute("UPDATE \"contactsExt\" SET city = 'Bonn'")
    assert run_sql(url, 'SELECT city FROM "contactsExt"') == [("Bonn",)]


def test_records_of_an_earlier_schema_keep_their_values_and_tags(
    current: str, fresh_sqlite: FreshDatabase, tmp_path: Path
) -> None:
    folder = tmp_path / "source"
    folder.mkdir()
    with Service(fresh_sqlite, folder) as service:
        company = stock(service.new_company())
        expected = {name: company.get(name).json() for name in SAMPLES}
    brought_back(current, "0006")
    rows: list[tuple[str, Mapping[str, object]]] = []
    for name, table in build_tables(MODEL).metadata.tables.items():
        columns = [column.name for column in table.columns if not column.nullable]
        listed = ", ".join(f'"{column}"' for column in columns)
        found = run_sql(service.settings.database, f'SELECT {listed} FROM "{name}"')
        rows += [(name, dict(zip(columns, row, strict=True))) for row in found]

    def insert_all(connection: Connection) -> None:
        for name, row in rows:
            insert(connection, name, row)

    in_database(current, insert_all)
    migrated(current)
    with Service(lambda *_: current, tmp_path) as service:
        for name, records in expected.items():
            assert service.client.get(f"companies({company.id})/{name}").json() == records


def test_a_migration_reports_that_it_waits_for_another(current_postgres: str) -> None:
    assert reported_beside(current_postgres, f"SELECT pg_advisory_lock({LOCK})") == [
        f"{redacted(current_postgres)}: another process is migrating it. Waiting until it ends."
    ]


def test_a_migration_releases_locks_while_it_waits_and_reports_it(current_postgres: str) -> None:
    brought_back(current_postgres, "0003")
    statement = "BEGIN; LOCK TABLE alembic_version IN ACCESS EXCLUSIVE MODE"
    first, *_ = reported_beside(current_postgres, statement)
    needed = (
        "other transactions hold locks that the migration needs (the oldest transaction: process"
    )
    assert needed in first
    assert first.endswith(" Trying again.")


def reported_beside(url: str, statement: str) -> list[str]:
    """The reports of a migration that waits for a lock; the first report releases the lock."""
    reports: list[str] = []
    released, held = Event(), Event()

    async def hold() -> None:
        connection = await asyncpg.connect(url)
        await connection.execute(statement)
        held.set()
        await asyncio.to_thread(released.wait)
        await connection.close()

    def tell(line: str) -> None:
        reports.append(line)
        released.set()

    thread = Thread(target=lambda: asyncio.run(hold()))
    thread.start()
    held.wait()
    try:
        assert migrate(Settings(database=url, lock_seconds=0.1), MODEL, tell) == HEAD
    finally:
        released.set()
        thread.join()
    return with_trigrams(reports)


def test_searches_work_without_the_extension_of_the_text_index(
    postgres_url: str, postgres_server: Databases
) -> None:
    name = name_of(postgres_url)
    if not postgres_server.asked("SELECT FROM pg_available_extensions WHERE name = 'pg_trgm'"):
        assert "pg_trgm is not available" in noticed(postgres_url)[1][0]
        return
    postgres_server.administer(
        f"ALTER DATABASE {name} OWNER TO postgres", f"REVOKE CREATE ON DATABASE {name} FROM PUBLIC"
    )
    postgres_server.administer("GRANT CREATE ON SCHEMA public TO comptoir", database=name)
    head, (line,) = noticed(postgres_url)
    assert head == HEAD
    assert "searches read all texts, because the extension pg_trgm is not available" in line
    index = f"SELECT FROM pg_indexes WHERE indexname = '{TEXT_INDEX}'"
    assert postgres_server.asked(index, name) == []

    postgres_server.administer("CREATE EXTENSION pg_trgm", database=name)
    assert noticed(postgres_url)[1] == []
    assert len(postgres_server.asked(index, name)) == 1


def test_texts_compare_by_code_point_and_numbers_are_wide(
    current_postgres: str, postgres_server: Databases
) -> None:
    columns = postgres_server.asked(
        "SELECT DISTINCT data_type, collation_name FROM information_schema.columns"
        " WHERE table_schema = 'public' AND table_name <> 'alembic_version'",
        name_of(current_postgres),
    )
    assert {(str(kind), collation) for kind, collation in columns} == {
        ("bigint", None),
        ("text", "C"),
        ("character varying", "C"),
        ("bytea", None),
    }
