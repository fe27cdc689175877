from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from cli.command import COMPANY, OTHER_COMPANY, Command
from cli.desk import Desk
from cli.pair import Pair
from comptoir.catalog import MODEL
from support.databases import FreshDatabase
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


PAIRS = (("sqlite", "postgres"), ("postgres", "sqlite"))
"""Each kind of database is a source, and each a target."""


@contextmanager
def made_pair(request: pytest.FixtureRequest, folder: Path) -> Iterator[Pair]:
    """Two fresh databases of the kinds that the fixture's parameter names."""
    with ExitStack() as services:
        made: list[Service] = []
        for side, kind in zip(("source", "target"), request.param, strict=True):
            (folder / side).mkdir()
            fresh = request.getfixturevalue(f"fresh_{kind}")
            made.append(services.enter_context(Service(fresh, folder / side)))
        yield services.enter_context(Pair(Command.without_database(folder), *made))


@pytest.fixture(scope="module", params=PAIRS, ids="-to-".join)
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    """Two databases, each with a service."""
    with made_pair(request, tmp_path_factory.mktemp("pair")) as pair:
        yield pair


@pytest.fixture(params=PAIRS, ids="-to-".join)
def own_pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    """Two databases without companies, which no other test has."""
    with made_pair(request, tmp_path) as pair:
        yield pair
