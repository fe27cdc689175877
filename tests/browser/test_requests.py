"""Requests in a browser: a client sends one, and a person sees it within a second."""

from typing import cast

import pytest
from playwright.async_api import Route

from browser.conftest import OpenTab, Site
from comptoir.auth.records import ConsoleRole
from support.chromium import Tab, listed
from support.console import new_code
from support.samples import SHIPPING_AGENT
from support.waiting import until

AGENT = f"shippingAgentsExt({SHIPPING_AGENT})"


@pytest.fixture
def live(open_tab: OpenTab, site: Site) -> Tab:
    """The live list."""
    tab = open_tab()
    tab.open(f"/console/requests?company={site.company.id}")
    tab.do(tab.page.get_by_role("button", name="● Live").wait_for())
    return tab


def test_a_refused_request_appears_and_is_explained(live: Tab, site: Site) -> None:
    refused = site.company.patch(AGENT, {"name": "It's"}, if_match='W/"1"')
    row = live.page.locator(f"tr[data-id='{refused.headers['x-request-id']}']")
    live.do(row.wait_for())

    assert "412" in live.texts(row)[0]
    assert "tag" in live.texts(row)[0]
    news = live.texts(live.page.get_by_role("status"))[0]
    assert "PATCH shippingAgentsExt" in news
    assert "412 tag" in news

    assert live.overflow(360) == 0
    top = "each => each.getBoundingClientRect().top"
    cells = row.locator("td")
    status, check = (live.do(cells.nth(each).evaluate(top)) for each in (2, 3))
    assert abs(status - check) < 10
    assert check < live.do(cells.first.evaluate(top)) + 10
    assert check < live.do(row.get_by_role("link").evaluate(top))
    assert live.do(row.evaluate("each => each.scrollWidth - each.clientWidth")) == 0

    live.click(row.get_by_role("link"))
    steps = live.texts(live.page.locator(".checks li"))
    assert any(each.startswith("✗ tag") for each in steps)
    assert listed(live.violations()) == []
    assert live.overflow(320) == 0

    copied = live.copied("Copy as curl")
    assert copied.startswith('curl -sS -X PATCH -H "Authorization: Bearer $TOKEN"')
    assert copied.endswith(f"{AGENT}'")


def test_the_live_list_pauses(live: Tab, site: Site) -> None:
    live.do(live.page.get_by_role("button", name="● Live").focus())
    live.do(live.page.keyboard.press("Enter"))
    assert live.texts(live.page.get_by_role("status")) == ["Paused."]
    unseen = site.company.get(AGENT).headers["x-request-id"]

    live.do(live.page.keyboard.press("Enter"))
    live.do(live.page.locator(f"tr[data-id='{unseen}']").wait_for())


def test_a_late_answer_does_not_count_after_a_pause(live: Tab, site: Site) -> None:
    """The list goes on with what it asks for since then."""
    late: list[Route] = []

    async def hold(route: Route) -> None:
        late.append(route)

    live.do(live.page.route("**/console/requests/rows*", hold, times=1))
    until(lambda: late or None, "a look at the list that is not answered")
    button = live.page.locator("#live")
    live.do(button.click())
    live.do(button.click())
    live.do(late[0].fulfill(status=404))
    unseen = site.company.get(AGENT).headers["x-request-id"]
    live.do(live.page.locator(f"tr[data-id='{unseen}']").wait_for())
    assert all("status of 404" in each for each in live.errors)
    live.errors.clear()


def test_the_live_list_ends_with_the_service(live: Tab) -> None:
    live.do(live.page.context.set_offline(offline=True))
    live.do(live.page.get_by_text("Paused: the service has stopped").wait_for())
    assert all("ERR_INTERNET_DISCONNECTED" in each for each in live.errors)
    live.errors.clear()
    live.do(live.page.context.set_offline(offline=False))


def test_the_live_list_goes_on_after_the_console_was_busy(live: Tab, site: Site) -> None:
    async def refuse(route: Route) -> None:
        await route.fulfill(status=503)

    live.do(live.page.route("**/console/requests/rows*", refuse, times=1))
    until(lambda: live.errors or None, "a refused look at the list")
    missing = site.company.get("nothingExt").headers["x-request-id"]
    live.do(live.page.locator(f"tr[data-id='{missing}']").wait_for())
    assert all("status of 503" in each for each in live.errors)
    live.errors.clear()


def test_a_filter_holds_for_new_requests(live: Tab, site: Site) -> None:
    live.do(live.page.get_by_label("Check").select_option("resource"))
    live.click(live.page.get_by_role("button", name="Filter"))
    live.do(live.page.get_by_role("button", name="● Live").wait_for())
    read = site.company.get(AGENT).headers["x-request-id"]
    missing = site.company.get("nothingExt").headers["x-request-id"]
    live.do(live.page.locator(f"tr[data-id='{missing}']").wait_for())

    assert live.texts(live.page.locator(f"tr[data-id='{read}']")) == []


@pytest.mark.parametrize("scripts", [True, False])
def test_a_refused_request_is_corrected_and_sent(
    new_tab: OpenTab, site: Site, scripts: bool
) -> None:
    """On a phone, where the responses are below each other, and then on a wide screen."""
    refused = site.company.patch(AGENT, {"name": "Before"}, if_match='W/"1"')
    tab = new_tab(scripts=scripts)
    tab.keep(site.user(ConsoleRole.EDITOR).cookies)
    tab.open("/console/requests")
    assert tab.do(tab.page.locator("#live").is_visible()) == scripts
    tab.do(tab.page.set_viewport_size({"width": 360, "height": 800}))
    tab.open(f"/console/requests/{refused.headers['x-request-id']}")
    tab.click(tab.page.get_by_role("link", name="Edit and send again"))
    tab.click(tab.page.get_by_role("button", name="Use the record's ETag now"))
    tag = site.company.record(AGENT)["@odata.etag"]
    assert f"If-Match: {tag}" in tab.do(tab.page.get_by_label("Headers").input_value())
    tab.do(tab.page.get_by_label("Body").fill('{"name": "Typed"}'))
    tab.click(tab.page.get_by_role("button", name="Send as console:anna"))

    assert site.company.record(AGENT)["name"] == "Typed"
    titles = tab.texts(tab.page.locator(".compared h2"))
    assert titles == ["First response 412 tag", "New response 200"]
    if scripts:
        assert listed(tab.violations()) == []
    assert tab.overflow(320) == 0
    (left, top), (new_left, new_top) = corners(tab)
    assert (left, top < new_top) == (new_left, True)
    assert tab.overflow(1_280) == 0
    (left, top), (new_left, new_top) = corners(tab)
    assert (left < new_left, top) == (True, new_top)


def corners(tab: Tab) -> list[list[float]]:
    """Where the responses that a page compares begin."""
    corner = "each => [each.getBoundingClientRect().x, each.getBoundingClientRect().y]"
    found = tab.page.locator(".compared > section").evaluate_all(f"all => all.map({corner})")
    return cast("list[list[float]]", tab.do(found))


def test_a_request_that_is_edited_outlives_its_session(new_tab: OpenTab, site: Site) -> None:
    written = site.company.patch(AGENT, {"name": "Before"}, if_match="*")
    tab, user = new_tab(), site.user(ConsoleRole.EDITOR)
    tab.keep(user.cookies)
    tab.open(f"/console/requests/{written.headers['x-request-id']}/again")
    body = tab.page.get_by_label("Body")
    tab.do(body.fill('{"name": "After the login"}'))
    user.submit(user.get("/console/sessions"), "/console/sessions/end")
    tab.click(tab.page.get_by_role("button", name="Send as console:anna"))
    assert tab.texts(tab.page.locator("h1")) == ["Log in to Comptoir"]
    assert site.company.record(AGENT)["name"] == "Before"

    user.log_in(new_code(site.server.admin, ConsoleRole.EDITOR))
    tab.keep(user.cookies)
    tab.do(tab.page.go_back())
    assert tab.do(body.input_value()) == '{"name": "After the login"}'
    tab.click(tab.page.get_by_role("button", name="Send as console:anna"))
    assert site.company.record(AGENT)["name"] == "After the login"
