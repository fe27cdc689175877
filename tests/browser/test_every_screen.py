"""Every screen in a browser: accessible in both colour schemes, usable in a narrow window."""

from collections.abc import Iterator

import pytest

from browser.conftest import OpenTab, Site
from support.chromium import Chromium, Tab, listed
from support.console import new_code
from support.screens import SCREENS, Shown

NARROWEST = 320
"""The width of a window of 1,280 pixels at a zoom of 400 %."""


@pytest.fixture(scope="module")
def tab(chromium: Chromium, site: Site) -> Iterator[Tab]:
    with chromium.tab(site.origin) as tab:
        tab.log_in(new_code(site.server.admin))
        yield tab


@pytest.mark.parametrize("screen", SCREENS, ids=lambda each: each.path.partition("?")[0])
def test_a_screen_is_accessible(tab: Tab, site: Site, screen: Shown) -> None:
    tab.open(screen.path.format(company=site.company.id))
    assert_accessible(tab)
    assert len(tab.texts(tab.page.locator("h1"))) == 1
    assert tab.errors == []


def assert_accessible(tab: Tab) -> None:
    """In both colour schemes, and in a narrow window."""
    tab.do(tab.page.set_viewport_size({"width": 1_280, "height": 800}))
    for dark in (True, False):
        tab.darken(dark)
        assert listed(tab.violations()) == []
    assert tab.overflow(NARROWEST) == 0
    assert listed(tab.violations()) == []


@pytest.mark.parametrize("path", ["/", "/console/login", "/console/nowhere"])
def test_a_page_without_a_session_is_accessible(chromium: Chromium, site: Site, path: str) -> None:
    with chromium.tab(site.origin) as tab:
        tab.open(path, 404 if path.endswith("nowhere") else 200)
        assert_accessible(tab)


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
