"""One browser for all tests of a process, and a service with records that it looks at.

The pages are the same whatever the database: `tests/console` reads them on both.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import NamedTuple

import pytest

from comptoir.auth.records import ConsoleRole
from support.chromium import Chromium, Tab
from support.companies import Company
from support.console import Browser, console_of, new_code
from support.databases import FreshDatabase
from support.samples import SAMPLES
from support.server import Server

NARROWEST = 320
"""The width of a window of 1,280 pixels at a zoom of 400 %."""


class Site(NamedTuple):
    """A service as a process, and a company with a sample of every entity set."""

    server: Server
    company: Company

    @property
    def origin(self) -> str:
        return self.server.base_url.removesuffix(self.server.settings.base_path)

    def user(self, role: ConsoleRole = ConsoleRole.ADMIN, subject: str = "anna") -> Browser:
        """A browser without scripts of a user who is logged in."""
        user = console_of(self.server)
        user.log_in(new_code(self.server.admin, role, subject))
        return user


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    browser = Chromium()
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def site(fresh_sqlite: FreshDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    with Server.over(fresh_sqlite, folder, inspect="bodies") as server:
        company = server.new_company()
        company.admin.load_all(company.stored, {name: [each] for name, each in SAMPLES.items()})
        yield Site(server, company)


OpenTab = Callable[..., Tab]


@pytest.fixture
def new_tab(chromium: Chromium, site: Site) -> Iterator[OpenTab]:
    """Open a tab that no other test has, where nobody is logged in."""
    with ExitStack() as closing:
        yield lambda **given: closing.enter_context(chromium.tab(site.origin, **given))


@pytest.fixture(scope="session")
def resting() -> dict[object, list[Tab]]:
    """The tabs that no test uses at the moment, by their users."""
    return defaultdict(list)


@pytest.fixture
def open_tab(chromium: Chromium, site: Site, resting: dict[object, list[Tab]]) -> Iterator[OpenTab]:
    """Open a tab of a user with a role, who is logged in; it is checked when the test ends.

    A tab is used by one test after the other: a test ends neither its session nor its cookies.
    """
    with ExitStack() as closing:

        def opened(
            role: ConsoleRole = ConsoleRole.ADMIN, *, scripts: bool = True, dark: bool = False
        ) -> Tab:
            others = resting[role, scripts, dark]
            if others:
                tab = others.pop()
            else:
                tab = chromium.tab(site.origin, scripts=scripts, dark=dark)
                tab.keep(site.user(role).cookies)
            closing.callback(give_back, others, tab)
            return tab

        def give_back(others: list[Tab], tab: Tab) -> None:
            tab.rest()
            others.append(tab)

        yield opened
