"""A kept request as a form in the console: it is corrected, sent, and compared."""

import re
from html import unescape
from itertools import product
from urllib.parse import urlsplit

import httpx
import pytest

from comptoir.auth.records import ConsoleRole
from conftest import stock
from support.companies import Company
from support.console import Browser, error_beside, forms_of, logged_in
from support.databases import ON_SQLITE
from support.samples import CONTACT, SHIPPING_AGENT, UNKNOWN
from support.service import Service, StartService
from support.together import check_all, together

AGENT = f"shippingAgentsExt({SHIPPING_AGENT})"
OLD = 'W/"1"'
SECRET = "73917391"
NOT_LISTED = "The form has a value that does not exist. Choose one of the list."
ELSEWHERE = "The console does not send a request to this path"


@pytest.fixture(scope="module")
def recording(share_service: StartService) -> Service:
    """A service that keeps the beginnings of requests."""
    return share_service(inspect="bodies", inspect_body_bytes=500, body_bytes=2_000)


@pytest.fixture(scope="module")
def company(recording: Service) -> Company:
    return stock(recording.new_company())


@pytest.fixture(scope="module")
def browser(recording: Service) -> Browser:
    return logged_in(recording)


def address_of(answer: httpx.Response) -> str:
    """The address of the form with the request that got an answer."""
    return f"/console/requests/{answer.headers['x-request-id']}/again"


def form_at(browser: Browser, answer: httpx.Response) -> httpx.Response:
    page = browser.get(address_of(answer))
    assert page.status_code == 200, page.text
    return page


def entries(page: httpx.Response) -> dict[str, str]:
    """What the form of a page has, without white space in its body."""
    (form,) = [each for each in forms_of(page) if each.action.endswith("/again")]
    fields = dict(form.fields)
    return {**fields, "body": "".join(fields["body"].split())}


def statuses(page: httpx.Response) -> list[str]:
    """The titles of the responses that a page compares, each with its badges."""
    found = re.findall(r'<h2 id="(?:first|new)">(.*?)</h2>', page.text)
    return [re.sub("<[^>]*>", "", each) for each in found]


def test_a_request_that_got_412_is_corrected(company: Company, browser: Browser) -> None:
    refused = company.patch(AGENT, {"name": "Corrected"}, if_match=OLD)
    tag = company.record(AGENT)["@odata.etag"]
    shown = browser.get(address_of(refused).removesuffix("/again"))
    link = re.search(r'href="([^"]*)">Edit with the record', shown.text)
    assert link is not None
    opened = browser.get(link[1])
    assert f"If-Match: {tag}" in entries(opened)["headers"].split("\n")
    assert OLD not in entries(opened)["headers"]
    plain = form_at(browser, refused)
    reason = f"tag:</strong> The record has changed, and its ETag is now {tag}"
    assert reason in unescape(plain.text)

    filled = browser.submit(plain, address_of(refused), tag="now", body='{"name": "typed"}')
    assert entries(filled) == {**entries(opened), "body": '{"name":"typed"}'}
    assert company.record(AGENT)["name"] != "Corrected"
    done = browser.submit(opened, address_of(refused))
    assert statuses(done) == ["First response 412 tag", "New response 200"]
    assert re.search("<mark> +&#34;name&#34;: &#34;Corrected&#34;", done.text)
    assert company.record(AGENT)["name"] == "Corrected"
    assert company.changes()[-1].by == "console:anna"
    assert entries(done) == entries(opened)

    once_more = browser.submit(done, address_of(refused))
    assert statuses(once_more) == ["First response 412 tag", "New response 412 tag"]


def test_every_part_of_a_request_can_be_changed(company: Company, browser: Browser) -> None:
    read = company.get("shippingAgentsExt", "$top=1", headers={"X-Note": "kept"})
    opened = form_at(browser, read)
    kept = entries(opened)
    assert kept["method"] == "GET"
    assert kept["address"] == f"{urlsplit(company.root).path}/shippingAgentsExt?$top=1"
    assert "x-note: kept" in kept["headers"]
    assert not re.search("authorization|host|connection", kept["headers"], re.IGNORECASE)

    path = f"{urlsplit(company.root).path}/{AGENT}?$select=name"
    headers = "Content-Type: application/json\r\n\r\n  If-Match: *\r\nPrefer:return=minimal"
    changed = {"method": "PATCH", "address": path, "headers": headers}
    answer = browser.submit(opened, address_of(read), **changed, body='{"name":\r\n "Ünïcode"}')
    assert statuses(answer) == ["First response 200", "New response 204"]
    assert company.record(AGENT)["name"] == "Ünïcode"
    filtered = f"{urlsplit(company.root).path}/shippingAgentsExt?$filter=name eq 'Ünïcode'"
    answer = browser.submit(opened, address_of(read), address=filtered)
    assert statuses(answer)[1] == "New response 200"
    assert "Ünïcode" in unescape(answer.text).partition('id="new"')[2].partition("</pre>")[0]


def test_what_a_form_cannot_send(company: Company, recording: Service, browser: Browser) -> None:
    """Nothing is sent, the message is beside the field, and what was typed is there again."""
    written = company.patch(AGENT, {"name": "Kept"}, if_match="*")
    opened, before = form_at(browser, written), len(company.changes())
    base = urlsplit(company.root).path

    def check(case: tuple[str, str, str]) -> None:
        field, text, message = case
        answer = browser.submit(opened, address_of(written), **{field: text})
        assert message in error_beside(answer, field)
        assert entries(answer)[field] == (text if field != "body" else "".join(text.split()))
        assert "New response" not in answer.text
        assert len(company.changes()) == before

    check_all(
        [
            ("method", "PROPFIND", NOT_LISTED),
            ("method", "patch", NOT_LISTED),
            ("address", "", f"{ELSEWHERE}. Begin it with /api/"),
            ("address", "/console/clients", ELSEWHERE),
            ("address", "/apis/items", ELSEWHERE),
            ("address", "https://evil.example/api/items", ELSEWHERE),
            ("address", "//evil.example/api/items", ELSEWHERE),
            ("address", f"{base}/$batch", "Use curl for a batch."),
            ("address", f"{base}/%24batch?a=b", "Use curl for a batch."),
            ("address", f"{base}/{'x' * 16_384}", "The URL exceeds the limit of 16384 bytes"),
            ("address", f"{base}/items?$filter=•••", "A part of this was not kept"),
            ("headers", "Accept: a\n\nnonsense", "Line 3 is not a header that HTTP allows"),
            ("headers", "X-Note: a\rSet: b", "Line 1 is not a header that HTTP allows"),
            ("headers", "X-Note: \x1b", "Line 1 is not a header that HTTP allows"),
            ("headers", "X-Note: €", "Line 1 is not a header that HTTP allows"),
            ("headers", "X Note: a", "Line 1 is not a header that HTTP allows"),
            ("headers", "Authorization: Bearer x", "sets the header Authorization by itself"),
            ("headers", "cookie: a=b", "sets the header cookie by itself"),
            ("headers", "Transfer-Encoding: chunked", "sets the header Transfer-Encoding"),
            ("headers", "X-Note: " + "x" * 65_536, "The head of the request exceeds the limit"),
            ("headers", "a: b\n" * 20_000 + "a: b", "The head of the request exceeds the limit"),
            ("body", "x" * 2_001, "The body exceeds the limit of 2000 bytes"),
            ("body", '{"onlinePassword": "•••"}', "A part of this was not kept"),
        ],
        check,
    )


def test_what_was_not_kept_must_be_completed(company: Company, browser: Browser) -> None:
    contact = f"contactsExt({CONTACT})"
    whole = '{"name": "Completed"}'

    secret, cut = {"onlinePassword": SECRET}, {"name": "x", "code": "y" * 600}
    other, part = '{"onlinePassword": "other"}', "A part of this was not kept. Complete it."
    has_secret = "The request has a secret, which is not kept"
    for path, body, note, message, correct in (
        (contact, secret, has_secret, f"{part} Replace ••• by a value.", other),
        (AGENT, cut, "The whole body of the request is not kept", part, whole),
    ):
        answer = company.patch(path, body, if_match="*")
        opened = form_at(browser, answer)
        assert f"{note}. Complete the request: until then, it is not sent." in opened.text
        before = len(company.changes())
        refused = browser.submit(opened, address_of(answer))
        assert message in error_beside(refused, "body")
        assert SECRET not in refused.text
        assert len(company.changes()) == before
        done = browser.submit(refused, address_of(answer), body=correct)
        assert statuses(done)[1] == "New response 200"
        assert "until then, it is not sent" not in done.text
        assert len(company.changes()) == before + 1
    plain = company.request("PATCH", AGENT, headers={"If-Match": "*", "Content-Type": "text/plain"})
    assert "is not kept" not in form_at(browser, plain).text
    noted = company.get(AGENT, headers={"Referer": f"https://shop.example/?pin={SECRET}"})
    opened = form_at(browser, noted)
    assert "A header has a secret, which is not kept. Complete the request" in opened.text
    assert SECRET not in opened.text
    refused = browser.submit(opened, address_of(noted))
    assert "Replace ••• by a value." in error_beside(refused, "headers")
    assert statuses(browser.submit(opened, address_of(noted), headers=""))[1] == "New response 200"
    long = company.get(AGENT, f"$filter=name ne '{'x' * 4_000}'")
    refused = browser.submit(form_at(browser, long), address_of(long))
    assert "A part of this was not kept" in error_beside(refused, "address")


@ON_SQLITE
def test_the_response_is_that_of_a_client(company: Company, browser: Browser) -> None:
    """Without the secrets of its record, and with the errors that the API has for its headers."""
    read = company.get(f"contactsExt({CONTACT})")
    shown = browser.submit(form_at(browser, read), address_of(read))
    assert statuses(shown) == ["First response 200", "New response 200"]
    assert "<mark>" not in shown.text.partition("Correct, and send once more")[0]
    headers = "Content-Encoding: gzip\nIf-Match: *\nContent-Type: application/json"
    changed = {"method": "PATCH", "headers": headers, "body": "{}"}
    refused = browser.submit(form_at(browser, read), address_of(read), **changed)
    assert statuses(refused)[1] == "New response 415 media type"
    missing = company.get(f"shippingAgentsExt({UNKNOWN})")
    filled = browser.submit(form_at(browser, missing), address_of(missing), tag="now")
    assert "No record with an ETag is at this address now" in error_beside(filled, "address")


@ON_SQLITE
def test_only_a_user_of_the_console_sends(
    recording: Service, company: Company, browser: Browser
) -> None:
    written = company.patch(AGENT, {"name": "Kept"}, if_match="*")
    opened, before = form_at(browser, written), len(company.changes())
    fields = dict(next(e for e in forms_of(opened) if e.action.endswith("/again")).fields)
    address = address_of(written)
    assert browser.post(address, fields, {"Sec-Fetch-Site": "cross-site"}).status_code == 403
    ended = browser.another().post(address, fields)
    assert ended.headers["location"] == "/console/login"
    limited = logged_in(recording, ConsoleRole.EDITOR, frozenset({UNKNOWN}))
    assert limited.post(address, fields).status_code == 404
    viewer = logged_in(recording, ConsoleRole.VIEWER)
    assert statuses(viewer.post(address, fields))[1] == "New response 403 scope"
    assert len(company.changes()) == before


@ON_SQLITE
@together(
    "text", ["\0", "<script>alert(1)</script>", "\N{RIGHT-TO-LEFT OVERRIDE}\x1b[31m", "9" * 5_000]
)
def test_texts_that_no_browser_sends_by_itself(
    text: str, company: Company, browser: Browser
) -> None:
    read = company.get(AGENT, "$select=name")
    opened, base = form_at(browser, read), urlsplit(company.root).path
    for method, fields in product(
        ("GET", "PATCH"),
        (
            {"address": f"{base}/{text}?$filter={text}"},
            {"headers": f"If-Match: {text}\nAccept: {text}"},
            {"body": text},
            {"method": text},
            {"address": f"{base}/{text}", "tag": "now"},
        ),
    ):
        sent = {"method": method, **fields}
        answer = browser.submit(opened, address_of(read), **sent)
        assert answer.status_code in (200, 400), sent
        assert "<script>alert" not in answer.text, sent
