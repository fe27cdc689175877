"""A service with faults, which the tests of this folder share."""

from collections.abc import Iterator

import pytest

from comptoir.auth.tokens import Scope
from support.client import Client
from support.companies import Company
from support.databases import FreshDatabase
from support.rehearsal import Rehearsal
from support.service import Service


@pytest.fixture(scope="module")
def faulty(
    fresh_database: FreshDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """A service with faults on demand."""
    folder = tmp_path_factory.mktemp("faulty")
    with Service(fresh_database, folder, faults="on", page_size=2) as service:
        yield service


@pytest.fixture
def rehearsal(faulty: Service) -> Iterator[Rehearsal]:
    """Its control endpoint, without rules at the end."""
    token = faulty.tokens.issue([Scope.FAULTS])
    control = Rehearsal(Client(faulty, f"{faulty.origin.root}/faults", token))
    yield control
    control.set()


@pytest.fixture(scope="module")
def company(faulty: Service) -> Company:
    """A company with three contacts, on two pages."""
    company = faulty.new_company()
    for name in "ABC":
        assert company.post("contactsExt", {"displayName": name}).status_code == 201
    return company


@pytest.fixture(scope="module")
def rehearsed(
    fresh_database: FreshDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """A service that rehearses Business Central, with faults on demand."""
    folder = tmp_path_factory.mktemp("profile")
    with Service(fresh_database, folder, faults="on", profile="business-central") as service:
        yield service
