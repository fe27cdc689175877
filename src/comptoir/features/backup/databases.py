"""The two databases that are backed up: a file, copied while it is in use, and a server.

PostgreSQL's own programs dump and restore what is on the server.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from subprocess import PIPE, Popen
from tempfile import TemporaryFile
from typing import IO, TypeVar
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

import apsw
from msgspec.structs import replace

from comptoir.auth.keys import create_private
from comptoir.cli.runner import model_of, need_database
from comptoir.config import Settings
from comptoir.errors.refusal import OperatorError
from comptoir.features.backup import errors as problems
from comptoir.features.backup.archive import (
    DATABASE,
    Archive,
    CompanyState,
    Meter,
    Writing,
    chunks_of,
    locked,
    private_file,
)
from comptoir.store.migration import migrate
from comptoir.store.postgres.connection import Connection, check_url, connected
from comptoir.store.sqlite.connection import (
    PAGE_BYTES,
    cannot_open,
    connect,
    database_path,
    is_busy,
)
from comptoir.store.urls import SQLITE, redacted

COMPANIES = "SELECT company_id, name, incarnation, change_number, changed_at FROM companies"
REVISION = "SELECT version_num FROM alembic_version"

PAGES = 256
"""The pages that are copied at a time."""

_RENEW = "UPDATE companies SET incarnation = lower(hex(randomblob(4)))"
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


class SqliteFile:
    """The database of the settings, in a file."""

    name = "SQLite"

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._path = database_path(settings.database)

    def back_up(self, writing: Writing, meter: Meter) -> tuple[str, Sequence[CompanyState]]:
        """Add the database as it is at one moment; returns its revision and its companies."""
        path, seconds = self._path, self._settings.lock_seconds
        # read twice: the copy is compressed
        meter.expected = 2 * path.stat().st_size
        with _drafted(writing.path.with_name(".comptoir-backup.db")) as draft:
            try:
                with (
                    closing(connect(path, writes=False, lock_seconds=seconds)) as source,
                    closing(apsw.Connection(str(draft))) as copy,
                ):
                    # else each write of others would begin the copy again
                    source.execute("BEGIN")
                    source.execute("SELECT count(*) FROM sqlite_master").fetchall()
                    with copy.backup("main", source, "main") as pages:
                        while not pages.done:
                            pages.step(PAGES)
                            meter.add(PAGES * PAGE_BYTES)
                    ((revision,),) = copy.execute(REVISION).fetchall()
                    companies = _companies_in(copy)
            except apsw.Error as error:
                raise cannot_open(draft, error) from error
            with draft.open("rb") as file:
                writing.add(DATABASE, meter.counted(chunks_of(file)))
        return str(revision), companies

    def present(self) -> Sequence[CompanyState] | None:
        """The companies that the place has, none if they cannot be read; None without a database.

        Raises `OperatorError` if others use the database.
        """
        if not self._path.exists():
            # SQLite would delete a log without its file
            return () if any(map(Path.exists, _files(self._path))) else None
        try:
            with closing(apsw.Connection(str(self._path))) as connection:
                # refused while another connection is open
                connection.execute("PRAGMA journal_mode=DELETE")
                return _companies_in(connection)
        except apsw.Error as error:
            if is_busy(error):
                raise problems.IN_USE(url=self._settings.database, reason=error) from None
            return ()

    def restore(self, archive: Archive, meter: Meter, suffix: str) -> None:
        """Put the database of a backup in its place, with new incarnations of all companies.

        What is there gets the suffix to its name. Until the end, nothing has changed.
        """
        # a link stays: it may lead to a disk with more room
        place = self._path.resolve()
        folder = place.parent
        try:
            create_private(folder)
            with locked(folder), _drafted(place.with_name(f".{place.name}.restored")) as draft:
                with draft.open("r+b") as file:
                    file.writelines(archive.database(meter))
                with closing(apsw.Connection(str(draft))) as connection:
                    connection.execute(_RENEW)
                need_database(replace(self._settings, database=f"{SQLITE}{draft}"))
                # a service may have started meanwhile
                self.present()
                database, *logs = _files(place)
                # a log that a lost file has left would be applied to the new one
                for each in filter(Path.exists, logs):
                    each.rename(f"{each}.{suffix}")
                # the place is never without a file
                with suppress(FileNotFoundError):
                    os.link(database, f"{database}.{suffix}")
                draft.replace(database)
        except OSError as error:
            raise problems.CANNOT_WRITE(path=place, reason=error.strerror) from error
        except apsw.Error as error:
            raise cannot_open(place, error) from error


@contextmanager
def _drafted(path: Path) -> Iterator[Path]:
    """A new private file, which is removed at the end, with those that SQLite has beside it."""
    # also what was left by a command that was killed
    for each in _files(path):
        each.unlink(missing_ok=True)
    try:
        with private_file(path):
            pass
        yield path
    finally:
        for each in _files(path):
            each.unlink(missing_ok=True)


def _files(path: Path) -> list[Path]:
    """A database, and the files that SQLite may have beside it."""
    return [path.with_name(f"{path.name}{suffix}") for suffix in ("", "-journal", "-wal", "-shm")]


def _companies_in(connection: apsw.Connection) -> list[CompanyState]:
    return [CompanyState(*row) for row in connection.execute(COMPANIES)]


class Server:
    """The database of the settings on a server; its methods are those of `SqliteFile`."""

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
                companies = await _companies_on(connection)
                snapshot = await connection.fetchval("SELECT pg_export_snapshot()")
                await asyncio.to_thread(dump, snapshot)
            return revision, companies

        return self._ask(read)

    def present(self) -> Sequence[CompanyState] | None:
        """The companies that the database has, None if it is empty."""

        async def read(connection: Connection) -> Sequence[CompanyState] | None:
            if not await connection.fetchval(_IS_THERE):
                return None
            self._objects = [each for (each,) in await connection.fetch(_OBJECTS)]
            if others := await connection.fetchval(_OTHERS):
                raise problems.IN_USE(
                    url=redacted(self._settings.database), reason=f"sessions: {others}"
                )
            return await _companies_on(connection)

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


async def _companies_on(connection: Connection) -> list[CompanyState]:
    return [CompanyState(*row) for row in await connection.fetch(COMPANIES)]
