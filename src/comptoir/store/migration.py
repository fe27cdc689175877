"""Prepares the database of the settings: migrations, and checks before a start."""

import asyncio
from collections.abc import Mapping

from comptoir.config import Settings
from comptoir.edm.model import Company, Model
from comptoir.errors import operator_rows as problems
from comptoir.errors.refusal import OperatorError
from comptoir.store.schema import Report, check_state
from comptoir.store.sqlite.connection import database_path
from comptoir.store.sqlite.migrating import check_writable, file_state, migrate_file
from comptoir.store.store import Store
from comptoir.store.urls import is_postgres, redacted
from comptoir.store.watermarks import Watermark


def migrate(
    settings: Settings, model: Model, report: Report = lambda _: None, *, distribute: bool = False
) -> str:
    """Upgrade the database to the current schema, and return its revision.

    Creates a missing file. With `distribute`, Citus distributes the tables. `report` receives
    messages on delays and on missing extensions. Raises `OperatorError` if the database cannot be
    used or distributed, or has a newer schema. Runs its own event loop.
    """
    if is_postgres(settings.database):
        from comptoir.store.postgres.migration import migrate_server  # noqa: PLC0415 - imports asyncpg

        return asyncio.run(migrate_server(settings, model, report, distribute=distribute))
    if distribute:
        raise problems.NOT_DISTRIBUTABLE(url=redacted(settings.database))
    return migrate_file(database_path(settings.database), model)


def accepted_catalog(settings: Settings) -> str | None:
    """The source of the model that the database has; None for a new database.

    Raises `OperatorError`, which is an `UnreachableError` if the server may be available later.
    """
    if is_postgres(settings.database):
        from comptoir.store.postgres.connection import accepted as of_server  # noqa: PLC0415 - imports asyncpg

        return asyncio.run(of_server(settings))
    path = database_path(settings.database)
    return file_state(path).catalog if path.exists() else None


def check_replica(settings: Settings) -> None:
    """Raise `OperatorError` if the settings name a replica that does not follow their database.

    The error is an `UnreachableError` if the replica may be available later.
    """
    if not settings.read_database:
        return
    if not is_postgres(settings.database):
        raise problems.NO_REPLICAS(url=redacted(settings.database))
    from comptoir.store.postgres.connection import check_url  # noqa: PLC0415 - imports asyncpg
    from comptoir.store.postgres.replica_reads import check_replica as check  # noqa: PLC0415 - imports asyncpg

    check_url(settings.database)
    try:
        check_url(settings.read_database)
    except OperatorError as error:
        raise problems.AT_PLACE(place="invalid read_database", error=error) from error
    asyncio.run(check(settings))


def make_ready(settings: Settings, model: Model, report: Report = lambda _: None) -> None:
    """Ensure that the database has the current schema.

    Upgrades a file, unless writes are refused. Only checks a database on a server, because other
    hosts may use it; run `comptoir migrate` to upgrade it. Raises as `migrate` does, and
    `UnreachableError` if the server may be available later.
    """
    if is_postgres(settings.database):
        from comptoir.store.postgres.connection import check_ready  # noqa: PLC0415 - imports asyncpg

        asyncio.run(check_ready(settings, report, model.source))
        return
    path = database_path(settings.database)
    if settings.refuses_writes:
        check_state(file_state(path), str(path), model.source)
    else:
        check_writable(path)
        migrate_file(path, model)


async def check_not_older(store: Store, watermarks: Mapping[Company, Watermark]) -> None:
    """Raise `OperatorError` if the change log lacks an acknowledged change.

    Ignores the watermarks of former incarnations. Raises `Refusal` (503) if the database is
    unreachable.
    """
    lacking = [
        company
        for company, watermark in watermarks.items()
        if await _lacks(store, company, watermark)
    ]
    if not lacking:
        return
    first = lacking[0]
    others = f", and changes of {len(lacking) - 1} more" if len(lacking) > 1 else ""
    raise problems.LOST_CHANGES(number=watermarks[first].number, company=first.id, others=others)


async def _lacks(store: Store, company: Company, watermark: Watermark) -> bool:
    last = await store.last_change(company)
    if last is None:
        return False
    if last.number <= watermark.number:
        return last != watermark
    # later changes may have the numbers of the lost ones
    (found,) = await store.changes(company, watermark.number - 1, 1)
    return found.at < watermark.at if found.number > watermark.number else found.at != watermark.at
