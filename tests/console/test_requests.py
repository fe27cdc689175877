"""Requests in the console: what is kept of them, who sees it, and what to do with it."""

import re
import shlex
from collections.abc import Mapping
from html import unescape
from itertools import pairwise
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import msgspec
import pytest
from msgspec.structs import replace

from comptoir.auth.audit import Actor
from comptoir.auth.failures import FREE_FAILURES
from comptoir.auth.fields import secret_for
from comptoir.auth.records import ConsoleRole
from comptoir.auth.tokens import Scope
from comptoir.errors.refusal import CHECK_ORDER
from conftest import stock
from support.batches import HTTP, send_multipart
from support.clients import add_client
from support.companies import Company
from support.console import Browser, logged_in, origin_of
from support.databases import ON_SQLITE
from support.rehearsal import control_of
from support.samples import CONTACT, SHIPPING_AGENT, UNKNOWN
from support.service import Service, StartService
from support.together import together

PERSON = "5d115c9c-44e3-4a11-bb43-000d3a2feca1"
EMPLOYER = "5d115c9c-44e3-4a11-bb43-000d3a2feca2"
AGENT = f"shippingAgentsExt({SHIPPING_AGENT})"
NEW = {"If-None-Match": "*"}
UNIT = {"code": "AGAIN", "displayName": "Again"}
CONTACT_URL = f"contactsExt({CONTACT})"
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def recording(share_service: StartService) -> Service:
    """A service that keeps whole requests."""
    return share_service(inspect="bodies")


@pytest.fixture(scope="module")
def company(recording: Service) -> Company:
    return stock(recording.new_company())


@pytest.fixture(scope="module")
def browser(recording: Service) -> Browser:
    return logged_in(recording)


@pytest.fixture(scope="module")
def contacts(recording: Service) -> Company:
    """A company with a person, the company where that works, and a unit of measure."""
    company = recording.new_company()
    numbers = {PERSON: ("P/1", "Person"), EMPLOYER: ("C1", "Company")}
    for key, (number, kind) in numbers.items():
        values = {"number": number, "type": kind, "displayName": number, "companyNumber": "C1"}
        company.load("contactsExt", {"id": key, **values})
    company.load("unitsOfMeasureExt", {"code": "P/1", "displayName": "Piece"})
    return company


class Row(msgspec.Struct):
    """A row of the live list."""

    id: str
    address: str
    method: str
    asked: str
    status: int
    check: str
    by: str


def rows(browser: Browser, **query: str) -> list[Row]:
    answer = browser.get(f"/console/requests/rows?{urlencode(query)}")
    return msgspec.json.decode(answer.content, type=list[Row])


def page_of(browser: Browser, answer: httpx.Response) -> str:
    """The page of the request that got an answer."""
    page = browser.get(f"/console/requests/{answer.headers['x-request-id']}")
    assert page.status_code == 200, page.text
    return unescape(page.text)


def test_what_a_client_sent_and_the_checks_of_it(company: Company, browser: Browser) -> None:
    refused = company.patch(AGENT, {"name": "x"}, if_match='W/"1"')
    first = rows(browser)[0]

    assert first.id == refused.headers["x-request-id"]
    assert (first.method, first.status, first.check) == ("PATCH", 412, "tag")
    assert first.asked == f"shippingAgentsExt({SHIPPING_AGENT[:4]}…)"
    page = browser.get(f"/console/requests?company={company.id}")
    assert first.asked in unescape(page.text)
    assert browser.get(first.address).status_code == 200

    shown = page_of(browser, refused)
    chain = shown.partition('<ol class="checks">')[2].partition("</ol>")[0]
    steps = [each.partition(">")[2][:1] for each in chain.split("<li")[1:]]
    at = CHECK_ORDER.index("tag")
    assert steps == ["✓"] * at + ["✗"] + ["\N{EN DASH}"] * (len(CHECK_ORDER) - at - 1)
    assert "The record has changed, and its ETag is now" in shown
    assert '"name": "x"' in shown
    assert 'The client sent <code>W/"1"</code>.' in shown
    number = str(company.record(AGENT)["@odata.etag"]).rpartition(".")[2].rstrip('"')
    assert f"The record's latest change was number {number}: " in shown


@ON_SQLITE
def test_filters(company: Company, browser: Browser) -> None:
    company.get("shippingAgentsExt", "$top=1")
    company.get("nothingExt")
    company.post("shippingAgentsExt", {"code": "FILTERED", "name": "x"})
    for query, wanted in (
        ({"method": "POST"}, lambda each: each.method == "POST"),
        ({"status": "4xx"}, lambda each: 400 <= each.status < 500),
        ({"status": "404"}, lambda each: each.status == 404),
        ({"check": "resource"}, lambda each: each.check == "resource"),
        ({"client": "tests"}, lambda each: each.by == "tests"),
        ({"text": "$TOP"}, lambda each: "$top" in each.asked),
    ):
        found = rows(browser, **query)
        assert found
        assert all(map(wanted, found)), query
    assert rows(browser, client="nobody") == []
    text = browser.get("/console/requests?client=nobody").text
    assert "No request that is kept matches." in text


def test_a_page_names_the_change_that_refused_its_request(
    company: Company, browser: Browser
) -> None:
    """Not a change that came later."""
    company.patch(AGENT, {"name": "Then"}, if_match="*")
    change = company.changes()[-1]
    refused = [
        company.patch(AGENT, {"name": "x"}, if_match='W/"1"'),
        company.request("PUT", AGENT, body={"code": "x", "name": "x"}, headers=NEW | JSON),
    ]
    company.patch(AGENT, {"name": "Later"}, if_match="*")
    for answer in refused:
        assert answer.status_code == 412
        latest = f"The record's latest change was number {change.number}: tests, "
        assert latest in page_of(browser, answer)


def test_the_body_of_a_request_that_was_refused_before(
    recording: Service, company: Company, browser: Browser
) -> None:
    """It is kept if it has arrived, and the service does not wait for it."""
    reader = company.using(recording.tokens.issue([Scope.RECORDS_READ]))
    refused = reader.patch(AGENT, {"name": "not allowed"}, if_match="*")
    assert refused.status_code == 403
    assert '"name": "not allowed"' in page_of(browser, refused)
    wrong = company.request("DELETE", "", body={"name": "misplaced", "pin": 73917391})
    assert wrong.status_code == 405
    page = page_of(browser, wrong)
    assert '"name": "misplaced"' in page
    assert "73917391" not in page


@ON_SQLITE
def test_a_page_of_a_read(company: Company, browser: Browser) -> None:
    page = page_of(browser, company.get(AGENT))

    assert "✓ token" in page
    assert "uniqueness" not in page
    assert "records.read" in page
    assert '"sub": "tests"' in page
    assert company.token.rpartition(".")[2] not in page
    assert "Record now" in page
    address = page.partition('class="button" href="')[2].partition('"')[0]
    assert browser.get(address).status_code == 200


@together(
    ("path", "record"),
    [
        (f"contactsExt({PERSON})", PERSON),
        ("contactsExt(number='P/1')", PERSON),
        ("contactsExt(number=%27P%2F1%27)", PERSON),
        ("contactsExt(number='P/1')/displayName", PERSON),
        ("contactsExt(number='P/1')/displayName/$value", PERSON),
        (f"contactsExt({PERSON})/nothing", PERSON),
        (f"contactsExt({PERSON})/company", EMPLOYER),
        (f"contactsExt({PERSON})/company/displayName", EMPLOYER),
        (f"contactsExt({EMPLOYER})/people", EMPLOYER),
        (f"contactsExt({EMPLOYER})/people({PERSON})", PERSON),
        (f"contactsExt({EMPLOYER})/company/people/$count", EMPLOYER),
        ("unitsOfMeasureExt('P/1')/displayName", "P/1"),
        *(("contactsExt", ""), ("nothingExt('1')", ""), ("", ""), ("a/" * 2_000, "")),
        *((f"contactsExt({UNKNOWN})", ""), ("contactsExt(number='P/1", "")),
    ],
)
def test_the_record_that_a_request_is_about(
    path: str, record: str, contacts: Company, browser: Browser
) -> None:
    found = re.search(r'href="([^"]*)">Record now', page_of(browser, contacts.get(path)))
    assert (found is not None) == bool(record)
    if found is not None:
        assert parse_qs(urlsplit(found[1]).query)["key"] == [record]
        assert browser.get(found[1]).status_code == 200


def test_the_record_that_a_request_has_created(contacts: Company, browser: Browser) -> None:
    values = {"code": "NEW", "displayName": "New"}
    answer = contacts.post("unitsOfMeasureExt", values, {"If-None-Match": "*"})
    assert "key=NEW" in page_of(browser, answer)


def command_of(browser: Browser, answer: httpx.Response) -> str:
    """The command of the request that got an answer."""
    shown = page_of(browser, answer).partition('id="curl"')[2].partition(">")[2]
    return shown.partition("</pre>")[0]


def run(service: Service, command: str) -> httpx.Response:
    """The response to what a command of curl sends, whose body is an argument or follows it."""
    line, _, document = command.partition(" <<'END'\n")
    words = shlex.split(line.replace("$TOKEN", service.tokens.issue()))
    options = list(pairwise(words))
    headers = dict(each.split(": ", 1) for word, each in options if word == "-H")
    method = dict(options).get("-X", "GET")
    body = dict(options).get("--data-raw", document.removesuffix("\nEND"))
    return service.send(httpx.Request(method, words[-1], headers=headers, content=body.encode()))


@ON_SQLITE
@together("path", ["//evil.example/api", "///evil.example"])
def test_a_command_sends_the_token_to_nobody_else(
    path: str, recording: Service, browser: Browser
) -> None:
    asked = httpx.Request("GET", recording.settings.base_url)
    asked.url = asked.url.copy_with(raw_path=path.encode())
    url = urlsplit(shlex.split(command_of(browser, recording.send(asked)))[-1])
    assert f"{url.scheme}://{url.netloc}" == origin_of(recording.settings)


def alert_of(page: str) -> str:
    """The text of a page about the refusal of its request."""
    alert = page.partition('<div class="alert danger">')[2].partition("</div>")[0]
    return " ".join(re.sub("<[^>]*>", "", alert).split())


@ON_SQLITE
def test_refused_credentials_are_explained(
    recording: Service, company: Company, browser: Browser, tmp_path: Path
) -> None:
    """The operator sees which client it is and why, and a command that works."""
    webshop, closed = add_client(recording, tmp_path), add_client(recording, tmp_path)
    closed.command.done("client", "disable", closed.name)
    secret, text = secret_for(1)
    expired = replace(secret, expires_at=1)
    control = recording.admin.control
    recording.admin.wait(control.add_secret(webshop.name, expired, Actor("cli:test")))
    vague = webshop.ask(client_secret="wrong")
    answers = [
        (vague, webshop, "The secret is wrong."),
        (webshop.ask(client_secret=text), webshop, "The secret has expired."),
        (closed.ask(), closed, "The client is disabled."),
        (webshop.ask(client_id=UNKNOWN), None, "The client is unknown."),
        (webshop.ask(client_secret=""), webshop, ""),
        (webshop.ask(scope="admin"), webshop, ""),
    ]
    for answer, client, reason in answers:
        error = answer.json()
        assert reason not in answer.text or not reason
        page = page_of(browser, answer)
        shown = f"{error['error']} ({error['error_codes'][0]}): {error['error_description']}"
        learned = f" {reason} The client does not learn this." if reason else ""
        assert alert_of(page).partition(": ")[2] == f"{shown}{learned}"
        assert webshop.secret not in page
        name = f"client:{client.name}" if client else ""
        (row,) = [each for each in rows(browser) if each.id == answer.headers["x-request-id"]]
        assert (row.by, bool(row.check)) == (f"{name} (refused)" if name else "", True)
        linked = re.search(rf'<a href="([^"]*)">{name}</a> \(refused\)', page) if name else None
        assert (linked is not None) == bool(name)
        assert linked is None or browser.get(linked[1]).status_code == 200
        assert "so the command is not complete" not in page
    assert len(rows(browser, client=f"client:{webshop.name}", check="token")) == 3

    line = command_of(browser, vague).replace("$CLIENT_SECRET", webshop.secret)
    words = shlex.split(line)
    assert words[:2] + words[2:-1:2] == ["curl", "-sS", *["--data-urlencode"] * 3]
    again = httpx.Request("POST", words[-1], data=dict(each.split("=", 1) for each in words[3::2]))
    assert recording.send(again).status_code == 200

    token = webshop.token()
    assert webshop.send("revoke", token).status_code == 200
    page = page_of(browser, company.using(token).get(AGENT))
    assert "token: The bearer token was revoked." in alert_of(page)
    assert f">client:{webshop.name}</a> (refused)" in page

    for _ in range(FREE_FAILURES):
        slowed = webshop.ask(client_secret="wrong")
    assert slowed.status_code == 429
    page = page_of(browser, slowed)
    assert "limit: slow_down (90055): The client failed to authenticate" in alert_of(page)
    assert f">client:{webshop.name}</a> (refused)" in page


def test_a_batch_shows_its_parts(company: Company, browser: Browser) -> None:
    read = {"id": "one", "method": "GET", "url": AGENT}
    headers = JSON | {"If-Match": '"x"'}
    write = {"id": "two", "method": "PATCH", "url": AGENT, "headers": headers}
    requests = [read, write | {"body": {"name": "in a batch"}}]
    answer = company.post("$batch", {"requests": requests})
    page = page_of(browser, answer)

    assert f"one: GET /companies({company.id})/{AGENT}" in page
    assert f"two: PATCH /companies({company.id})/{AGENT}" in page
    assert "in a batch" in page
    (row,) = [each for each in rows(browser) if each.id == answer.headers["x-request-id"]]
    assert (row.status, row.check) == (200, "tag")


def test_a_header_that_is_not_kept(company: Company, browser: Browser) -> None:
    read = company.get(AGENT, headers={"Referer": "https://shop.example/?code=1&pin=73917391"})
    assert "https://shop.example/?code=1&pin=•••<" in page_of(browser, read)
    assert "shop.example" not in command_of(browser, read)


def named(company: Company) -> str:
    """The name of the shipping agent, and who has changed it last."""
    author = company.changes()[-1].by
    return f"{company.record(AGENT)['name']} by {author}"


@ON_SQLITE
def test_a_batch_as_curl(recording: Service, company: Company, browser: Browser) -> None:
    """With its groups, dependencies, conditions and references."""
    patch = {"method": "PATCH", "url": AGENT, "headers": JSON | {"If-Match": "*"}}
    requests = [
        {"id": "1", "method": "POST", "url": "unitsOfMeasureExt", "headers": NEW, "body": UNIT},
        {"id": "2", **patch, "body": {"name": "first"}, "atomicityGroup": "g"},
        {"id": "3", **patch, "body": {"name": "second"}, "atomicityGroup": "g"},
        {"id": "4", **patch, "body": {"name": "third"}, "dependsOn": ["1"]},
        {"id": "5", **patch, "body": {"name": "fourth"}, "if": "not $1/$succeeded"},
        {"id": "6", "method": "GET", "url": "$2/name"},
        {"id": "7", **patch, "body": {"name": "fifth"}, "if": "$1/$succeeded"},
    ]
    first = company.post("$batch", {"requests": requests})
    assert company.record(AGENT)["name"] == "fifth"

    command = command_of(browser, first)
    company.patch(AGENT, {"name": "meanwhile"}, if_match="*")
    company.delete("unitsOfMeasureExt('AGAIN')", if_match="*")
    assert "so the command is not complete" not in page_of(browser, first)
    repeated = run(recording, command)
    assert [each["status"] for each in repeated.json()["responses"]] == [
        each["status"] for each in first.json()["responses"]
    ]
    assert named(company) == "fifth by tests"


CHANGE_SET = f"""\
--batch_1
Content-Type: multipart/mixed; boundary=set

--set
{HTTP}Content-ID: 1

PATCH {AGENT} HTTP/1.1
If-Match: *
Content-Type: application/json

{{"name": "set 1"}}
--set--
--batch_1--
"""


@ON_SQLITE
def test_a_batch_in_multipart_as_curl(company: Company, browser: Browser) -> None:
    """Its requests are shown one by one, and its command lacks them."""
    page = page_of(browser, send_multipart(company, CHANGE_SET))
    assert "set 1" in page
    assert "The whole body of the request is not kept, so the command" in page


@ON_SQLITE
@together(
    ("url", "body", "problem"),
    [
        (AGENT, {"name": "x" * 70_000}, "The whole body of the request is not kept"),
        (CONTACT_URL, {"onlinePassword": "x"}, "The request has a secret, which is not kept"),
    ],
)
def test_a_batch_that_is_not_kept_as_a_whole(
    url: str, body: Mapping[str, str], problem: str, company: Company, browser: Browser
) -> None:
    part = {"id": "1", "method": "PATCH", "url": url, "body": body}
    page = page_of(browser, company.post("$batch", {"requests": [part]}))
    assert f"{problem}, so the command is not complete." in page


@ON_SQLITE
@pytest.mark.parametrize("address", ["$batch", "%24batch"])
@pytest.mark.parametrize("part", [{}, {"method": "GET", "url": AGENT}])
def test_a_batch_is_not_sent_again(
    company: Company, browser: Browser, address: str, part: dict[str, str]
) -> None:
    answer = company.post(address, {"requests": [{"id": "1", **part}]})
    page = page_of(browser, answer)
    assert "The request is a batch, so the console does not send it again." in page
    again = browser.post(f"/console/requests/{answer.headers['x-request-id']}/again", {})
    assert again.status_code == 409
    assert "The request is a batch." in again.text


def test_a_user_sees_the_requests_of_own_companies(
    company: Company, recording: Service, browser: Browser
) -> None:
    other = recording.new_company()
    limited = logged_in(recording, ConsoleRole.VIEWER, frozenset({other.id}))
    foreign, own = company.get(AGENT), other.get("shippingAgentsExt")
    part = {"id": "1", "method": "GET", "url": f"/api/companies({company.id})/{AGENT}"}
    mixed = recording.client.post("$batch", {"requests": [part]})

    assert [each.id for each in rows(limited)] == [own.headers["x-request-id"]]
    for answer in (foreign, mixed):
        address = f"/console/requests/{answer.headers['x-request-id']}"
        assert limited.get(address).status_code == 404
        assert browser.get(address).status_code == 200
    unknown = browser.get("/console/requests/0-1")
    assert unknown.status_code == 404
    assert "Each worker keeps its last 1000 requests while it records." in unescape(unknown.text)


def test_the_recording_changes_for_a_time(start_service: StartService) -> None:
    service = start_service()
    browser, company = logged_in(service), stock(service.new_company())
    company.get(AGENT)
    assert rows(browser) == []
    page = browser.get("/console/requests")
    assert "Nothing is kept while the recording is off." in page.text

    action = "/console/requests/recording"
    fields = {"level": "heads", "for": "10 minutes"}
    page = browser.follow(browser.submit(page, action, **fields))
    assert "Recording: heads</strong>, 10 min left" in page.text
    patched = company.patch(AGENT, {"name": "unkept"}, if_match="*")
    text = page_of(browser, patched)
    assert "unkept" not in text
    assert "A body of 17 bytes, which is not shown." in text

    fields = {"level": "off", "for": "until the stop"}
    browser.follow(browser.submit(page, action, **fields))
    unseen = company.get(AGENT)
    assert [each.id for each in rows(browser)] == [patched.headers["x-request-id"]]
    assert unseen.status_code == 200

    entries = service.admin.wait(service.admin.control.audit(0, 1_000))
    acts = [(each.by, each.detail) for each in entries if each.act == "inspect.change"]
    assert acts == [("console:anna", "heads 10 minutes"), ("console:anna", "off until the stop")]
    viewer = logged_in(service, ConsoleRole.EDITOR)
    page = viewer.get("/console/requests")
    assert "Change the recording" not in page.text
    assert viewer.post(action, fields).status_code == 403


@ON_SQLITE
def test_a_fault_is_the_check_that_refused(start_service: StartService) -> None:
    service = start_service(inspect="bodies", faults="on")
    company, browser = stock(service.new_company()), logged_in(service)
    control_of(service).set("throttle; retry-after=1")
    answer = company.get(AGENT)
    page = page_of(browser, answer)

    assert answer.status_code == 429
    assert rows(browser, check="fault")[0].id == answer.headers["x-request-id"]
    assert "✗ fault" in page
    assert "<dt>Fault</dt><dd>r</dd>" in page
