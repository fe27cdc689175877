"""Writes the revision that brings the schema from the last one to what the model asks for.

Usage: python tools/new_migration.py "what changes"
"""

import argparse
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from alembic import command
from alembic.operations.ops import (
    AddColumnOp,
    MigrateOperation,
    MigrationScript,
    ModifyTableOps,
)
from alembic.runtime.migration import MigrationContext
from sqlalchemy import DefaultClause

from comptoir.catalog import MODEL
from comptoir.store.migrate import alembic_config, locked, migrate


def main() -> None:
    """Compare a database of the last revision with the model, and write the difference."""
    parser = argparse.ArgumentParser(description="A migration from what the catalog declares.")
    parser.add_argument("message", help="what changes, such as 'add the kind vendor'")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reference.db"
        last = int(migrate(f"sqlite:///{path}", MODEL))
        with locked(path, lock_seconds=5) as connection:
            command.revision(
                alembic_config(connection, MODEL),
                arguments.message,
                autogenerate=True,
                rev_id=f"{last + 1:04d}",
                process_revision_directives=fill_new_columns,
            )


def fill_new_columns(
    _: MigrationContext,
    __: str | Iterable[str | None] | Iterable[str],
    scripts: list[MigrationScript],
) -> None:
    """Give records that exist already the default of a property that is added to their kind."""
    for script in scripts:
        for operations in script.upgrade_ops_list:
            for added in _added_columns(operations.ops):
                entity_set = MODEL.by_name.get(added.table_name)
                if entity_set is None:
                    continue
                held = entity_set.type.by_name.get(added.column.name)
                if held is not None:
                    added.column.server_default = DefaultClause(str(held.type.default))


def _added_columns(operations: Iterable[MigrateOperation]) -> Iterator[AddColumnOp]:
    for each in operations:
        if isinstance(each, ModifyTableOps):
            yield from _added_columns(each.ops)
        elif isinstance(each, AddColumnOp):
            yield each


if __name__ == "__main__":
    main()
