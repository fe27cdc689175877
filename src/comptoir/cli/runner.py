"""Run the work of a command on a database: open it, show progress, end after an interrupt."""

import asyncio
import logging
import os
import pwd
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import TypeVar

import click
import msgspec

from comptoir import __version__
from comptoir.app import open_store
from comptoir.auth.audit import Actor
from comptoir.auth.keys import drafted
from comptoir.catalog import MODEL, accepted_model, read_catalog
from comptoir.cli.interrupt import Interrupted
from comptoir.cli.options import settings_options
from comptoir.config import Settings
from comptoir.edm.model import Company, Model
from comptoir.errors import operator_rows as problems
from comptoir.errors.messages import time_text
from comptoir.errors.refusal import OperatorError, Refusal
from comptoir.errors.table import UNAVAILABLE
from comptoir.store.growth import is_earlier
from comptoir.store.migration import accepted_catalog, make_ready
from comptoir.store.schema import Report
from comptoir.store.snapshot import ShowProgress
from comptoir.store.sqlite.connection import database_path
from comptoir.store.store import Store
from comptoir.store.urls import is_postgres, redacted

WARNINGS = "comptoir.warnings"
"""The key of a command's warnings in `click.Context.meta`."""

T = TypeVar("T")


def store_command(command: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Pass the open store of the database to a command, which has the options to name it."""

    @settings_options("database")
    @wraps(command)
    def opening(settings: Settings, **given: object) -> None:
        use_store(settings, lambda store: command(store, **given))

    return opening


def use_store(
    settings: Settings,
    work: Callable[[Store], Awaitable[T]],
    model: Model | None = None,
    *,
    resumes: bool = False,
    is_ready: bool = True,
) -> T:
    """Run a coroutine with the open store of the settings, as `run` does.

    Without a model, this calls `need_database`, which returns that of the database.
    """
    known = model or need_database(settings)

    async def opening() -> T:
        async with opened(settings, known, is_ready=is_ready) as store:
            return await work(store)

    return run(opening, resumes=resumes)


def model_of(settings: Settings, tell: Report | None = None) -> Model:
    """The model of the catalog that the settings name, of the database, or of the interface.

    A database with a later catalog than that of the settings keeps it; `tell`, by default `warn`,
    says so. Raises `OperatorError` for a catalog with faults, and if the database cannot be read.
    """
    name, accepted = redacted(settings.database), accepted_catalog(settings)
    if settings.catalog:
        wanted = read_catalog(Path(settings.catalog))
        if accepted is None or not is_earlier(wanted.source, accepted):
            return wanted
        (tell or warn)(f"{name} has a later catalog than {settings.catalog}, which is used.")
    return MODEL if accepted is None else accepted_model(name, accepted)


def need_database(settings: Settings) -> Model:
    """Bring an existing database up to date; raises `OperatorError` if there is none.

    A misspelled name therefore does not create an empty database. Returns its model.
    """
    need_file(settings)
    return ready_model(settings)


def ready_model(settings: Settings) -> Model:
    """Bring the database up to date, and create it if it is a file; returns its model."""
    model = model_of(settings)
    make_ready(settings, model)
    return model


def need_file(settings: Settings) -> None:
    """Raise `OperatorError` if the database is a file that does not exist."""
    if not is_postgres(settings.database) and not database_path(settings.database).exists():
        raise problems.NO_DATABASE(path=database_path(settings.database))


@asynccontextmanager
async def opened(
    settings: Settings, model: Model, *, is_ready: bool = True
) -> AsyncIterator[Store]:
    """The store of the settings, closed at the end; `is_ready` as in `open_store`.

    If the database fails, the `Refusal` becomes an `OperatorError` with the database's message,
    which a service would write to its log.
    """
    logged = _LastMessage()
    log = logging.getLogger("comptoir")
    log.addHandler(logged)
    log.propagate = False
    try:
        store = open_store(settings, model, writes_many=True, is_ready=is_ready)
        try:
            yield store
        finally:
            await store.close()
    except Refusal as refusal:
        if refusal.error.status != UNAVAILABLE.status or not logged.message:
            raise
        raise problems.DATABASE_FAILED(error=refusal, log=logged.message) from refusal
    finally:
        log.removeHandler(logged)
        log.propagate = True


class _LastMessage(logging.Handler):
    """Keeps the last message of a log."""

    message = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.message = record.getMessage()


def operator() -> Actor:
    """The user who runs the command, for the audit log."""
    number = os.getuid()
    try:
        name = pwd.getpwuid(number).pw_name
    except KeyError:
        name = str(number)
    return Actor(f"cli:{name}")


async def known_company(store: Store, company_id: str) -> Company:
    """The company with an id; raises `OperatorError` if there is none."""
    company = await store.company(company_id)
    if company is None:
        raise problems.NO_COMPANY(id=company_id)
    return company


def warn_of_missing(settings: Settings, companies: Collection[str]) -> None:
    """Warn of companies that do not exist, or that the check failed; they may be created later."""
    try:
        need_file(settings)
        model = model_of(settings)
        use_store(settings, lambda store: warn_of_unknown(store, companies), model, is_ready=False)
    except (OperatorError, Refusal) as error:
        warn(f"--company was not checked: {error}")


async def warn_of_unknown(store: Store, companies: Collection[str]) -> None:
    """Warn of companies that do not exist."""
    for each in sorted(companies):
        if await store.company(each) is None:
            warn(str(problems.NO_COMPANY(id=each)))


def warn(message: str, *, is_red: bool = False) -> None:
    """Print a warning to the standard error stream, and keep it with the command."""
    click.secho(f"WARNING: {message}", fg="red" if is_red else None, bold=is_red, err=True)
    if command := click.get_current_context(silent=True):
        command.meta.setdefault(WARNINGS, []).append(message)


def answer(question: str, *, noun: str, verb: str) -> str:
    """The answer to a question in the terminal; raises `OperatorError` without a terminal."""
    if not sys.stdin.isatty():
        raise problems.NO_TERMINAL(noun=noun, verb=verb)
    click.echo(question, nl=False, err=True)
    return sys.stdin.readline().strip()


@contextmanager
def shown_progress(unit: str = "rows") -> Iterator[ShowProgress]:
    """A line of progress on the standard error stream, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _stage, _done, _rows: None
        return

    def show(stage: str, done: int, rows: int) -> None:
        total = f" of {rows}" if rows else ""
        click.echo(f"\r\033[K{stage}: {done}{total} {unit}", nl=False, err=True)

    try:
        yield show
    finally:
        click.echo("\r\033[K", nl=False, err=True)


def run(work: Callable[[], Awaitable[T]], *, resumes: bool = False) -> T:
    """Run a command's coroutine; SIGINT and SIGTERM cancel it, so it can clean up.

    Raises `Interrupted` if a signal cancelled it. The message says whether the same command
    `resumes` the work.
    """
    received: list[int] = []

    async def cancellable() -> T:
        task = asyncio.ensure_future(work())

        def cancel(number: int) -> None:
            received.append(number)
            task.cancel()

        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, cancel, number)
        return await task

    try:
        return asyncio.run(cancellable())
    except asyncio.CancelledError:
        if not received:
            raise
        advice = " The same command resumes." if resumes else ""
        raise Interrupted(received[0], f"interrupted.{advice}") from None


_LAST_START = "last-start.json"


class LastStart(msgspec.Struct, frozen=True):
    """The warnings of the last start, in a file of the key folder, which `doctor` reads.

    The time and the release of the start, its warnings, and the error that ended it, if any.
    """

    at: str
    release: str
    warnings: Sequence[str]
    error: str = ""

    def store(self, folder: Path) -> None:
        """Write the file, unless the folder cannot be written or does not exist."""
        with suppress(OSError), drafted(folder / _LAST_START, msgspec.json.encode(self)) as draft:
            draft.replace(folder / _LAST_START)


def last_start(folder: Path) -> LastStart | None:
    """The content of the file; None without a file that can be read."""
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode((folder / _LAST_START).read_bytes(), type=LastStart)
    return None


@contextmanager
def noted(folder: Path) -> Iterator[None]:
    """Note the start of the block, if it ends: what it has warned of, and its `OperatorError`."""
    start = LastStart(
        time_text(datetime.now(UTC).timestamp()),
        __version__,
        click.get_current_context().meta.setdefault(WARNINGS, []),
    )
    try:
        yield
    except OperatorError as error:
        msgspec.structs.replace(start, error=str(error)).store(folder)
        raise
    start.store(folder)
