import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from comptoir.catalog import MODEL
from support.command import Command
from support.databases import FreshDatabase
from support.effort import go_without
from support.ports import LOOPBACK


@pytest.fixture
def migrated(fresh_database: FreshDatabase, tmp_path: Path) -> Command:
    """The command, with a database that has no companies yet."""
    return Command(tmp_path, fresh_database(tmp_path, MODEL))


@pytest.fixture
def silent() -> Iterator[str]:
    """The host and port of a program that accepts connections, and never answers."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        yield f"{LOOPBACK}:{listener.getsockname()[1]}"


@pytest.fixture
def curl() -> str:
    found = shutil.which("curl")
    if found is None:
        go_without("install the package curl")
    return found
