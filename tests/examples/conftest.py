"""A service with faults, on each database, and a company for each test."""

from collections.abc import Iterator

import pytest

from examples.stage import Stage
from support.rehearsal import control_of
from support.server import Server, ShareServer


@pytest.fixture(scope="module")
def faulty(share_server: ShareServer) -> Server:
    """Its pages are short, so that lists have several."""
    return share_server(faults="on", page_size=4)


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
    faults = control_of(faulty, subject="control")
    yield Stage(company, faults, faulty.base_url)
    faults.set()
