"""The page `/docs`: common operations first, addresses of operations, and the authorization."""

from collections.abc import Iterator

import msgspec
import pytest

from browser.conftest import NARROWEST, Site
from support.chromium import Chromium, Tab
from support.client import values
from support.waiting import until

CONTACTS = "#operations-tag-contactsExt"
SHOWN = tuple(f"/companies({{company_id}})/{each}" for each in ("contactsExt", "campaignsExt"))
TOKEN_FIELD = "input[aria-label='auth-bearer-value']"


@pytest.fixture
def tab(chromium: Chromium, site: Site) -> Iterator[Tab]:
    with chromium.tab(site.origin, dark=True) as tab:
        yield tab


def operations(tab: Tab, place: str) -> list[str]:
    """The methods and paths of the operations that are shown at a place."""
    rows = tab.texts(tab.page.locator(f"{place} .opblock-summary:visible"))
    # the browser breaks paths with zero-width spaces
    return [" ".join(row.replace("\u200b", "").split()[:2]) for row in rows]


@pytest.mark.timeout(600)
def test_operations_are_folded_and_have_addresses_and_the_authorization_is_kept(
    tab: Tab, site: Site
) -> None:
    """The authorization also fills in the company.

    In one test, since each load takes seconds, with a document that is cut to two tags.
    """
    page = tab.page
    whole = msgspec.json.decode(site.server.origin.get("docs/openapi.json").content)
    paths = {path: item for path, item in whole["paths"].items() if path.startswith(SHOWN)}
    body = msgspec.json.encode({**whole, "paths": paths})
    tab.do(page.route("**/docs/openapi.json", lambda route: route.fulfill(body=body)))
    tab.open("/docs")
    tab.do(page.click(CONTACTS))
    tab.do(page.wait_for_selector(".opblock-summary"))
    assert tab.do(page.locator("#operations-tag-campaignsExt").count()) == 1
    contacts = SHOWN[0]
    common = [
        f"GET {contacts}",
        f"POST {contacts}",
        *(f"{method} {contacts}({{id}})" for method in ("GET", "PATCH", "PUT", "DELETE")),
    ]
    assert operations(tab, "") == common
    tab.do(page.click("details.others summary"))
    others = operations(tab, "details.others")
    assert len(others) > 10
    assert others[0] == f"GET {contacts}/$count"

    assert tab.do(page.evaluate("document.documentElement.className")) == "dark-mode"
    tab.do(page.click("button.authorize"))
    tab.do(page.fill(TOKEN_FIELD, site.server.tokens.issue()))
    tab.do(page.press(TOKEN_FIELD, "Enter"))
    chosen = "sessionStorage.getItem('comptoir-company')"
    until(lambda: tab.do(page.evaluate(chosen)), "a company that is filled in")
    tab.do(page.evaluate("location.hash = '#/contactsExt/contactsExt-count'"))
    tab.do(page.reload())
    (company,) = values(site.server.client.get("companies", "$top=1&$select=id"))
    field = f"tr[data-param-name=company_id] input[value='{company['id']}']"
    tab.do(page.wait_for_selector("details.others .execute"))
    tab.do(page.wait_for_selector(field))
    tab.do(page.click(".execute"))
    tab.do(page.wait_for_selector(".live-responses-table .response"))
    (status,) = tab.texts(page.locator(".live-responses-table .response .response-col_status"))
    assert status.strip() == "200"
    assert tab.do(page.evaluate("localStorage.length")) == 0
    # names of entity sets, the tables of an operation and its response are wide
    assert tab.overflow(NARROWEST) == 0
