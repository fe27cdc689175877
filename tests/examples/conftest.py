"""A service with faults, on each database, and a company for each test."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.companies import Company
from support.rehearsal import Rehearsal, control_of
from support.server import Server, ShareServer

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class Stage:
    """A company, and the faults that the requests of an example meet."""

    company: Company
    faults: Rehearsal
    base_url: str

    @property
    def variables(self) -> dict[str, str]:
        """The environment of an example."""
        company = self.company
        return {"BASE": self.base_url, "COMPANY": company.stored.id, "TOKEN": company.token}


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
