"""A service with faults, which the tests of this folder share."""

from collections.abc import Iterator

import pytest

from support.companies import Company
from support.rehearsal import Rehearsal, rehearsing
from support.service import Service, StartService


@pytest.fixture(scope="module")
def faulty(share_service: StartService) -> Service:
    """A service with faults on demand."""
    return share_service(faults="on", page_size=2)


@pytest.fixture
def rehearsal(faulty: Service) -> Iterator[Rehearsal]:
    """Its control endpoint, without rules at the end."""
    with rehearsing(faulty) as control:
        yield control


@pytest.fixture(scope="module")
def company(faulty: Service) -> Company:
    """A company with three contacts, on two pages."""
    company = faulty.new_company()
    company.load("contactsExt", *({"number": name, "displayName": name} for name in "ABC"))
    return company


@pytest.fixture(scope="module")
def rehearsed(share_service: StartService) -> Service:
    """A service that rehearses Business Central, with faults on demand."""
    return share_service(faults="on", profile="business-central")
