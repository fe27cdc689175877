"""The scripts of the compose file, run unchanged: a primary, a standby, a PgBouncer."""

import asyncio
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest

from comptoir.catalog import MODEL
from comptoir.config import load_settings
from comptoir.store.migration import migrate
from deploy.compose import FOLDER, compose
from support.effort import go_without
from support.ports import LOOPBACK, free_port
from support.postgres import ROLE, Postgres, open_folder
from support.postgres_programs import Programs
from support.programs import needed
from support.service import Service
from support.waiting import until

SECRETS = {name: uuid4().hex for name in ("COMPTOIR_PASSWORD", "STANDBY_PASSWORD")}
WHO = f"{ROLE}:{SECRETS['COMPTOIR_PASSWORD']}"


@pytest.fixture(scope="module")
def primary() -> Iterator[Postgres]:
    """A server on which `primary.sh` has run."""
    with Postgres() as server:
        if not all(server.programs.has(name) for name in ("psql", "pg_basebackup")):
            go_without("psql or pg_basebackup is missing: install the package postgresql")
        server.administer(f"DROP ROLE {ROLE}")
        socket = {"PGHOST": str(server.place.folder), "PGPORT": str(server.port)}
        _run(server.programs, "postgres/primary.sh", {**socket, "PGDATA": str(server.data)})
        server.reload()
        yield server


def _environment(programs: Programs, given: Mapping[str, str]) -> dict[str, str]:
    path = f"{programs.folder}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "LC_ALL": "C", **SECRETS, **given}


def _run(programs: Programs, script: str, given: Mapping[str, str]) -> None:
    subprocess.run(["sh", FOLDER / script], env=_environment(programs, given), check=True)


@contextmanager
def running(
    programs: Programs, script: str, given: Mapping[str, str], *arguments: str
) -> Iterator[None]:
    """A script that keeps running, as the user of PostgreSQL's programs, in its own folder."""
    account = programs.account
    with tempfile.TemporaryDirectory(dir=open_folder(programs)) as made:
        data = Path(made) / "data"
        data.mkdir()
        for path in (Path(made), data):
            programs.own(path)
        own = {"PGDATA": str(data), "TMPDIR": made}
        with (
            (FOLDER / script).open("rb") as text,
            subprocess.Popen(
                # that user cannot enter the folder of the script
                ["sh", "-s", "--", *arguments],
                stdin=text,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=_environment(programs, {**own, **given}),
                cwd=made,
                user=None if account is None else account.uid,
                group=None if account is None else account.gid,
                extra_groups=None if account is None else (),
            ) as process,
        ):
            try:
                yield
            finally:
                process.terminate()


def asked(url: str, query: str) -> list[tuple[object, ...]] | None:
    """The rows of a query; None if the server does not respond, or there are none."""

    async def rows() -> list[tuple[object, ...]]:
        connection = await asyncpg.connect(url, statement_cache_size=0)
        try:
            return [tuple(row) for row in await connection.fetch(query)]
        finally:
            await connection.close()

    try:
        return asyncio.run(rows()) or None
    except (OSError, asyncpg.CannotConnectNowError, asyncpg.UndefinedTableError):
        return None


def test_the_standby_follows_the_primary(primary: Postgres) -> None:
    port = free_port()
    given = {
        "PGHOST": LOOPBACK,
        "PGPORT": str(primary.port),
        "PGUSER": "standby",
        "PGPASSWORD": SECRETS["STANDBY_PASSWORD"],
    }
    own = ("-p", str(port), "-c", "unix_socket_directories=")
    with running(primary.programs, "postgres/standby.sh", given, *own):
        copy = f"postgresql://{WHO}@{LOOPBACK}:{port}/{ROLE}"
        found = until(lambda: asked(copy, "SELECT pg_is_in_recovery()"), "a standby that answers")
        assert found == [(True,)]
        # one transaction, so that the standby never shows the table without the privilege
        primary.administer(
            f"CREATE TABLE copied AS SELECT 1 AS number; GRANT SELECT ON copied TO {ROLE}",
            database=ROLE,
        )
        copied = until(lambda: asked(copy, "SELECT number FROM copied"), "a standby that follows")
        assert copied == [(1,)]
    slots = "SELECT slot_name, active FROM pg_replication_slots"
    assert primary.asked(slots)[0][0] == "standby"


def test_the_hosts_reach_the_database_through_pgbouncer(
    primary: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed("pgbouncer", "pgbouncer")
    port = free_port()
    place = {"PGHOST": LOOPBACK, "PGPORT": str(primary.port), "LISTEN_PORT": str(port)}
    host = compose().services["one"].environment
    url = host["COMPTOIR_DATABASE"].replace("pgbouncer:6432", f"{LOOPBACK}:{port}")
    settings = load_settings({}, {**host, "COMPTOIR_DATABASE": url})
    monkeypatch.setenv("PGPASSWORD", SECRETS["COMPTOIR_PASSWORD"])
    with running(primary.programs, "pgbouncer/start.sh", place):
        whole = url.replace(ROLE, WHO, 1)
        until(lambda: asked(whole, "SELECT 1"), "a PgBouncer that answers")
        migrate(settings, MODEL)
        cache = settings.statement_cache
        with Service(lambda *_: url, tmp_path, statement_cache=cache) as service:
            assert service.origin.get("readyz").status_code == 200
            assert service.new_company().post("campaignsExt", {"number": "1"}).status_code == 201
