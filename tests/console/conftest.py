"""Browsers without scripts that are logged in to the console of a service."""

from collections.abc import Callable

import pytest

from comptoir.auth.records import ConsoleRole
from support.console import Browser, new_code, origin_of
from support.service import Service, StartService


@pytest.fixture
def own_service(start_service: StartService) -> Service:
    """A service of one test, such as one that sends wrong codes: five make others wait."""
    return start_service()


LoggedIn = Callable[[ConsoleRole], Browser]


@pytest.fixture
def stranger(service: Service) -> Browser:
    """A browser without a session."""
    return Browser(service, origin_of(service.settings))


@pytest.fixture
def logged_in(service: Service, stranger: Browser) -> LoggedIn:
    """Log in with a role."""

    def log_in(role: ConsoleRole) -> Browser:
        browser = stranger.another()
        assert browser.log_in(new_code(service.admin, role)).status_code == 200
        return browser

    return log_in


@pytest.fixture
def admin(logged_in: LoggedIn) -> Browser:
    """A browser of an admin of all companies."""
    return logged_in(ConsoleRole.ADMIN)
