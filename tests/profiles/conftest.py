"""A service with each profile."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack

import pytest

from comptoir.config import PROFILES
from support.companies import Company
from support.databases import FreshDatabase
from support.service import Service

BUSINESS_CENTRAL = "business-central"


@pytest.fixture(scope="session")
def services(
    fresh_database: FreshDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[str, Service]]:
    """A service with each profile, by its name."""
    with ExitStack() as opened:
        yield {
            name: opened.enter_context(
                Service(fresh_database, tmp_path_factory.mktemp(name), profile=name)
            )
            for name in PROFILES
        }


@pytest.fixture(scope="session", params=PROFILES)
def profile(request: pytest.FixtureRequest) -> str:
    """The name of a profile."""
    name: str = request.param
    return name


@pytest.fixture
def company(services: Mapping[str, Service], profile: str) -> Company:
    """A new company, of a service with the profile."""
    return services[profile].new_company()


@pytest.fixture
def rehearsed(services: Mapping[str, Service]) -> Company:
    """A new company, of a service with the profile business-central."""
    return services[BUSINESS_CENTRAL].new_company()
