"""The database on a PostgreSQL server: dumped and restored by PostgreSQL's own programs."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from subprocess import PIPE, Popen
from tempfile import TemporaryFile
from typing import IO, TypeVar
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from comptoir.cli.runner import model_of
from comptoir.config import Settings
from comptoir.errors.refusal import OperatorError
from comptoir.features.backup import errors as problems
from comptoir.features.backup.archive import (
    COMPANIES,
    DATABASE,
    REVISION,
    Archive,
    CompanyState,
    Meter,
    Writing,
    chunks_of,
)
from comptoir.store.migration import migrate
from comptoir.store.postgres.connection import Connection, check_url, connected
from comptoir.store.urls import redacted

_OTHERS = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
)
_IS_THERE = "SELECT to_regclass('alembic_version') IS NOT NULL"
_OBJECTS = (
    "SELECT 'TABLE ' || oid::regclass FROM pg_class"
    " WHERE relkind IN ('r', 'p') AND relnamespace = current_schema()::regnamespace"
    " UNION ALL SELECT 'ROUTINE ' || oid::regprocedure FROM pg_proc"
    " WHERE pronamespace = current_schema()::regnamespace AND NOT EXISTS"
    " (SELECT FROM pg_depend WHERE objid = pg_proc.oid AND deptype = 'e')"
)
"""What a replaced database has, without what belongs to extensions."""
_END = b"""
RESET search_path;
UPDATE companies SET incarnation = left(md5(gen_random_uuid()::text), 8);
ANALYZE;
COMMIT;
"""
_MOST_SAID = 2_000
"""The most bytes that are repeated of what a program says."""

T = TypeVar("T")


class Server:
    """Implements `Engine`."""

    name = "PostgreSQL"

    def __init__(self, settings: Settings) -> None:
        check_url(settings.database)
        self._settings = settings
        self._objects: Sequence[str] = ()

    def back_up(self, writing: Writing, meter: Meter) -> tuple[str, Sequence[CompanyState]]:
        """Add a dump in the custom format, of what the companies are read from."""

        def dump(snapshot: str) -> None:
            options = ("--format=custom", "--compress=0", "--exclude-schema=replaced-*")
            with self._run("pg_dump", *options, f"--snapshot={snapshot}") as process:
                writing.add(DATABASE, meter.counted(chunks_of(_pipe(process.stdout))))

        async def read(connection: Connection) -> tuple[str, Sequence[CompanyState]]:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                revision = await connection.fetchval(REVISION)
                companies = await _companies(connection)
                snapshot = await connection.fetchval("SELECT pg_export_snapshot()")
                await asyncio.to_thread(dump, snapshot)
            return revision, companies

        return self._ask(read)

    def present(self) -> Sequence[CompanyState] | None:
        """The companies of the database."""

        async def read(connection: Connection) -> Sequence[CompanyState] | None:
            if not await connection.fetchval(_IS_THERE):
                return None
            self._objects = [each for (each,) in await connection.fetch(_OBJECTS)]
            if others := await connection.fetchval(_OTHERS):
                raise problems.IN_USE(
                    url=redacted(self._settings.database), reason=f"sessions: {others}"
                )
            return await _companies(connection)

        return self._ask(read)

    def restore(self, archive: Archive, meter: Meter, suffix: str) -> None:
        """Run one transaction: move what is there into another schema, restore, and renew."""
        # a service may have started meanwhile
        self.present()
        beginning = ["BEGIN", *[f'CREATE SCHEMA "{suffix}"'] * bool(self._objects)]
        beginning += [f'ALTER {each} SET SCHEMA "{suffix}"' for each in self._objects]
        # its output goes nowhere, because nobody reads the pipe
        quiet = ("--no-psqlrc", "--quiet", "--output=/dev/null", "--set=ON_ERROR_STOP=1")
        with self._run("psql", *quiet) as client:
            script = _pipe(client.stdin)
            script.write(";\n".join([*beginning, ""]).encode())
            script.flush()
            options = ("--no-owner", "--no-privileges", "--no-comments", "--file=-")
            with _running(["pg_restore", *options], os.environ, script) as process:
                _pipe(process.stdin).writelines(archive.database(meter))
            # without this end, as after an interrupt, psql rolls back
            script.write(_END)
        migrate(self._settings, model_of(self._settings))

    def _run(self, program: str, *options: str) -> AbstractContextManager[Popen[bytes]]:
        """Run a program on the database, with the password in its environment only."""
        url, password = _without_password(self._settings.database)
        environment = {**os.environ, **({"PGPASSWORD": password} if password else {})}
        return _running([program, *options, f"--dbname={url}"], environment)

    def _ask(self, question: Callable[[Connection], Awaitable[T]]) -> T:
        async def asking() -> T:
            async with connected(self._settings, self._settings.database) as connection:
                return await question(connection)

        return asyncio.run(asking())


def _without_password(url: str) -> tuple[str, str]:
    """A URL without its password, and the password."""
    parts = urlsplit(url)
    login, at, hosts = parts.netloc.rpartition("@")
    user, _, password = login.partition(":")
    options = dict(parse_qsl(parts.query))
    found = options.pop("password", unquote(password))
    return urlunsplit(parts._replace(netloc=f"{user}{at}{hosts}", query=urlencode(options))), found


@contextmanager
def _running(
    command: Sequence[str], environment: Mapping[str, str], stdout: IO[bytes] | int = PIPE
) -> Iterator[Popen[bytes]]:
    """A program that runs for a block; raises `OperatorError` with what it says if it fails."""
    program, failure = command[0], None
    with TemporaryFile() as messages:
        try:
            process = Popen(command, stdin=PIPE, stdout=stdout, stderr=messages, env=environment)  # noqa: S603 - its options have no text of clients
        except FileNotFoundError:
            raise problems.NO_PROGRAM(program=program) from None
        try:
            with process:
                yield process
        except (BrokenPipeError, OperatorError) as error:
            failure = error
        messages.seek(0)
        said = messages.read(_MOST_SAID).decode(errors="replace").strip()
        if process.returncode and (said or not failure):
            raise problems.PROGRAM_FAILED(program=program, reason=said or process.returncode)
        if failure:
            raise failure


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise TypeError("the program has no such pipe")
    return stream


async def _companies(connection: Connection) -> list[CompanyState]:
    return [CompanyState(*row) for row in await connection.fetch(COMPANIES)]
