import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from cli.command import COMPANY, OTHER_COMPANY, Command
from cli.desk import Desk
from cli.pair import Pair
from support.service import Service

REAL = Path(__file__).parents[3] / "shared" / "real" / "adventureworks"


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with two empty companies."""
    command = Command(tmp_path_factory.mktemp("template"))
    command.done("company", "create", "Test", "--id", COMPANY)
    command.done("company", "create", "Other", "--id", OTHER_COMPANY)
    return command.database


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """The command, where there is no database yet."""
    return Command(tmp_path)


@pytest.fixture
def ready(command: Command, template: Path) -> Command:
    """The command, with a database that has two empty companies."""
    shutil.copy(template, command.database)
    return command


@pytest.fixture
def desk(ready: Command) -> Desk:
    """The same database for loading within this process."""
    return Desk(ready.folder, ready.database, COMPANY)


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[Command, str]:
    """A database with a small sample company, and its id."""
    command = Command(tmp_path_factory.mktemp("sample"))
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
        yield services.enter_context(Pair(Command(folder), *made))


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
