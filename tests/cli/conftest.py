from collections.abc import Iterator
from contextlib import ExitStack
from itertools import product
from pathlib import Path

import pytest

from cli.command import COMPANY, OTHER_COMPANY, Command
from cli.desk import Desk
from cli.pair import Pair
from comptoir.catalog import MODEL
from support.databases import FRESH, FreshDatabase
from support.service import Service

REAL = Path(__file__).parents[3] / "shared" / "real" / "adventureworks"


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """The command, where there is no database yet."""
    return Command.without_database(tmp_path)


@pytest.fixture
def migrated(fresh_database: FreshDatabase, tmp_path: Path) -> Command:
    """The command, with a database that has no companies yet."""
    return Command(tmp_path, fresh_database(tmp_path, MODEL))


@pytest.fixture
def ready(fresh_database: FreshDatabase, tmp_path: Path) -> Command:
    """The command, with a database that has two empty companies."""

    def fill(url: str) -> None:
        command = Command(tmp_path, url)
        command.done("company", "create", "Test", "--id", COMPANY)
        command.done("company", "create", "Other", "--id", OTHER_COMPANY)

    return Command(tmp_path, fresh_database(tmp_path, MODEL, fill))


@pytest.fixture
def desk(ready: Command) -> Desk:
    """The same database for loading within this process."""
    return Desk(ready.folder, ready.url, COMPANY)


@pytest.fixture(scope="session")
def sample(
    fresh_database: FreshDatabase, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Command, str]:
    """A database with a small sample company, and its id."""
    folder = tmp_path_factory.mktemp("sample")
    command = Command(folder, fresh_database(folder, MODEL))
    return command, command.done("sample", "--seed", "7").last_word


@pytest.fixture
def real() -> Path:
    """The folder of real files."""
    if not REAL.is_dir():
        pytest.skip("the folder of real files is not there")
    return REAL


PAIRS = tuple(product(FRESH, repeat=2))


@pytest.fixture(params=PAIRS, ids="-to-".join)
def pair(request: pytest.FixtureRequest, command: Command) -> Iterator[Pair]:
    """Two databases, each with a service; each kind of database is copied to each."""
    with ExitStack() as services:
        made: list[Service] = []
        for side, name in zip(("source", "target"), request.param, strict=True):
            folder = command.folder / side
            folder.mkdir()
            fresh = request.getfixturevalue(f"fresh_{name}")
            made.append(services.enter_context(Service(fresh, folder)))
        yield Pair(command, *made)
