"""Administration in a browser, by keyboard: a client, the audit log, and a fault."""

import re
from collections.abc import Iterator

import pytest
from playwright.async_api import Locator

from browser.conftest import NARROWEST, OpenTab, Site
from browser.keyboard import press, submit, tab_to
from comptoir.auth.audit import Actor
from comptoir.auth.roles import Role
from comptoir.catalog import MODEL
from support.chromium import Chromium, Tab, listed
from support.clients import GRANT, ask
from support.console import new_code
from support.databases import FreshDatabase
from support.rehearsal import control_of
from support.server import Server
from support.waiting import until

RED = {False: (163, 22, 28), True: (255, 154, 154)}
"""The colour of a banner, light and dark."""


def write(tab: Tab, label: str, text: str) -> None:
    """Type into a field with the keyboard alone."""
    tab_to(tab, tab.page.get_by_label(label, exact=True))
    press(tab, "Control+A")
    tab.do(tab.page.keyboard.type(text))


def text_of(tab: Tab, found: Locator) -> str:
    (text,) = tab.texts(found)
    return text


def test_a_client_by_keyboard(open_tab: OpenTab, site: Site) -> None:
    """Its secret is shown once, and gets a token until the client is disabled."""
    tab, server = open_tab(), site.server
    tab.open("/console/clients/new")
    write(tab, "Name", "typed")
    submit(tab, "Add the client")
    credentials = {
        "client_id": text_of(tab, tab.page.locator("#client-id")),
        "client_secret": text_of(tab, tab.page.locator("#secret")),
    }
    assert tab.copied("Copy the secret") == credentials["client_secret"]
    given = ask(server, {**GRANT, **credentials})
    assert given.status_code == 200
    companies = server.client.using(given.json()["access_token"])
    assert companies.get("companies").status_code == 200

    tab.open("/console/clients/client?name=typed")
    assert credentials["client_secret"] not in tab.do(tab.page.content())
    tab_to(tab, tab.page.get_by_role("button", name="Disable the client typed?"))
    press(tab, "Enter")
    submit(tab, "Disable the client")
    assert text_of(tab, tab.page.get_by_role("status")).startswith("The client is disabled.")
    assert listed(tab.violations()) == []
    assert ask(server, {**GRANT, **credentials}).status_code == 401
    until(lambda: companies.get("companies").status_code == 401 or None, "a refused token")

    tab.open("/console/audit")
    tab_to(tab, tab.page.get_by_label("Act"))
    tab.do(tab.page.keyboard.type("client.disable"))
    write(tab, "Text", "typed")
    submit(tab, "Filter")
    (row,) = tab.texts(tab.page.locator("tbody tr"))
    assert re.search(r"console:anna\s+client\.disable\s+typed", row)


def test_a_long_entry_of_the_audit_log_fits(open_tab: OpenTab, site: Site) -> None:
    letters = {"*": "R", **{each.name: "RIMD" for each in MODEL.per_company}}
    actor = Actor("console:somebody-in-the-warehouse", "2001:db8:1234:5678:9abc:def0:1234:5678")
    control, wait = site.server.admin.control, site.server.admin.wait
    wait(control.put_roles([Role("role-of-the-warehouse", letters)], actor))
    tab = open_tab()
    tab.do(tab.page.set_viewport_size({"width": 1_280, "height": 720}))
    tab.open("/console/audit?text=role-of-the-warehouse")
    entries = tab.page.get_by_role("region", name="Entries")
    assert tab.do(entries.evaluate("each => each.scrollWidth - each.clientWidth")) == 0
    width = tab.do(entries.locator("td[data-label=Detail]").evaluate("each => each.offsetWidth"))
    assert width > 240
    wait(control.remove_role("role-of-the-warehouse", actor))


def test_the_form_of_a_role_says_what_ticks_result_in(open_tab: OpenTab) -> None:
    tab = open_tab()
    tab.open("/console/roles/edit")
    row = tab.page.get_by_role("row", name="contactsExt")
    result = row.locator("td").last
    assert tab.texts(result) == ["as every other"]
    tab.do(row.get_by_label("insert contactsExt").check())
    assert tab.texts(result) == ["only these cannot read"]
    tab.do(row.get_by_label("read contactsExt").check())
    assert tab.texts(result) == ["only these"]


@pytest.fixture(scope="module")
def faulty(
    fresh_sqlite: FreshDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    with Server.over(fresh_sqlite, tmp_path_factory.mktemp("faulty"), faults="on") as server:
        yield server


def test_a_fault_by_keyboard(chromium: Chromium, faulty: Server) -> None:
    """It is red on every page until it ends by itself."""
    origin = faulty.base_url.removesuffix(faulty.settings.base_path)
    company, control = faulty.new_company(), control_of(faulty)
    agents = MODEL.stored[0].name
    with chromium.tab(origin) as tab:
        tab.log_in(new_code(faulty.admin))
        tab.open("/console/faults/new")
        assert listed(tab.violations()) == []
        tab_to(tab, tab.page.get_by_role("link", name="throttle"))
        with tab.leaving():
            press(tab, "Enter")
        assert listed(tab.violations()) == []
        write(tab, "Id", "busy")
        submit(tab, "Switch the fault on")

        refused = company.get(agents)
        assert refused.status_code == 429
        assert refused.headers["comptoir-fault-applied"] == "busy"
        for path in ("", "/faults", "/faults/report"):
            tab.open(f"/console{path}")
            banner = tab.page.get_by_role("region", name="Faults", exact=True)
            assert "busy: throttle" in text_of(tab, banner)
            for dark in (True, False):
                tab.darken(dark)
                colour = tab.do(banner.evaluate("element => getComputedStyle(element).color"))
                assert colour == "rgb({}, {}, {})".format(*RED[dark])
                assert listed(tab.violations(of_layout=dark)) == []
            assert tab.overflow(NARROWEST) == 0

        tab.open("/console/faults")
        tab_to(tab, tab.page.get_by_role("button", name="End the rule busy?"))
        press(tab, "Enter")
        tab.do(tab.page.get_by_role("dialog", name="End the rule busy?").wait_for())
        assert listed(tab.violations()) == []
        press(tab, "Escape")
        assert company.get(agents).status_code == 429

        control.advance("PT16M")
        assert company.get(agents).status_code == 200
        tab.open("/console/faults")
        assert tab.texts(tab.page.get_by_role("region", name="Faults", exact=True)) == []
