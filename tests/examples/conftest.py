"""A service with faults, on each database, and a company for each test."""

from collections.abc import Iterator

import pytest

from comptoir.auth.tokens import Scope
from comptoir.catalog import MODEL
from examples.stage import Stage
from support.client import Client
from support.databases import FreshDatabase
from support.rehearsal import Rehearsal
from support.server import Server
from support.settings import settings_of


@pytest.fixture(scope="module")
def faulty(
    fresh_database: FreshDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """Its pages are short, so that lists have several."""
    folder = tmp_path_factory.mktemp("faulty")
    database = fresh_database(folder, MODEL)
    settings = settings_of(database=database, keys=str(folder / "keys"), faults="on", page_size=4)
    with Server(settings, folder) as server:
        yield server


@pytest.fixture
def stage(faulty: Server) -> Iterator[Stage]:
    """A company with records of each set that the examples read."""
    company = faulty.new_company()
    company.load("itemsExt", *({"number": f"I{each}", "displayName": "Chair"} for each in range(6)))
    company.load(
        "salesPricesExt", *({"entryNo": each, "unitPrice": each + 0.5} for each in (1, 2, 3))
    )
    company.load("contactsExt", *({"number": f"C{each}", "city": "Lyon"} for each in range(5)))
    company.load("customersExt", {"number": "10000", "displayName": "Quaystone"})
    token = faulty.tokens.issue([Scope.FAULTS], subject="control")
    faults = Rehearsal(Client(faulty, f"{faulty.origin.root}/faults", token))
    yield Stage(company, faults, faulty.base_url)
    faults.set()
