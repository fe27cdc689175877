"""Brings a database to the current schema, whichever database it is."""

import asyncio

from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.errors import OperatorError
from comptoir.store.schema import Tell
from comptoir.store.sqlite.connection import database_path
from comptoir.store.sqlite.migrating import migrate_file
from comptoir.store.urls import is_postgres, shown


def migrate(
    settings: Settings,
    model: Model,
    tell: Tell = lambda _: None,
    *,
    distribute: bool = False,
) -> str:
    """Bring the database of the settings up to date, and give its schema's revision.

    A file is created when it is not there. With `distribute` the tables are distributed over a
    cluster of Citus. `tell` is told what takes long, and what cannot be had. Raises `OperatorError`
    when the database cannot be used or distributed, or when its schema is too new. Not to be called
    within an event loop.
    """
    if is_postgres(settings.database):
        from comptoir.store.postgres.migrating import migrate_server  # noqa: PLC0415 - brings asyncpg

        return asyncio.run(migrate_server(settings, model, tell, distribute=distribute))
    if distribute:
        raise OperatorError(
            f"{shown(settings.database)} is a file, which lies on one machine. What can be "
            "distributed is a database on PostgreSQL with Citus."
        )
    return migrate_file(database_path(settings.database), model)


def check_replica(settings: Settings) -> None:
    """Raise `OperatorError` when the settings name a replica that is none of their database.

    `UnreachableError` when it may be later.
    """
    if not settings.read_database:
        return
    if not is_postgres(settings.database):
        raise OperatorError(
            f"read_database is for databases on PostgreSQL: {shown(settings.database)} is a file, "
            "which has no replicas. Leave it out."
        )
    from comptoir.store.postgres.replica import check_replica as check  # noqa: PLC0415 - brings asyncpg
    from comptoir.store.postgres.url import check_url  # noqa: PLC0415 - brings asyncpg

    check_url(settings.database)
    try:
        check_url(settings.read_database)
    except OperatorError as fault:
        raise OperatorError(f"read_database names no replica: {fault}") from fault
    asyncio.run(check(settings))


def make_ready(settings: Settings, model: Model, tell: Tell = lambda _: None) -> None:
    """Make sure that the database of the settings has the current schema.

    A file is brought up to date. A database on a server, which others use as well, is left as it
    is: `comptoir migrate` changes it, when its operator says so. Raises as `migrate` does, and
    `UnreachableError` when the server may be there later.
    """
    if is_postgres(settings.database):
        from comptoir.store.postgres.migrating import check_database  # noqa: PLC0415 - brings asyncpg

        asyncio.run(check_database(settings, settings.database, tell))
    else:
        migrate_file(database_path(settings.database), model)
