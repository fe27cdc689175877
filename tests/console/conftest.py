"""Browsers without scripts for the console of a service."""

import pytest

from comptoir.auth.records import ConsoleRole
from support.console import Browser, logged_in, origin_of
from support.service import Service, StartService


@pytest.fixture
def own_service(start_service: StartService) -> Service:
    """A service of one test, such as one that sends wrong codes: five make others wait."""
    return start_service()


@pytest.fixture
def stranger(service: Service) -> Browser:
    """A browser without a session."""
    return Browser(service, origin_of(service.settings))


@pytest.fixture
def own_stranger(own_service: Service) -> Browser:
    """A browser without a session, of a service of one test."""
    return Browser(own_service, origin_of(own_service.settings))


@pytest.fixture
def admin(service: Service) -> Browser:
    """A browser of an admin of all companies."""
    return logged_in(service)


@pytest.fixture(scope="module")
def browser(specimen_service: Service) -> Browser:
    """A browser of an editor of specimens."""
    return logged_in(specimen_service, ConsoleRole.EDITOR)
