import shutil
from pathlib import Path

import pytest

from comptoir.catalog import MODEL
from support.command import Command
from support.databases import FreshDatabase
from support.effort import go_without


@pytest.fixture
def migrated(fresh_database: FreshDatabase, tmp_path: Path) -> Command:
    """The command, with a database that has no companies yet."""
    return Command(tmp_path, fresh_database(tmp_path, MODEL))


@pytest.fixture
def curl() -> str:
    found = shutil.which("curl")
    if found is None:
        go_without("install the package curl")
    return found
