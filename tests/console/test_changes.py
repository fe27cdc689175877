"""Changes in the console: of a company and of a record, with what they did, and restored."""

from html import unescape
from urllib.parse import urlencode

import httpx
import pytest

from comptoir.auth.records import ConsoleRole
from support.client import Record
from support.companies import Company
from support.console import Browser, forms_of, logged_in
from support.service import Service
from support.together import together

SCRIPT = "<script>alert(1)</script>\u202e=1+1"


@pytest.fixture
def key(specimens: Company) -> str:
    """The key of a record that others have changed since it was created."""
    specimens.post("specimensExt", {"code": "A", "text": "first"})
    [created] = specimens.listed("specimensExt")
    key = str(created["id"])
    specimens.patch(f"specimensExt({key})", {"text": SCRIPT, "amount": 1.5}, if_match="*")
    specimens.patch(f"specimensExt({key})", {"series": "S"}, if_match="*")
    return key


def address_of(company: Company, **query: str) -> str:
    return f"/console/changes?{urlencode({'company': company.id, **query})}"


def opened(browser: Browser, company: Company, **query: str) -> httpx.Response:
    answer = browser.get(address_of(company, **query))
    assert answer.status_code == 200, answer.text
    return answer


def rows(answer: httpx.Response) -> list[str]:
    """The rows of the table, as texts."""
    return [unescape(each) for each in answer.text.split('<tr role="row">')[2:]]


def of_record(key: str, **more: str) -> dict[str, str]:
    return {"entitySet": "specimensExt", "record": key, **more}


def restored(browser: Browser, answer: httpx.Response, number: int) -> httpx.Response:
    form = next(each for each in forms_of(answer) if f"number={number}" in each.action)
    return browser.post(form.action, {})


def test_changes_say_who_changed_what_into_what(
    browser: Browser, specimens: Company, key: str
) -> None:
    answer = opened(browser, specimens)

    third, second, first = rows(answer)
    assert "Specimen <a" in third
    assert "changed" in third
    assert "<bdi>S</bdi>" in third
    assert 'Text<code class="name"> text</code>: <bdi>first</bdi>' in second
    assert f"<bdi>{SCRIPT}</bdi>" in second
    assert "<script>alert" not in answer.text
    assert "created" in first
    assert "No change is in the log." in opened(browser, specimens, entitySet="contactsExt").text
    assert len(rows(opened(browser, specimens, **of_record(key)))) == 3


def test_a_rename_of_the_company_is_shown_without_a_history(
    browser: Browser, specimens: Company
) -> None:
    specimens.admin.rename(specimens.stored, f"New {specimens.id}")

    [row] = rows(opened(browser, specimens))

    assert f"Company <bdi>{specimens.id}</bdi> changed" in row
    assert f"New {specimens.id}" in row
    assert "History" not in row
    assert "<form" not in row


def test_of_a_secret_the_page_says_that_it_changed(browser: Browser, specimens: Company) -> None:
    guid = "11111111-1111-4111-8111-111111111111"
    specimens.load("contactsExt", {"id": guid, "displayName": "A", "onlinePassword": "canary1"})
    changed = specimens.patch(f"contactsExt({guid})", {"onlinePassword": "canary2"}, if_match="*")
    assert changed.status_code == 200

    answer = opened(browser, specimens)

    assert "Online password" in answer.text
    assert "canary" not in answer.text
    assert ">Restore" not in answer.text


def test_earlier_values_are_restored_by_an_update(
    browser: Browser, specimens: Company, key: str
) -> None:
    answer = restored(browser, opened(browser, specimens, **of_record(key)), 2)

    assert "The earlier values were restored, as change 4." in browser.follow(answer).text
    now = specimens.record(f"specimensExt({key})")
    assert (now["text"], now["amount"], now["series"]) == ("first", 0, "S")
    assert specimens.changes()[-1].by == "console:anna"
    again = restored(browser, opened(browser, specimens, **of_record(key)), 2)
    assert "Nothing was changed." in browser.follow(again).text


def test_what_is_not_unique_any_more_is_not_restored(
    browser: Browser, specimens: Company, key: str
) -> None:
    specimens.patch(f"specimensExt({key})", {"code": "B"}, if_match="*")
    specimens.post("specimensExt", {"code": "A", "series": "S"})

    answer = restored(browser, opened(browser, specimens, **of_record(key)), 4)

    assert answer.status_code == 409
    assert "The record was not saved." in answer.text
    assert 'value="A"' in answer.text
    assert specimens.record(f"specimensExt({key})")["code"] == "B"


def test_a_deleted_record_is_created_again(browser: Browser, specimens: Company, key: str) -> None:
    specimens.delete(f"specimensExt({key})", if_match="*")
    answer = opened(browser, specimens)

    [last, *others] = rows(answer)
    assert "What it was" in last
    assert not any(">Restore" in each or "/record?" in each for each in others)
    address = unescape(answer.text.split(">Create again…</a>")[0].rpartition('href="')[2])
    form = browser.get(address.partition('"')[0])
    done = browser.submit(form, "/console/records/specimensExt/new")
    assert "The record was created" in browser.follow(done).text
    [again] = specimens.listed("specimensExt")
    assert (again["text"], again["amount"], again["series"]) == (SCRIPT, 1.5, "S")
    gone = browser.get(address_of(specimens, **of_record(key)))
    assert gone.status_code == 404
    assert "find its delete in the list of changes" in gone.text
    assert len(rows(opened(browser, specimens, **of_record(key, **{"from": "4"})))) == 4


def test_pages_lead_to_earlier_changes(browser: Browser, specimens: Company) -> None:
    specimens.load("specimensExt", *[{"code": f"C{number}"} for number in range(120)])

    answer = opened(browser, specimens)
    found = rows(answer)
    while "Earlier</a>" in answer.text:
        link = answer.text.split('" rel="next">Earlier')[0].rpartition('href="')[2]
        answer = browser.get(unescape(link))
        found += rows(answer)

    numbers = [int(each.split("<small>")[1].split("<")[0]) for each in found]
    assert numbers == list(range(120, 0, -1))
    assert ">Latest</a>" in answer.text


def test_of_a_text_without_a_limit_the_beginning_is_shown(
    browser: Browser, specimens: Company, key: str
) -> None:
    guid = "11111111-1111-4111-8111-111111111111"
    for text in ("A" * 80, "B" * 3_000):
        sent: Record = {"systemId": guid, "base64Text": text, "textContentType": "Plain Text"}
        specimens.load("ItemProductTextLongContentsExt", sent)
    specimens.patch(f"specimensExt({key})", {"text": "x" * 3_000}, if_match="*")

    limited, changed, *_ = rows(opened(browser, specimens))

    assert f"<bdi>{'x' * 3_000}</bdi>" in limited
    assert f"<bdi>{'A' * 80}</bdi>" in changed
    assert f"<bdi>{'B' * 79}… (3,000 characters)</bdi>" in changed


def test_a_long_name_leaves_room(browser: Browser, specimens: Company) -> None:
    guid = "11111111-1111-4111-8111-111111111111"
    long = "<b>\u202e" + "x" * 3_996
    specimens.load("contactsExt", {"id": guid, "number": "1", "displayName": long})
    query = {"entitySet": "contactsExt", "record": guid}

    answer = unescape(opened(browser, specimens, **query).text)

    assert f"1 {long[:79]}…" in answer
    assert long[:80] not in answer


@together("number", ["0", "x", "99999999999999999999", "1"])
def test_a_change_without_values_is_not_restored(
    browser: Browser, specimens: Company, key: str, number: str
) -> None:
    query = urlencode({"company": specimens.id, "key": key, "number": number})

    answer = browser.post(f"/console/records/specimensExt/record/restore?{query}", {})

    assert answer.status_code == 404
    assert "the list of changes" in answer.text
    assert len(specimens.changes()) == 3


def test_a_record_whose_changes_were_trimmed_has_a_page(
    browser: Browser, specimens: Company, key: str
) -> None:
    specimens.post("contactsExt", {"displayName": "New"})
    specimens.admin.trim_logs(41, log_days=40)

    [kept] = rows(opened(browser, specimens))
    assert "created" in kept
    assert "No change is in the log." in opened(browser, specimens, **of_record(key)).text
    gone = browser.get(address_of(specimens, **of_record(key, **{"from": "1"})))
    assert gone.status_code == 410
    assert "the oldest is 4" in gone.text


def test_a_viewer_restores_nothing(specimen_service: Service, specimens: Company, key: str) -> None:
    viewer = logged_in(specimen_service, ConsoleRole.VIEWER)

    answer = opened(viewer, specimens)

    assert ">Restore" not in answer.text
    query = urlencode({"company": specimens.id, "key": key, "number": "2"})
    refused = viewer.post(f"/console/records/specimensExt/record/restore?{query}", {})
    assert refused.status_code == 403
    assert len(specimens.changes()) == 3
