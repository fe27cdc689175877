"""Records in a browser: found with the keyboard, and edited in two tabs at once."""

from urllib.parse import urlencode

import pytest
from playwright.async_api import Dialog, FloatRect, Locator

from browser.conftest import NARROWEST, OpenTab, Site
from browser.keyboard import forgive, press, submit, tab_to
from comptoir.auth.records import ConsoleRole
from comptoir.features.console.templates import LARGEST_FORM
from support.chromium import Tab, listed
from support.client import Record
from support.companies import Company
from support.console import new_code
from support.waiting import until

GUID = "5d115c9c-44e3-4a11-bb43-000d3a2feca1"


def address(company: Company, path: str, **query: str) -> str:
    return f"/console/records{path}?{urlencode({'company': company.id, **query})}"


def fill(tab: Tab, name: str, text: str) -> None:
    """Type into a field of a record with the keyboard alone."""
    tab_to(tab, tab.page.locator(f"[name='field.{name}']"))
    press(tab, "Control+A")
    tab.do(tab.page.keyboard.type(text))


def box(tab: Tab, found: Locator) -> FloatRect:
    rectangle = tab.do(found.bounding_box())
    assert rectangle is not None
    return rectangle


def names(tab: Tab) -> list[str]:
    return tab.texts(tab.page.locator("tbody th"))


def new_company(site: Site, count: int = 0) -> Company:
    """A company with some units of measure."""
    company = site.server.new_company()
    units = ({"code": f"U{n:03}", "displayName": f"Unit {n % 2}"} for n in range(count))
    if count:
        company.load("unitsOfMeasureExt", *units)
    return company


def test_records_are_found_by_keyboard(open_tab: OpenTab, site: Site) -> None:
    company = new_company(site, 60)
    tab = open_tab(ConsoleRole.VIEWER)
    tab.open(address(company, ""))

    tab_to(tab, tab.page.get_by_role("link", name="Units of measure"))
    with tab.leaving():
        press(tab, "Enter")
    tab_to(tab, tab.page.get_by_label("Filter"))
    tab.do(tab.page.keyboard.type("displayName eq 'Unit 1' or code lt 'U030'"))
    submit(tab, "Run")
    assert names(tab)[:3] == ["U000", "U001", "U002"]
    heading = tab.page.get_by_role("columnheader", name="Code")
    assert tab.do(heading.get_attribute("aria-sort")) == "ascending"
    tab_to(tab, heading.get_by_role("link"))
    with tab.leaving():
        press(tab, "Enter")
    assert names(tab)[:3] == ["U059", "U057", "U055"]


def test_times_are_in_the_zone_of_the_reader(new_tab: OpenTab, site: Site) -> None:
    company = new_company(site)
    row = {"number": "C", "lastInteractionDate": "2026-01-31", "displayName": "C"}
    company.load("contactsExt", {**row, "lastModifiedDateTime": "2026-01-31T18:30:05.123Z"})
    [contact] = company.listed("contactsExt")
    tab = new_tab()
    tab.log_in(new_code(site.server.admin, ConsoleRole.VIEWER))
    session = tab.do(tab.page.context.new_cdp_session(tab.page))
    tab.do(session.send("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Tokyo"}))
    tab.do(session.send("Emulation.setLocaleOverride", {"locale": "de-DE"}))

    tab.open(address(company, "/contactsExt/record", key=str(contact["id"])))

    assert tab.texts(tab.page.locator("time")) == ["31.01.2026", "01.02.2026, 03:30"]
    exact = tab.page.locator("time[title='2026-01-31T18:30:05.123Z']")
    assert tab.do(exact.count()) == 1


def test_a_list_keeps_its_head_and_a_click_filters(open_tab: OpenTab, site: Site) -> None:
    company = new_company(site, 60)
    tab = open_tab(ConsoleRole.VIEWER)
    tab.open(address(company, "/unitsOfMeasureExt"))

    row = tab.page.get_by_role("row").nth(45)
    tab.do(row.scroll_into_view_if_needed())
    head = box(tab, tab.page.get_by_role("columnheader", name="Code"))
    region = box(tab, tab.page.get_by_role("region", name="Units of measure"))
    assert abs(head["y"] - region["y"]) < 3
    tab.click(row.get_by_role("button", name="Unit 0"))
    assert names(tab) == [f"U{number:03}" for number in range(0, 60, 2)]
    assert listed(tab.violations()) == []

    name = names(tab)[20]
    tab.click(tab.page.get_by_role("link", name=name, exact=True))
    tab.click(tab.page.get_by_role("main").get_by_role("link", name="Units of measure"))
    assert tab.texts(tab.page.locator("tr:target th")) == [name]
    assert names(tab) == [f"U{number:03}" for number in range(0, 60, 2)]


def test_the_caret_is_below_the_error(open_tab: OpenTab, site: Site) -> None:
    tab = open_tab(ConsoleRole.VIEWER)
    for width in (1_280, NARROWEST):
        tab.do(tab.page.set_viewport_size({"width": width, "height": 800}))
        tab.open(address(site.company, "/contactsExt"))
        tab_to(tab, tab.page.get_by_label("Filter"))
        typed = "type eq 'Person' and startswith(displayName, 'A') and city eqq 'Graz'"
        tab.do(tab.page.keyboard.type(typed))
        submit(tab, "Run")
        forgive(tab, 400)

        error, caret = tab.page.locator(".at"), tab.page.locator(".caret")
        assert tab.texts(caret) == ["^"]
        assert tab.texts(error) == ["e\n^"]
        above, below = box(tab, error), box(tab, caret)
        assert abs(above["x"] - below["x"]) < 1
        assert below["y"] > above["y"] + above["height"] / 2
        assert tab.do(tab.page.get_by_label("Filter").input_value()) == typed
        assert tab.overflow(width) == 0
        assert listed(tab.violations()) == []


def test_a_conflict_of_two_tabs_is_resolved_field_by_field(open_tab: OpenTab, site: Site) -> None:
    company = site.server.new_company()
    read: Record = {"id": GUID, "displayName": "Quaystone", "phoneNumber": "1", "city": "Graz"}
    company.load("contactsExt", {**read, "email": "a@example.com"})
    mine, theirs = open_tab(ConsoleRole.EDITOR, dark=True), open_tab(ConsoleRole.EDITOR)
    mine.do(mine.page.set_viewport_size({"width": NARROWEST, "height": 800}))
    record = address(company, "/contactsExt/record/edit", key=GUID)
    for tab in (mine, theirs):
        tab.open(record)

    fill(theirs, "displayName", "Quaystone Mail")
    fill(theirs, "phoneNumber", "2")
    fill(theirs, "email", "theirs@example.com")
    submit(theirs, "Save")
    fill(mine, "displayName", "Quaystone Courier")
    fill(mine, "city", "Wien")
    fill(mine, "email", "mine@example.com")
    submit(mine, "Save")
    forgive(mine, 412)

    assert "console:anna" in mine.texts(mine.page.get_by_role("alert"))[0]
    assert "change 2." in mine.texts(mine.page.get_by_role("alert"))[0]
    assert mine.overflow(NARROWEST) == 0
    assert listed(mine.violations()) == []
    tab_to(mine, mine.page.locator("[name='choice.displayName'][value=yours]"))
    press(mine, "Space")
    tab_to(mine, mine.page.locator("[name='choice.email'][value=yours]"))
    press(mine, "ArrowDown")
    submit(mine, "Save over change 2")

    assert "The record was saved, as change 3." in mine.texts(mine.page.get_by_role("status"))
    now = company.record(f"contactsExt({GUID})")
    values = [now[name] for name in ("displayName", "phoneNumber", "city", "email")]
    assert values == ["Quaystone Courier", "2", "Wien", "theirs@example.com"]


def test_a_form_with_changes_is_left_only_after_a_question(open_tab: OpenTab, site: Site) -> None:
    company = new_company(site)
    tab = open_tab(ConsoleRole.EDITOR)
    page = address(company, "/unitsOfMeasureExt/new")
    tab.open(page)
    asked: list[str] = []

    async def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        await dialog.dismiss()

    async def listen() -> None:
        tab.page.once("dialog", stay)

    tab.do(listen())
    fill(tab, "code", "BOX")
    overview = tab.page.get_by_role("link", name="Overview")
    tab.do(overview.click(no_wait_after=True))
    until(lambda: asked or None, "a question")
    assert tab.page.url.endswith(page)
    assert tab.do(tab.page.locator("[name='field.code']").input_value()) == "BOX"
    submit(tab, "Create")
    tab.click(overview)
    assert asked == ["beforeunload"]
    assert company.record("unitsOfMeasureExt('BOX')")["code"] == "BOX"


def test_a_form_that_is_too_large_keeps_what_was_typed(open_tab: OpenTab, site: Site) -> None:
    company = new_company(site)
    tab = open_tab(ConsoleRole.EDITOR)
    tab.open(address(company, "/unitsOfMeasureExt/new"))
    code = tab.page.locator("[name='field.code']")
    name = tab.page.locator("[name='field.displayName']")
    create = tab.page.get_by_role("button", name="Create")
    alert = tab.page.get_by_role("alert")
    tab.do(code.fill("BOX"))
    tab.do(name.fill("\u00e9" * (LARGEST_FORM // 6)))
    tab.do(create.click())
    tab.do(alert.wait_for())
    (message,) = tab.texts(alert)
    assert f"and the limit is {LARGEST_FORM:,}. Shorten a text" in message
    assert tab.do(name.evaluate("field => field.value.length")) == LARGEST_FORM // 6
    assert tab.do(alert.evaluate("alert => alert === document.activeElement"))
    assert tab.violations() == []
    assert tab.overflow(NARROWEST) == 0

    tab.do(name.fill("Box"))
    tab.click(create)
    assert "was created" in tab.texts(tab.page.get_by_role("status"))[0]
    (record,) = company.get("unitsOfMeasureExt").json()["value"]
    assert (record["code"], record["displayName"]) == ("BOX", "Box")


@pytest.mark.parametrize("scripts", [True, False])
def test_a_form_that_is_refused_is_kept_by_the_browser(
    new_tab: OpenTab, site: Site, scripts: bool
) -> None:
    """The session has ended; without scripts, the form was too large before."""
    company, code = new_company(site), new_code(site.server.admin, ConsoleRole.EDITOR)
    tab = new_tab(scripts=scripts)
    tab.open("/console/login")
    tab.do(tab.page.get_by_label("Code").fill(code))
    tab.click(tab.page.get_by_role("button", name="Log in"))
    tab.open(address(company, "/unitsOfMeasureExt/new"))
    field = tab.page.locator("[name='field.displayName']")
    tab.do(tab.page.locator("[name='field.code']").fill("BOX"))
    if not scripts:
        tab.do(field.fill("x" * (LARGEST_FORM + 1)))
        tab.click(tab.page.get_by_role("button", name="Create"))
        forgive(tab, 413)
        tab.do(tab.page.go_back())
        assert len(tab.do(field.input_value())) == LARGEST_FORM + 1
    tab.do(field.fill("Box"))
    tab.do(tab.page.context.clear_cookies())
    tab.click(tab.page.get_by_role("button", name="Create"))
    assert tab.texts(tab.page.locator("h1")) == ["Log in to Comptoir"]

    other = tab.do(tab.page.context.new_page())
    tab.do(other.goto(f"{site.origin}/console/login"))
    tab.do(other.get_by_label("Code").fill(new_code(site.server.admin, ConsoleRole.EDITOR)))
    tab.do(other.get_by_role("button", name="Log in").click())
    tab.do(other.get_by_role("heading", name="Overview").wait_for())
    tab.do(tab.page.go_back())
    assert tab.do(field.input_value()) == "Box"
    tab.click(tab.page.get_by_role("button", name="Create"))
    assert "was created" in tab.texts(tab.page.get_by_role("status"))[0]
    assert company.record("unitsOfMeasureExt('BOX')")["displayName"] == "Box"
