"""The fixtures of all tests: databases, services and companies."""

import gc
import math
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from comptoir import app
from comptoir.catalog import MODEL
from comptoir.cli import company as company_commands
from comptoir.features.history import feature as history
from comptoir.features.transfer import copy
from comptoir.store import company_steps, control, store
from comptoir.store.postgres import store as postgres_store
from comptoir.store.sqlite import connection
from comptoir.store.sqlite import store as sqlite_store
from comptoir.store.urls import is_postgres
from support import processes
from support.command import COMPANY, OTHER_COMPANY, Command, NewPlace
from support.companies import Company
from support.costs import Costs
from support.databases import FRESH, FreshDatabase, FreshPostgres, FreshSqlite
from support.load_target import LoadTarget
from support.postgres import Databases, shared_postgres
from support.samples import SAMPLES
from support.server import Server, ShareServer
from support.service import Service, StartService
from support.specimen import WITH_SPECIMENS

# without bytecode, each process of a run compiles all tests and each started service its modules
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

LONGEST = {"packages", "docs", "process", "clients"}
"""The folders whose tests take the longest."""

# an example may take long on a slow machine
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--costs`."""
    parser.addoption("--costs", action="store_true", help="print the seconds of each folder")


def pytest_configure(config: pytest.Config) -> None:
    """Add up costs, in the process that gets the reports of all."""
    if config.getoption("costs"):
        config.pluginmanager.register(Costs())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Three processes for each core: while some wait, others compute."""
    return 3 * (os.cpu_count() or 1)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let each process begin with some of the longest tests.

    A process that has done its part takes tests from the end of another one's part: then they are
    short, and all processes end at the same time.
    """
    parts = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    short = [each for each in items if each.path.parent.name not in LONGEST]
    long = (each for each in items if each.path.parent.name in LONGEST)
    files = [list(tests) for _, tests in groupby(long, lambda each: each.path)]
    size, ordered = len(items) / parts, list[pytest.Item]()
    for part in range(parts):
        for tests in files[part::parts]:
            ordered += tests
        missing = max(0, round(size * (part + 1)) - len(ordered))
        ordered += short[:missing]
        del short[:missing]
    items[:] = ordered + short


def pytest_collection() -> None:
    """While tests are collected, nothing of them is garbage."""
    gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Exclude the tests from garbage collection, since they stay until the end."""
    gc.freeze()
    # by default, a full collection of the services that are open takes a twentieth of the time
    gc.set_threshold(100_000, 20, 50)
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def synchronous() -> Iterator[None]:
    """Let SQLite wait for no disk within the tests' process.

    Most of the time of a write is spent on that. Without it, a database survives kills, but not a
    power failure.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(connection.DURABILITY, "synchronous", 0)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_write_of_its_own() -> Iterator[None]:
    """A service within the tests' process writes failed authentications when it is closed.

    It indexes what its tests ask for, or search. Its event loop runs only during requests: a write
    that it began by itself would hold a lock until the next request, which the commands of a test
    wait for.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(app, "NOTE_SECONDS", math.inf)
        patch.setattr(app, "INDEX_SECONDS", math.inf)
        patch.setattr(history, "TRIM_SECONDS", math.inf)
        yield


@pytest.fixture(scope="session", autouse=True)
def time_for_clients() -> Iterator[None]:
    """A service within the tests' process may read its clients for a minute.

    The read goes on when its event loop runs again, and the time in between counts.
    """
    with pytest.MonkeyPatch.context() as patch:
        for module in (control, postgres_store, sqlite_store):
            patch.setattr(module, "READ_SECONDS", 60.0)
        yield


@pytest.fixture(scope="session")
def run_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the processes of the test run share."""
    mine = tmp_path_factory.getbasetemp()
    # not by the environment, which a run within a test has too
    return mine.parent if hasattr(request.config, "workerinput") else mine


@pytest.fixture(scope="session", autouse=True)
def one_fork_server(run_folder: Path) -> Iterator[None]:
    """The processes of the run start those of the command by the same server."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "RUN_FOLDER", run_folder)
        yield


@pytest.fixture(scope="session")
def cache_folder(run_folder: Path) -> Path:
    """The cache of the test run: only the first use of the fixture `comptoir` creates a sample."""
    return run_folder / "cache"


@pytest.fixture(scope="session")
def postgres_server(request: pytest.FixtureRequest, run_folder: Path) -> Databases:
    """The databases of the PostgreSQL server of the whole run; tests must not stop it."""
    used = ExitStack()
    # not at the end of a test, since it waits for the other processes
    request.config.add_cleanup(used.close)
    return used.enter_context(shared_postgres(run_folder))


@pytest.fixture
def postgres_url(postgres_server: Databases) -> Iterator[str]:
    """The URL of an empty database on PostgreSQL."""
    url = postgres_server.new_database()
    yield url
    postgres_server.drop(url)


@pytest.fixture(scope="session")
def fresh_sqlite(run_folder: Path) -> FreshDatabase:
    """Creates fresh databases on SQLite."""
    return FreshSqlite(run_folder)


@pytest.fixture(scope="session")
def fresh_postgres(postgres_server: Databases) -> FreshDatabase:
    """Creates fresh databases on PostgreSQL."""
    return FreshPostgres(postgres_server)


@pytest.fixture(scope="session", params=FRESH)
def fresh_database(request: pytest.FixtureRequest) -> FreshDatabase:
    """Creates fresh databases; one parameter for each supported database."""
    fresh: FreshDatabase = request.getfixturevalue(f"fresh_{request.param}")
    return fresh


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """The command, without a database."""
    return Command.without_database(tmp_path)


@pytest.fixture
def ready(fresh_database: FreshDatabase, tmp_path: Path) -> Command:
    """The command, with a database of two empty companies."""
    return Command(tmp_path, fresh_database(tmp_path, MODEL, two_companies))


@pytest.fixture
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> NewPlace:
    """Makes a place without a database; on PostgreSQL, with an empty one."""

    def make(command: Command) -> Command:
        folder = tmp_path / "new"
        folder.mkdir()
        if not is_postgres(command.url):
            return Command.without_database(folder)
        server: Databases = request.getfixturevalue("postgres_server")
        return Command(folder, server.new_database())

    return make


@pytest.fixture
def brief_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Services and commands of this process know a company for a twentieth of the usual second."""
    for module in (store, company_commands, copy, company_steps):
        monkeypatch.setattr(module, "COMPANY_CACHE_SECONDS", 0.05)


@pytest.fixture
def service_over(ready: Command) -> Iterator[Service]:
    """A service within this process over the database of the command."""
    with Service(lambda *_: ready.url, ready.folder) as service:
        yield service


@pytest.fixture
def load_target(ready: Command) -> Iterator[LoadTarget]:
    """A database with a company, for loads within this process."""
    with LoadTarget(ready.folder, ready.url, COMPANY) as target:
        yield target


@pytest.fixture(scope="session")
def sample(
    fresh_database: FreshDatabase, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Command, str]:
    """A database with a small sample company, and its id."""
    folder = tmp_path_factory.mktemp("sample")
    command = Command(folder, fresh_database(folder, MODEL))
    return command, command.done("sample").last_word


@pytest.fixture(scope="session")
def service(
    fresh_database: FreshDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """The service, within this process."""
    with Service(fresh_database, tmp_path_factory.mktemp("service")) as service:
        yield service


@pytest.fixture
def start_service(fresh_database: FreshDatabase, tmp_path: Path) -> Iterator[StartService]:
    """Starts a service in the folder of a test; it stops at the end of the test."""
    with ExitStack() as services:
        yield lambda *model, **given: services.enter_context(
            Service(fresh_database, tmp_path, *model, **given)
        )


@pytest.fixture(scope="module")
def share_service(
    fresh_database: FreshDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StartService]:
    """Starts services that tests of a module share, each in a folder of its own."""
    with ExitStack() as services:
        yield lambda *model, **given: services.enter_context(
            Service(fresh_database, tmp_path_factory.mktemp("shared"), *model, **given)
        )


@pytest.fixture
def company(service: Service) -> Company:
    """A company without records, for one test."""
    return service.new_company()


@pytest.fixture(scope="module")
def stocked(service: Service) -> Company:
    """A company with a sample of every entity set, which tests must not change."""
    return stock(service.new_company())


@pytest.fixture
def own_stock(company: Company) -> Company:
    """A company with a sample of every entity set, for one test."""
    return stock(company)


def two_companies(url: str) -> None:
    """Create the companies of `ready`."""
    command = Command(Path(), url)
    command.done("company", "create", "Test", "--id", COMPANY)
    command.done("company", "create", "Other", "--id", OTHER_COMPANY)


def stock(company: Company) -> Company:
    """Load a sample of every entity set, in one transaction."""
    company.admin.load_all(company.stored, {name: [each] for name, each in SAMPLES.items()})
    return company


@pytest.fixture(scope="module")
def share_server(
    fresh_database: FreshDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ShareServer]:
    """Starts services as processes, each in a folder of its own, which tests must not stop.

    They end with the module: one that rests takes time from the tests of the others.
    """
    with ExitStack() as servers:
        yield lambda **given: servers.enter_context(
            Server.over(fresh_database, tmp_path_factory.mktemp("server"), **given)
        )


@pytest.fixture(scope="module")
def server(share_server: ShareServer) -> Server:
    """The service as a process, which tests must not stop."""
    return share_server()


@pytest.fixture(scope="session")
def workers(
    fresh_database: FreshDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """The service as two processes, whose start takes long; tests must not stop it."""
    with Server.over(fresh_database, tmp_path_factory.mktemp("workers"), 2) as server:
        yield server


@pytest.fixture(scope="session")
def specimen_service(
    fresh_database: FreshDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """The service over a model with an entity type of the tests, which no revision creates."""
    with Service(fresh_database, tmp_path_factory.mktemp("specimens"), WITH_SPECIMENS) as service:
        yield service


@pytest.fixture
def specimens(specimen_service: Service) -> Company:
    """A company without specimens, for one test."""
    return specimen_service.new_company()
