"""The screen of faults: rules that end by themselves, and the banner on every page."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from comptoir.auth.records import ConsoleRole
from comptoir.catalog import MODEL
from comptoir.edm.times import instant
from comptoir.features.rehearsal.faults import FAULTS
from support.console import Browser, audited, error_beside, logged_in
from support.databases import ON_SQLITE
from support.rehearsal import Rehearsal, control_of
from support.service import Service, StartService
from support.together import together

LIST = "/console/faults"
NEW = f"{LIST}/new"
A_SET = MODEL.stored[0].name


@pytest.fixture(scope="module")
def faulty(share_service: StartService) -> Service:
    return share_service(faults="on")


@pytest.fixture
def control(faulty: Service) -> Iterator[Rehearsal]:
    """The control endpoint, which is reset at the end."""
    control = control_of(faulty)
    yield control
    control.client.post("reset", {})


def banner_of(browser: Browser, path: str = "") -> str:
    """The notice of a page that faults are on."""
    begun = browser.get(f"/console{path}").text.partition('aria-label="Faults">')[2]
    return begun.partition("</section>")[0]


def switched_on(browser: Browser, fault: str, **fields: str) -> str:
    """The page after a rule was added."""
    return browser.follow(browser.submit(browser.get(f"{NEW}?fault={fault}"), NEW, **fields)).text


def test_a_rule_is_seen_on_every_page_and_ends_by_itself(
    faulty: Service, control: Rehearsal
) -> None:
    browser = logged_in(faulty)
    company = faulty.new_company()
    page = switched_on(browser, "throttle", set=A_SET, minutes="30", id="busy")
    assert "The rule is in force." in page
    refused = company.get(A_SET)
    assert (refused.status_code, refused.headers["comptoir-fault-applied"]) == (429, "busy")
    for path in ("", "/audit", "/clients", "/faults/report"):
        assert "busy: throttle" in banner_of(browser, path)
    met = r'<th scope="row"[^>]*>throttling</th><td[^>]*>1</td><td[^>]*>1</td>'
    assert re.search(met, browser.get(f"{LIST}/report").text)
    assert f"GET /api/companies({company.root.rpartition('(')[2]}/{A_SET}" in browser.get(LIST).text
    entry = audited(faulty, "faults.change")[-1]
    assert (entry.by, entry.detail) == ("console:anna", "busy")

    (rule,) = control.client.get("").json()["rules"]
    last = instant(datetime.now(UTC) + timedelta(minutes=30))
    assert rule["until"] <= last
    control.advance("PT31M")
    assert company.get(A_SET).status_code == 200
    page = browser.get(LIST).text
    assert "No rule is in force." in page
    assert 'aria-label="Faults"' not in page


@pytest.mark.usefixtures("control")
def test_a_user_of_some_companies_sees_that_faults_are_on(faulty: Service) -> None:
    """Without a link to the rules, which belong to no company."""
    link = 'href="/console/faults'
    admin = logged_in(faulty)
    switched_on(admin, "throttle", id="busy")
    assert link in banner_of(admin)
    limited = logged_in(faulty, companies=frozenset({faulty.new_company().id}))
    assert "busy: throttle" in banner_of(limited)
    assert link not in banner_of(limited)


def test_a_rule_is_ended(faulty: Service, control: Rehearsal) -> None:
    browser = logged_in(faulty)
    switched_on(browser, "throttle", id="busy")
    switched_on(browser, "lock", id="locked")
    page = browser.follow(browser.submit(browser.get(LIST), f"{LIST}/end", id="busy"))
    assert "The rule has ended." in page.text
    assert [each["id"] for each in control.client.get("").json()["rules"]] == ["locked"]
    assert audited(faulty, "faults.change")[-1].detail == "locked"
    again = browser.submit(page, f"{LIST}/end", id="busy")
    assert again.status_code == 404


@ON_SQLITE
@pytest.mark.usefixtures("control")
@together("fault", FAULTS)
def test_each_fault_has_a_form_that_can_be_sent_as_it_is(fault: str, faulty: Service) -> None:
    browser = logged_in(faulty)
    assert f"fault={fault}" in browser.get(NEW).text
    assert "The rule is in force." in switched_on(browser, fault)


def test_the_fields_of_a_rule(faulty: Service, control: Rehearsal) -> None:
    browser = logged_in(faulty)
    fields = {"client": "client:shop", "method": "GET", "nth": "3", "times": "2", "percent": "50"}
    switched_on(browser, "away", **fields, **{"parameter-retry-after": "7", "path": "*/$count"})
    (rule,) = control.client.get("").json()["rules"]
    assert rule.pop("until")
    assert rule.pop("seed")
    match = {"method": "GET", "path": "*/$count", "client": "client:shop", "nth": 3}
    assert rule == {
        "id": "rule-0",
        "fault": "away; kind=json; retry-after=7",
        "match": match,
        "probability": 0.5,
        "times": 2,
    }


@ON_SQLITE
@together(
    ("field", "text", "message"),
    [
        ("minutes", "1441", "Enter one from 1 to 1440"),
        ("minutes", "", "Enter one from 1 to 1440"),
        ("parameter-retry-after", "soon", "Send date or"),
        ("set", "nothing", "Use a name from $metadata"),
        ("method", "TRACE", "Send one of GET"),
        ("id", "a b", "Send up to 40 letters"),
        ("percent", "0", "Enter one from 1 to 100"),
        ("nth", "x", "Enter one from 1"),
    ],
)
def test_an_error_is_shown_beside_its_field(
    field: str, text: str, message: str, faulty: Service, control: Rehearsal
) -> None:
    browser = logged_in(faulty)
    fields = {"path": "*/x", field: text}
    page = browser.submit(browser.get(f"{NEW}?fault=throttle"), NEW, **fields)
    assert message in error_beside(page, field)
    assert 'value="*/x"' in page.text
    assert control.client.get("").json() == {"rules": []}


@ON_SQLITE
@pytest.mark.usefixtures("control")
def test_viewers_see_faults_and_only_admins_set_them(faulty: Service) -> None:
    switched_on(logged_in(faulty), "lock", id="locked")
    viewer = logged_in(faulty, ConsoleRole.VIEWER)
    page = viewer.get(LIST)
    assert "locked" in page.text
    assert '<button class="danger"' not in page.text
    assert viewer.get(NEW).status_code == 403
    assert viewer.post(f"{LIST}/end", {"id": "locked"}).status_code == 403


def test_a_service_without_faults_has_no_such_screen(admin: Browser) -> None:
    assert admin.get(LIST).status_code == 404
    assert "/console/faults" not in admin.get("/console").text
