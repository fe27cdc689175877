from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from comptoir.catalog import MODEL
from comptoir.features.transfer import files, load
from comptoir.store import company_steps
from comptoir.store.postgres import reader as postgres_reader
from comptoir.store.postgres import store as postgres_store
from comptoir.store.sqlite import store as sqlite_store
from conftest import stock
from support.command import Command
from support.companies import Company
from support.databases import FreshDatabase
from support.load_target import LoadTarget
from support.service import Service
from transfer.two_databases import TwoDatabases

REAL = Path(__file__).parents[3] / "shared" / "real" / "adventureworks"


@pytest.fixture(autouse=True)
def in_haste(brief_cache: None) -> None:
    """No test in this folder waits longer."""


STEP_ROWS, STEP_CHARACTERS = 100, 500_000
"""The rows of a step in tests with `small_steps`, and the length of its texts."""


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loads, copies and deletions within this process take few rows at a time."""
    for name in ("DROPPED_ROWS", "DROPPED_DOCUMENTS"):
        monkeypatch.setattr(company_steps, name, STEP_ROWS)
    for part in (files, load):
        monkeypatch.setattr(part, "ROWS_PER_CHUNK", STEP_ROWS)
        monkeypatch.setattr(part, "BYTES_PER_CHUNK", STEP_CHARACTERS)
    for store in (postgres_store, sqlite_store):
        monkeypatch.setattr(store, "SLICE_ROWS", STEP_ROWS)
    for reader in (postgres_reader, sqlite_store):
        monkeypatch.setattr(reader, "SLICE_CHARACTERS", STEP_CHARACTERS)


@pytest.fixture
def real() -> Path:
    """The folder of real files."""
    if not REAL.is_dir():
        pytest.skip("the folder of real files is not there")
    return REAL


@pytest.fixture(scope="module")
def load_targets(
    fresh_database: FreshDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LoadTarget]:
    """A database for the loads of a module."""
    folder = tmp_path_factory.mktemp("loads")
    with LoadTarget(folder, fresh_database(folder, MODEL), "") as targets:
        yield targets


@pytest.fixture
def load_target(load_targets: LoadTarget, tmp_path: Path) -> LoadTarget:
    """A company without records, for loads within this process."""
    return load_targets.another(tmp_path)


PAIRS = (("sqlite", "postgres"), ("postgres", "sqlite"))
"""Each database is tested as a source and as a target."""

ON_ONE_PAIR = pytest.mark.parametrize(
    "pair", [("sqlite", "sqlite")], ids="-to-".join, indirect=True
)
"""Marks a test of a copy that says nothing about its databases."""


@contextmanager
def made_pair(
    request: pytest.FixtureRequest, kinds: tuple[str, str], folder: Path
) -> Iterator[TwoDatabases]:
    """Two fresh databases."""
    with ExitStack() as services:
        made: list[Service] = []
        for side, kind in zip(("source", "target"), kinds, strict=True):
            (folder / side).mkdir()
            fresh = request.getfixturevalue(f"fresh_{kind}")
            made.append(services.enter_context(Service(fresh, folder / side)))
        yield services.enter_context(TwoDatabases(Command.without_database(folder), *made))


@pytest.fixture(scope="session", params=PAIRS, ids="-to-".join)
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TwoDatabases]:
    """Two databases, each with a service."""
    with made_pair(request, request.param, tmp_path_factory.mktemp("pair")) as pair:
        yield pair


@pytest.fixture
def company(pair: TwoDatabases) -> Company:
    """A company in the source with a sample of every entity set."""
    return stock(pair.source.new_company())


@pytest.fixture
def own_pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TwoDatabases]:
    """Two databases on SQLite without companies, for one test."""
    with made_pair(request, ("sqlite", "sqlite"), tmp_path) as pair:
        yield pair
