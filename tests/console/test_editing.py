"""Records are created, changed and deleted by forms; conflicts are resolved field by field."""

from dataclasses import dataclass
from html import unescape
from urllib.parse import urlencode

import httpx
import pytest

from comptoir.auth.records import ConsoleRole
from comptoir.features.console.values import Values, decoded
from support.client import Record, record, tag_of
from support.companies import Company
from support.console import Browser, Form, forms_of, logged_in
from support.databases import ON_SQLITE, writes_held
from support.service import Service, StartService
from support.together import together

GUID = "5d115c9c-44e3-4a11-bb43-000d3a2feca1"
SPECIMEN: Record = {
    "id": GUID,
    "code": "A",
    "series": "S",
    "text": "read",
    "amount": 12.5,
    "active": True,
    "day": "2026-01-31",
}


@dataclass(frozen=True)
class Desk:
    """An editor at the page of a record, of which others know too."""

    browser: Browser
    company: Company
    resource: str = "specimensExt"
    key: str = GUID

    def address(self, rest: str = "/record/edit", **query: str) -> str:
        given = {"company": self.company.id, "key": self.key, **query}
        return f"/console/records/{self.resource}{rest}?{urlencode(given)}"

    def open(self, rest: str = "/record/edit") -> httpx.Response:
        answer = self.browser.get(self.address(rest))
        assert answer.status_code == 200, answer.text
        return answer

    def save(self, page: httpx.Response, **fields: str) -> httpx.Response:
        """Send the form of a page after typing into its fields, or choosing in a conflict."""
        form = main_form(page)
        full = {name.partition(".")[2]: name for name, _ in form.fields if "choice." not in name}
        typed = {full.get(name, name): value for name, value in fields.items()}
        return self.browser.post(form.action, {**dict(form.fields), **typed})

    def elsewhere(self, **values: str | float | bool) -> None:
        """Change the record by another client."""
        path = f"{self.resource}({self.key})"
        record(self.company.patch(path, values, if_match="*"))

    @property
    def now(self) -> Record:
        return self.company.record(f"{self.resource}({self.key})")

    def check(self, **values: str | float | bool) -> None:
        """The record has these values now."""
        now = self.now
        assert {name: now[name] for name in values} == values


def main_form(page: httpx.Response) -> Form:
    return next(each for each in forms_of(page) if "/records/" in each.action)


def said(answer: httpx.Response) -> str:
    return unescape(answer.text)


def value_of(page: httpx.Response, name: str) -> str:
    return dict(main_form(page).fields)[f"field.{name}"]


@pytest.fixture
def desk(browser: Browser, specimens: Company) -> Desk:
    specimens.load("specimensExt", SPECIMEN)
    return Desk(browser, specimens)


def test_a_change_is_saved_by_the_user(desk: Desk) -> None:
    answer = desk.browser.follow(desk.save(desk.open(), text="changed", amount="33.6442"))

    assert "The record was saved, as change 2." in answer.text
    desk.check(text="changed", amount=33.6442)
    assert desk.company.changes()[-1].by == "console:anna"


def test_only_changed_fields_are_sent(desk: Desk) -> None:
    # a changed text derives its mirrored form, unless a body has this too
    desk.browser.follow(desk.save(desk.open(), text="abc"))

    assert desk.now["mirrored"] == "cba"


@ON_SQLITE
@together(
    "read", ["", "[]", "{", "null", '{"text":', "[" * 100_000, '{"amount":1e99999999999999999999}']
)
def test_a_form_with_other_values_than_it_had(desk: Desk, read: str) -> None:
    form = main_form(desk.open())

    answer = desk.browser.post(form.action, {**dict(form.fields), "read": read})

    assert answer.status_code == 400
    assert "The form lacks read, or it was changed on the way" in said(answer)
    assert len(desk.company.changes()) == 1


def test_a_conflict_with_a_tag_of_nobody(desk: Desk) -> None:
    page = desk.open()
    desk.elsewhere(text="theirs")
    form = main_form(desk.save(page, text="yours"))

    for number in ("9" * 19, "9" * 5_000, "²"):
        answer = desk.browser.post(form.action, {**dict(form.fields), "tag": f'W/"1.{number}"'})

        assert answer.status_code == 400
        assert "Somebody" in said(answer)


def test_an_untouched_form_writes_nothing(desk: Desk) -> None:
    answer = desk.browser.follow(desk.save(desk.open()))

    assert "Nothing was changed." in answer.text
    assert len(desk.company.changes()) == 1


@ON_SQLITE
def test_errors_are_beside_their_fields_and_nothing_is_lost(desk: Desk) -> None:
    answer = desk.save(desk.open(), code="", amount="1,5", day="2026-02-30", text="kept <b>")

    assert answer.status_code == 400
    assert "code must not be empty. Send a value for it." in said(answer)
    assert "amount must be a number, not text." in said(answer)
    assert "day must be an existing date" in said(answer)
    assert answer.text.count('aria-invalid="true"') == 3
    typed = {name: value_of(answer, name) for name in ("code", "amount", "day", "text")}
    assert typed == {"code": "", "amount": "1,5", "day": "2026-02-30", "text": "kept <b>"}
    assert desk.now["text"] == "read"

    desk.browser.follow(desk.save(answer, code="A", amount="1.5", day="2026-02-28"))
    assert (desk.now["amount"], desk.now["text"]) == (1.5, "kept <b>")


def test_nothing_is_lost_while_the_database_is_busy(start_service: StartService) -> None:
    service = start_service(lock_seconds=0.3)
    company = service.new_company()
    company.load("unitsOfMeasureExt", {"code": "BOX", "displayName": "Box"})
    desk = Desk(logged_in(service, ConsoleRole.EDITOR), company, "unitsOfMeasureExt", "BOX")
    page, new = desk.open(), desk.open("/new")

    with writes_held(service.settings.database):
        busy = desk.save(page, displayName="Big box", symbol="b")
        not_created = desk.save(new, code="BAG", symbol="s")

    for answer in (busy, not_created):
        assert answer.status_code == 503
        assert 'role="alert"' in answer.text
    assert (value_of(busy, "displayName"), value_of(busy, "symbol")) == ("Big box", "b")
    assert (value_of(not_created, "code"), value_of(not_created, "symbol")) == ("BAG", "s")
    desk.browser.follow(desk.save(busy))
    assert company.record("unitsOfMeasureExt('BOX')")["displayName"] == "Big box"


def test_a_conflict_is_resolved_field_by_field(desk: Desk) -> None:
    page = desk.open()
    desk.elsewhere(text="theirs", series="T", amount=1)

    conflict = desk.save(page, text="mine", day="2026-03-01", amount="1")

    assert conflict.status_code == 412
    assert "Somebody changed this record meanwhile: tests, " in said(conflict)
    assert ", change 2." in said(conflict)
    for part in ("yours: <bdi>mine", "theirs: <bdi>theirs", "taken over", "the same as theirs"):
        assert part in said(conflict)
    assert "Save over" in said(conflict)
    # of what only one side has changed, there is nothing to choose
    choices = {"choice.text": "yours", "choice.series": "yours", "choice.day": "theirs"}
    desk.browser.follow(desk.save(conflict, **choices))
    desk.check(text="mine", series="T", amount=1, day="2026-03-01")


def test_what_both_changed_must_be_chosen(desk: Desk) -> None:
    page = desk.open()
    desk.elsewhere(text="theirs", series="theirs")
    conflict = desk.save(page, text="mine", series="mine")

    undecided = desk.save(conflict, **{"choice.text": "yours"})

    assert undecided.status_code == 400
    assert "Choose yours or theirs for each field that both of you changed." in said(undecided)
    assert desk.now["text"] == "theirs"
    # what was chosen is kept
    desk.browser.follow(desk.save(undecided, **{"choice.series": "theirs"}))
    assert (desk.now["text"], desk.now["series"]) == ("mine", "theirs")


def test_a_conflict_may_follow_a_conflict(desk: Desk) -> None:
    page = desk.open()
    desk.elsewhere(text="second", series="T")
    first = desk.save(page, text="mine", day="2026-03-01")
    desk.elsewhere(text="third", amount=3)

    second = desk.save(first, **{"choice.text": "yours"})

    assert second.status_code == 412
    assert "change 3." in said(second)
    assert "second" in said(second)
    desk.browser.follow(desk.save(second, **{"choice.text": "yours"}))
    desk.check(text="mine", series="T", amount=3, day="2026-03-01")


def test_a_resolved_draft_can_be_edited_before_it_is_saved(desk: Desk) -> None:
    page = desk.open()
    desk.elsewhere(text="theirs")
    conflict = desk.save(page, text="mine", series="")

    form = desk.save(conflict, **{"choice.text": "yours", "edit": "yes"})

    assert (value_of(form, "text"), value_of(form, "series")) == ("mine", "")
    assert desk.now["text"] == "theirs"
    desk.browser.follow(desk.save(form, text="mine & theirs"))
    assert (desk.now["text"], desk.now["series"]) == ("mine & theirs", "")


def test_a_value_refused_after_a_conflict_is_kept(desk: Desk) -> None:
    page = desk.open()
    desk.elsewhere(text="theirs")
    conflict = desk.save(page, amount="lots", series="mine")

    refused = desk.save(conflict)

    assert refused.status_code == 400
    assert (value_of(refused, "amount"), value_of(refused, "text")) == ("lots", "theirs")
    desk.browser.follow(desk.save(refused, amount="5"))
    assert (desk.now["amount"], desk.now["series"], desk.now["text"]) == (5, "mine", "theirs")


def test_a_conflict_under_business_central(start_service: StartService) -> None:
    service = start_service(profile="business-central")
    company = service.new_company()
    company.load("contactsExt", {"id": GUID, "displayName": "A", "type": "Person"})
    desk = Desk(logged_in(service, ConsoleRole.EDITOR), company, "contactsExt")
    page = desk.open()
    assert '<code class="name">displayName</code>' in page.text
    assert value_of(page, "type") == "Person"
    desk.elsewhere(displayName="Theirs", city="Graz")

    conflict = desk.save(page, displayName="Mine", type="Company", email="none")
    assert conflict.status_code == 412
    assert ", change 2." in said(conflict)
    refused = desk.save(conflict, **{"choice.displayName": "yours"})
    assert refused.status_code == 400
    assert "must be an e-mail address, not &#39;none&#39;" in refused.text
    desk.browser.follow(desk.save(refused, email="a@example.com"))

    desk.check(displayName="Mine", type="Company", city="Graz", email="a@example.com")


def test_a_record_deleted_meanwhile_may_become_a_new_one(
    browser: Browser, specimens: Company
) -> None:
    specimens.load("unitsOfMeasureExt", {"code": "BOX", "displayName": "Box"})
    desk = Desk(browser, specimens, "unitsOfMeasureExt", "BOX")
    page = desk.open()
    assert specimens.delete("unitsOfMeasureExt('BOX')", if_match="*").status_code == 204

    answer = desk.save(page, displayName="Big box")

    assert answer.status_code == 404
    assert "does not exist, or not any more" in answer.text
    assert value_of(answer, "displayName") == "Big box"
    assert ">Save as a new record</button>" in answer.text
    fields = dict(main_form(answer).fields)
    created = browser.follow(browser.post(desk.address("/new"), fields))
    assert "The record was created" in created.text
    assert specimens.record("unitsOfMeasureExt('BOX')")["displayName"] == "Big box"


def test_a_record_is_created(browser: Browser, specimens: Company) -> None:
    desk = Desk(browser, specimens)
    form = desk.open("/new")

    refused = desk.save(form, series="S", amount="2.5")
    assert (refused.status_code, value_of(refused, "amount")) == (400, "2.5")
    assert "code is required. Send a value for it." in said(refused)
    created = browser.follow(desk.save(refused, code="N"))

    assert "The record was created, as change 1." in created.text
    [stored] = specimens.listed("specimensExt")
    assert stored.items() >= {"code": "N", "series": "S", "amount": 2.5, "rank": 1}.items()


def test_a_record_with_a_taken_key_is_not_created(browser: Browser, specimens: Company) -> None:
    specimens.load("unitsOfMeasureExt", {"code": "BOX", "displayName": "Box"})
    desk = Desk(browser, specimens, "unitsOfMeasureExt")

    answer = desk.save(desk.open("/new"), code="BOX", displayName="Other")

    assert answer.status_code in (409, 412)
    assert value_of(answer, "displayName") == "Other"
    assert specimens.record("unitsOfMeasureExt('BOX')")["displayName"] == "Box"


def test_values_of_a_unique_rule_are_refused_beside_its_fields(desk: Desk) -> None:
    desk.company.load("specimensExt", {"code": "B", "series": "S", "rank": 2})

    answer = desk.save(desk.open(), code="B")

    assert answer.status_code == 409
    assert answer.text.count('aria-invalid="true"') == 2


def test_a_delete_asks_first_and_again_if_the_record_has_changed(desk: Desk) -> None:
    question = desk.open("/record/delete")
    assert "To undo this, create the record again from the list of changes" in question.text
    desk.elsewhere(text="theirs")

    again = desk.save(question)

    assert again.status_code == 412
    assert "Somebody changed this record meanwhile: tests, " in said(again)
    assert "theirs" in again.text
    assert len(desk.company.listed("specimensExt")) == 1
    answer = desk.browser.follow(desk.save(again))
    assert "The record was deleted." in answer.text
    assert desk.company.listed("specimensExt") == []


def test_a_secret_is_sent_only_when_typed(browser: Browser, specimens: Company) -> None:
    specimens.load("contactsExt", {"id": GUID, "displayName": "A", "onlinePassword": "old"})
    desk = Desk(browser, specimens, "contactsExt")

    desk.browser.follow(desk.save(desk.open(), displayName="B"))
    assert (desk.now["displayName"], desk.now["onlinePassword"]) == ("B", "old")
    saved = desk.browser.follow(desk.save(desk.open(), onlinePassword="new-5f1e"))

    assert desk.now["onlinePassword"] == "new-5f1e"
    assert "new-5f1e" not in saved.text


@ON_SQLITE
def test_no_refusal_shows_a_typed_secret(browser: Browser, specimens: Company) -> None:
    specimens.load("contactsExt", {"id": GUID, "displayName": "A"})
    desk = Desk(browser, specimens, "contactsExt")
    page = desk.open()

    refused = desk.save(page, displayName="", onlinePassword="new-5f1e")
    desk.elsewhere(displayName="theirs")
    conflict = desk.save(page, city="Graz", onlinePassword="new-5f1e")

    for answer, status in ((refused, 400), (conflict, 412)):
        assert answer.status_code == status
        assert "new-5f1e" not in answer.text
        assert "This secret was not saved. Type it again: no page shows it." in said(answer)
    desk.browser.follow(desk.save(conflict, onlinePassword="typed-again"))
    assert (desk.now["city"], desk.now["onlinePassword"]) == ("Graz", "typed-again")


def test_line_ends_stay_as_they_are(desk: Desk) -> None:
    desk.elsewhere(text="a\r\nb\nc\r")
    page = desk.open()
    sent = value_of(page, "text").replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")

    desk.browser.follow(desk.save(page, text=sent, series="other"))

    assert (desk.now["text"], desk.now["series"]) == ("a\r\nb\nc\r", "other")


@ON_SQLITE
@together("rest", ["/new", "/record/edit", "/record/merge", "/record/delete"])
def test_a_viewer_writes_nothing(rest: str, desk: Desk, specimen_service: Service) -> None:
    viewer = Desk(logged_in(specimen_service, ConsoleRole.VIEWER), desk.company)
    answer = viewer.browser.post(viewer.address(rest), {"field.text": "x"})

    assert answer.status_code == 403
    assert len(desk.company.changes()) == 1


@ON_SQLITE
def test_a_read_only_set_has_no_forms(browser: Browser, specimens: Company) -> None:
    specimens.load("customersExt", {"id": GUID, "displayName": "A"})
    desk = Desk(browser, specimens, "customersExt")

    assert ">Edit</a>" not in desk.open("/record").text
    for rest in ("/record/edit", "/new", "/record/delete"):
        assert browser.get(desk.address(rest)).status_code == 400


def test_the_form_carries_the_version_that_was_read(desk: Desk) -> None:
    fields = dict(main_form(desk.open()).fields)

    read: Values = decoded(fields["read"])
    assert read["text"] == "read"
    assert fields["tag"] == tag_of(desk.company.get(f"specimensExt({GUID})"))
