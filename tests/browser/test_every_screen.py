"""Every screen in a browser: accessible in both colour schemes, usable in a narrow window."""

from collections.abc import Iterator

import pytest

from browser.conftest import OpenTab, Site
from support.chromium import Chromium, Tab, listed
from support.console import new_code
from support.screens import SCREENS, Shown

NARROWEST = 320
"""The width of a window of 1,280 pixels at a zoom of 400 %."""


@pytest.fixture(scope="module", params=["light", "dark"])
def tab(request: pytest.FixtureRequest, chromium: Chromium, site: Site) -> Iterator[Tab]:
    with chromium.tab(site.origin, dark=request.param == "dark") as tab:
        tab.log_in(new_code(site.server.admin))
        yield tab


@pytest.mark.parametrize("screen", SCREENS, ids=lambda each: each.path.partition("?")[0])
def test_a_screen_is_accessible(tab: Tab, site: Site, screen: Shown) -> None:
    tab.do(tab.page.set_viewport_size({"width": 1_280, "height": 800}))
    tab.open(screen.path.format(company=site.company.id))
    assert listed(tab.violations()) == []
    assert len(tab.texts(tab.page.locator("h1"))) == 1
    assert tab.overflow(NARROWEST) == 0
    assert listed(tab.violations()) == []
    assert tab.errors == []


@pytest.mark.parametrize("path", ["/", "/console/login", "/console/nowhere"])
@pytest.mark.parametrize("dark", [False, True])
def test_a_page_without_a_session_is_accessible(
    chromium: Chromium, site: Site, path: str, dark: bool
) -> None:
    with chromium.tab(site.origin, dark=dark) as tab:
        tab.open(path, 404 if path.endswith("nowhere") else 200)
        assert listed(tab.violations()) == []
        assert tab.overflow(NARROWEST) == 0


def test_the_keyboard_reaches_everything(open_tab: OpenTab) -> None:
    tab = open_tab()
    tab.do(tab.page.keyboard.press("Tab"))
    focused = "document.activeElement.textContent.trim()"
    assert tab.do(tab.page.evaluate(focused)) == "Skip to the content"
    tab.do(tab.page.keyboard.press("Enter"))
    assert tab.do(tab.page.evaluate("document.activeElement.id")) == "main"
    links = tab.page.get_by_role("navigation").get_by_role("link")
    tab.do(links.last.focus())
    tab.do(tab.page.keyboard.press("Enter"))
    tab.do(tab.page.wait_for_url("**/console/*"))
