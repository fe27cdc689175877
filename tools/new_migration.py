"""Generate the revision from the last schema to that of the model.

Usage: python tools/new_migration.py "what changes"
"""

import argparse
import tempfile
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.operations.ops import (
    AddColumnOp,
    CreateIndexOp,
    CreateTableOp,
    MigrateOperation,
    MigrationScript,
    OpContainer,
)
from alembic.runtime.migration import MigrationContext
from sqlalchemy import DefaultClause

from comptoir.catalog import MODEL
from comptoir.store.revisions import alembic_config
from comptoir.store.schema import revisions
from comptoir.store.sqlite.migrating import locked, migrate_file


def main() -> None:
    """Compare a database of the last revision with the model, and write the revision."""
    parser = argparse.ArgumentParser(description="Generate a revision from the catalog.")
    parser.add_argument("message", help="what changes, such as 'add the entity type vendor'")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reference.db"
        last = int(migrate_file(path, MODEL))
        with locked(path, lock_seconds=5) as connection:
            config = alembic_config(connection, MODEL)
            command.revision(
                config,
                arguments.message,
                autogenerate=True,
                rev_id=f"{last + 1:04d}",
                process_revision_directives=partial(complete, config),
            )


def complete(
    config: Config,
    _: MigrationContext,
    __: str | Iterable[str | None] | Iterable[str],
    scripts: list[MigrationScript],
) -> None:
    """Give new columns their defaults, and declare the programs that the schema serves."""
    known = revisions()
    for script in scripts:
        steps = list(_steps(script.upgrade_ops_list))
        for step in steps:
            if isinstance(step, AddColumnOp):
                _fill(step)
        made = {step.table_name for step in steps if isinstance(step, CreateTableOp)}
        expands = all(_expands(step, made) for step in steps)
        config.attributes["serves"] = known.serves[known.head] if expands else script.rev_id


def _steps(operations: Iterable[MigrateOperation]) -> Iterator[MigrateOperation]:
    for each in operations:
        if isinstance(each, OpContainer):
            yield from _steps(each.ops)
        else:
            yield each


def _fill(added: AddColumnOp) -> None:
    """Give existing records the default of a property that is added to their entity type."""
    entity_set = MODEL.by_name.get(added.table_name)
    held = None if entity_set is None else entity_set.type.by_name.get(added.column.name)
    if held is not None:
        added.column.server_default = DefaultClause(str(held.type.default))


def _expands(step: MigrateOperation, made: set[str]) -> bool:
    """Whether earlier programs work after a step; `made` are the created tables."""
    if isinstance(step, CreateIndexOp):
        return not step.unique or step.table_name in made
    if isinstance(step, AddColumnOp):
        return step.column.nullable is True or step.column.server_default is not None
    return isinstance(step, CreateTableOp)


if __name__ == "__main__":
    main()
