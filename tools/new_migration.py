"""Writes the revision that brings the schema from the last one to what the model asks for.

Usage: python tools/new_migration.py "what changes"
"""

import sys
import tempfile
from pathlib import Path

from alembic import command

from comptoir.catalog import MODEL
from comptoir.store.migrate import alembic_config, locked, migrate


def main(message: str) -> None:
    """Compare a database of the last revision with the model, and write the difference."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reference.db"
        last = int(migrate(f"sqlite:///{path}", MODEL))
        with locked(path, lock_seconds=5) as connection:
            config = alembic_config(connection, MODEL)
            command.revision(config, message, autogenerate=True, rev_id=f"{last + 1:04d}")


if __name__ == "__main__":
    main(sys.argv[1])
