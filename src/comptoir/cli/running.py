"""What the commands that work on a database have in common: opening it, and ending well."""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from comptoir.app import open_store
from comptoir.catalog import MODEL
from comptoir.cli.interrupt import Interrupted
from comptoir.cli.messages import warn
from comptoir.config import Settings, load_settings
from comptoir.edm.model import Company
from comptoir.errors import UNAVAILABLE, OperatorError, Refusal
from comptoir.store.migrate import make_ready
from comptoir.store.sqlite.connection import database_path
from comptoir.store.store import Store
from comptoir.store.urls import is_postgres

T = TypeVar("T")


def database_settings(database: str | None, config: str | None) -> Settings:
    """The settings of a command that takes the options `--database` and `--config` alone."""
    return load_settings({"database": database, "config": config})


def need_database(settings: Settings) -> None:
    """Make sure that a database is there and ready; raises `OperatorError` when it is not.

    So a misspelt name does not make a new, empty database.
    """
    need_file(settings)
    make_ready(settings, MODEL)


def need_file(settings: Settings) -> None:
    """Raise `OperatorError` when the database is a file that is not there."""
    if not is_postgres(settings.database) and not database_path(settings.database).exists():
        raise OperatorError(
            f"there is no database {database_path(settings.database)}. Make it with `comptoir "
            "migrate`, or name another one."
        )


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Store]:
    """The store of the settings, closed at the end.

    A `Refusal` because the database failed becomes an `OperatorError` with the database's words,
    which a service would write to its log.
    """
    words = _LastWords()
    log = logging.getLogger("comptoir")
    log.addHandler(words)
    log.propagate = False
    try:
        store = open_store(settings)
        try:
            yield store
        finally:
            await store.close()
    except Refusal as refusal:
        if refusal.error.status != UNAVAILABLE.status or not words.last:
            raise
        raise OperatorError(f"{refusal} ({words.last})") from refusal
    finally:
        log.removeHandler(words)
        log.propagate = True


async def known_company(store: Store, company_id: str) -> Company:
    """The company with an id; raises `OperatorError` when there is none."""
    company = await store.company(company_id)
    if company is None:
        raise no_company(company_id)
    return company


async def warn_of_missing(settings: Settings, companies: Sequence[str]) -> None:
    """Warn of companies that do not exist, or that the database cannot be asked for them."""
    try:
        need_file(settings)
        async with opened(settings) as store:
            missing = [each for each in companies if await store.company(each) is None]
    except (OperatorError, Refusal) as fault:
        warn(f"--company was not checked: {fault}")
        return
    for each in missing:
        warn(str(no_company(each)))


def no_company(company_id: str) -> OperatorError:
    """The error that there is no company with an id."""
    return OperatorError(
        f"there is no company {company_id}. `comptoir company list` lists those that exist."
    )


def run(work: Callable[[], Awaitable[T]], *, resumes: bool = False) -> T:
    """Run a command's coroutine; SIGINT and SIGTERM cancel it, so that it can tidy up.

    Raises `Interrupted` when it was cancelled and did not end by itself. Its message says whether
    the same command `resumes` the work.
    """
    return asyncio.run(_cancellable(work, resumes=resumes))


async def _cancellable(work: Callable[[], Awaitable[T]], *, resumes: bool) -> T:
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work())
    received: list[int] = []

    def cancel(number: int) -> None:
        received.append(number)
        task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, cancel, number)
    try:
        return await task
    except asyncio.CancelledError:
        if not received:
            raise
        advice = " The same command resumes." if resumes else ""
        raise Interrupted(received[0], f"interrupted.{advice}") from None


class _LastWords(logging.Handler):
    """Keeps the last message of a log."""

    last = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.last = record.getMessage()
