"""Login by a link, with and without scripts."""

import pytest

from browser.conftest import OpenTab, Site
from comptoir.auth.records import ConsoleRole
from support.chromium import Tab
from support.console import console_of, new_code
from support.waiting import until


@pytest.fixture
def tab(new_tab: OpenTab, site: Site) -> Tab:
    """A tab that has opened the link of a viewer."""
    tab = new_tab()
    tab.log_in(new_code(site.server.admin, ConsoleRole.VIEWER))
    return tab


def test_a_link_logs_in_and_leaves_no_code(tab: Tab) -> None:
    assert tab.texts(tab.page.locator("h1")) == ["Overview"]
    assert "viewer" in tab.texts(tab.page.locator("header"))[0]
    tab.do(tab.page.go_back())
    assert "#" not in tab.page.url


def test_a_link_logs_in_that_is_pasted_into_the_tab_of_the_login_page(tab: Tab, site: Site) -> None:
    """Only the fragment of the address changes then."""
    tab.click(tab.page.get_by_role("button", name="Log out"))
    code = new_code(site.server.admin)
    with tab.leaving():
        tab.do(tab.page.evaluate("code => { location.hash = code }", code))
    assert tab.texts(tab.page.locator("h1")) == ["Overview"]


def test_scripts_cannot_read_the_cookie(tab: Tab, site: Site) -> None:
    assert tab.do(tab.page.evaluate("document.cookie")) == ""
    cookies = tab.do(tab.page.context.cookies())
    name = console_of(site.server).session_cookie
    assert {cookie["name"] for cookie in cookies} == {name, f"{name}_company"}
    for cookie in cookies:
        assert cookie["httpOnly"]
        assert cookie["sameSite"] == "Strict"


def test_no_page_is_shown_in_a_frame(open_tab: OpenTab, site: Site) -> None:
    tab = open_tab()
    framing = f'<iframe src="{site.origin}/console"></iframe>'
    tab.do(tab.page.goto("about:blank"))
    tab.do(tab.page.set_content(framing))
    frame = tab.page.frames[1]
    until(lambda: frame.url.startswith("chrome-error:") or None, "a frame that is refused")
