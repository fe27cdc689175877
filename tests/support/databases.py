"""The databases that the suite runs on: each makes fresh ones with the schema of a model."""

from collections.abc import Callable, Mapping
from pathlib import Path

from alembic.autogenerate import produce_migrations
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.operations.ops import MigrateOperation, OpContainer

from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.sql.tables import build_tables
from comptoir.store.migrate import migrate
from comptoir.store.schema import is_declared
from comptoir.store.sqlite.connection import database_path
from comptoir.store.sqlite.migrating import locked

LOCK_SECONDS = 30.0

FreshDatabase = Callable[[Path, Model], str]
"""Makes an empty database with the tables of a model, perhaps in a folder; gives its URL."""


def fresh_sqlite(folder: Path, model: Model = MODEL) -> str:
    """A new file, migrated; the kinds that no migration brings are brought by autogenerate."""
    url = f"sqlite:///{folder / 'test.db'}"
    migrate(Settings(database=url), MODEL)
    if model is not MODEL:
        with locked(database_path(url), LOCK_SECONDS) as connection:
            context = MigrationContext.configure(
                connection, opts={"render_as_batch": True, "include_name": is_declared}
            )
            script = produce_migrations(context, build_tables(model).metadata)
            assert script.upgrade_ops is not None
            _invoke(Operations(context), script.upgrade_ops)
    return url


def _invoke(operations: Operations, step: MigrateOperation) -> None:
    if isinstance(step, OpContainer):
        for inner in step.ops:
            _invoke(operations, inner)
    else:
        operations.invoke(step)


FRESH: Mapping[str, FreshDatabase] = {"sqlite": fresh_sqlite}
"""Database to how a fresh one is made; whatever is added here, the whole suite runs on."""
