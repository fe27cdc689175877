"""Questions before something is deleted, removed, disabled or ended: dialogs, by keyboard."""

from typing import NamedTuple

import pytest

from browser.conftest import NARROWEST, OpenTab, Site
from browser.keyboard import forgive, press, submit, tab_to
from comptoir.auth.audit import Actor
from comptoir.auth.fields import new_client
from comptoir.auth.records import ConsoleRole
from comptoir.auth.roles import Role
from comptoir.auth.tokens import Scope
from support.chromium import Tab, listed

GUID = "5d115c9c-44e3-4a11-bb43-000d3a2feca1"
TESTS = Actor("tests")


class Asked(NamedTuple):
    """A question: the page with it, what opens it, its heading, the answers, and what is shown."""

    path: str
    opener: str
    heading: str
    answer: str
    refusal: str
    done: str


@pytest.fixture
def questions(site: Site) -> list[Asked]:
    """Questions of all screens about what nobody else uses."""
    control, wait = site.server.admin.control, site.server.admin.wait
    company = site.server.new_company()
    company.load("contactsExt", {"id": GUID, "number": "ASKED", "displayName": "Quaystone"})
    scopes = frozenset({Scope.RECORDS_READ})
    client, text = new_client("asked", 180, scopes=scopes)
    wait(control.add_client(client, TESTS))
    wait(control.put_roles([Role("asked", {"contactsExt": "R"})], TESTS))
    record = f"/console/records/contactsExt/record?company={company.id}&key={GUID}"
    page, of_secret = "/console/clients/client?name=asked", f"Remove the secret {text[:4]}…?"
    keep, removed = "Keep it", "was removed."
    return [
        Asked(record, "Delete…", "Delete contact ASKED?", "Delete", keep, "was deleted"),
        Asked(page, "Remove…", of_secret, "Remove the secret", keep, f"The secret {removed}"),
        Asked(
            *(page, "Disable…", "Disable the client asked?", "Disable the client"),
            *("Keep it active", "The client is disabled."),
        ),
        Asked(
            *(page, "Remove the client…", "Remove the client asked?", "Remove the client"),
            *(keep, f"The client {removed}"),
        ),
        Asked(
            *("/console/roles", "Remove…", "Remove the role asked?", "Remove the role"),
            *(keep, f"The role {removed}"),
        ),
    ]


def focused(tab: Tab) -> str:
    return str(tab.do(tab.page.evaluate("document.activeElement.textContent")))


def test_a_question_is_a_dialog(open_tab: OpenTab, questions: list[Asked]) -> None:
    """It is named, has the focus, and gives it back, whether Escape or a button closes it."""
    tab = open_tab()
    for asked in questions:
        tab.do(tab.page.set_viewport_size({"width": 1_280, "height": 800}))
        tab.open(asked.path)
        tab_to(tab, tab.page.get_by_text(asked.opener, exact=True))
        press(tab, "Enter")
        dialog = tab.page.get_by_role("dialog", name=asked.heading, exact=True)
        tab.do(dialog.wait_for())
        assert focused(tab) == asked.refusal
        for dark in (True, False):
            tab.darken(dark)
            assert listed(tab.violations(of_layout=dark)) == []
        assert tab.overflow(NARROWEST) == 0
        press(tab, "Escape")
        tab.do(dialog.wait_for(state="hidden"))
        assert focused(tab) == asked.opener

        press(tab, "Enter")
        tab.do(dialog.wait_for())
        press(tab, "Enter")
        tab.do(dialog.wait_for(state="hidden"))
        assert focused(tab) == asked.opener

        press(tab, "Enter")
        tab.do(dialog.wait_for())
        submit(tab, asked.answer)
        assert asked.done in tab.texts(tab.page.get_by_role("status"))[0]


def test_a_question_is_asked_without_scripts(open_tab: OpenTab, questions: list[Asked]) -> None:
    tab = open_tab(scripts=False)
    for asked in questions:
        tab.open(asked.path)
        tab.do(tab.page.get_by_text(asked.opener, exact=True).click())
        tab.do(tab.page.get_by_role("heading", name=asked.heading).wait_for())
        tab.click(tab.page.get_by_role("button", name=asked.answer, exact=True))
        assert asked.done in tab.texts(tab.page.get_by_role("status"))[0]


def test_the_version_that_was_read_is_deleted(open_tab: OpenTab, site: Site) -> None:
    company = site.server.new_company()
    company.load("unitsOfMeasureExt", {"code": "BOX", "displayName": "Box"})
    tab = open_tab(ConsoleRole.EDITOR)
    tab.open(f"/console/records/unitsOfMeasureExt/record?company={company.id}&key=BOX")

    company.patch("unitsOfMeasureExt('BOX')", {"displayName": "Case"}, if_match="*")
    tab.do(tab.page.get_by_text("Delete…", exact=True).click())
    submit(tab, "Delete")
    forgive(tab, 412)
    assert "Somebody changed this record" in tab.texts(tab.page.get_by_role("alert"))[0]
    assert company.record("unitsOfMeasureExt('BOX')")["displayName"] == "Case"


@pytest.mark.parametrize("scripts", [True, False])
def test_sessions_are_ended_after_a_question(new_tab: OpenTab, site: Site, scripts: bool) -> None:
    tab, question = new_tab(scripts=scripts), "End all sessions of berta?"
    tab.keep(site.user(ConsoleRole.EDITOR, "berta").cookies)
    tab.open("/console/sessions")
    tab.do(tab.page.get_by_text("End all…", exact=True).first.click())
    tab.do(tab.page.get_by_role("heading", name=question).first.wait_for())
    assert "this one too" in tab.texts(tab.page.locator("main"))[0]
    assert tab.overflow(NARROWEST) == 0
    tab.click(tab.page.get_by_role("button", name="End all sessions", exact=True))
    assert tab.texts(tab.page.locator("h1")) == ["Log in to Comptoir"]
