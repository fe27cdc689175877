"""Every screen in a browser: accessible in both colour schemes, usable in a narrow window."""

from browser.conftest import OpenTab, Site
from support.chromium import Tab, listed
from support.screens import SCREENS, Shown
from support.together import check_all

NARROWEST = 320
"""The width of a window of 1,280 pixels at a zoom of 400 %."""


def test_every_screen_is_accessible(open_tab: OpenTab, site: Site) -> None:
    tab = open_tab()

    def check(screen: Shown) -> None:
        tab.open(screen.path.format(company=site.company.id))
        assert_accessible(tab)
        assert len(tab.texts(tab.page.locator("h1"))) == 1
        assert tab.errors == []

    check_all(SCREENS, check)


def test_pages_without_a_session_are_accessible(new_tab: OpenTab) -> None:
    tab = new_tab()
    for path, status in (("/", 200), ("/console/login", 200), ("/console/nowhere", 404)):
        tab.open(path, status)
        assert_accessible(tab)


def assert_accessible(tab: Tab) -> None:
    """In both colour schemes, and in a narrow window."""
    tab.do(tab.page.set_viewport_size({"width": 1_280, "height": 800}))
    tab.darken()
    assert listed(tab.violations()) == []
    tab.darken(dark=False)
    assert listed(tab.violations(of_colours=True)) == []
    assert tab.overflow(NARROWEST) == 0
    assert listed(tab.violations()) == []


def test_the_keyboard_reaches_everything(open_tab: OpenTab) -> None:
    tab = open_tab()
    tab.open("/console")
    tab.do(tab.page.keyboard.press("Tab"))
    focused = "document.activeElement.textContent.trim()"
    assert tab.do(tab.page.evaluate(focused)) == "Skip to the content"
    tab.do(tab.page.keyboard.press("Enter"))
    assert tab.do(tab.page.evaluate("document.activeElement.id")) == "main"
    links = tab.page.get_by_role("navigation").get_by_role("link")
    tab.do(links.last.focus())
    tab.do(tab.page.keyboard.press("Enter"))
    tab.do(tab.page.wait_for_url("**/console/*"))
