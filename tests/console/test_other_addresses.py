"""Requests at the addresses of a profile, in the console: the same as those at the base URL."""

import base64
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import httpx
import pytest

from comptoir.auth.records import ConsoleRole
from support.clients import add_client
from support.companies import Company
from support.console import Browser, logged_in, origin_of
from support.databases import ON_SQLITE
from support.samples import UNKNOWN
from support.service import Service, StartService

pytestmark = ON_SQLITE  # an address says nothing about the database

AGENT = "shippingAgentsExt(code='UPS')"
JSON = {"Content-Type": "application/json", "If-Match": "*"}
ROOTS = [
    "/api/companies({id})",
    "/v2.0/comptoir/Production/api/v2.0/companies({id})",
    "/v2.0/Sandbox/api/comptoir/ext/v1.0/companies(name='{name}')",
    "/BC/ODataV4/Company('{name}')",
    "/BC/api/beta",
]


@pytest.fixture(scope="module")
def service(share_service: StartService) -> Service:
    return share_service(profile="business-central", inspect="bodies")


@pytest.fixture(scope="module")
def company(service: Service) -> Company:
    company = service.new_company()
    company.load("shippingAgentsExt", {"code": "UPS", "name": "Loaded"})
    return company


@pytest.fixture(params=ROOTS)
def elsewhere(request: pytest.FixtureRequest, service: Service, company: Company) -> Company:
    """The company at another address; the last one has no company in its path."""
    name = service.client.record(f"companies({company.id})")["name"]
    root = str(request.param).format(id=company.id, name=name)
    return replace(company, root=f"{origin_of(service.settings)}{root}")


def test_the_overview_shows_addresses_that_clients_use(service: Service) -> None:
    company = service.new_company("O'Neill / Söhne")
    editor = logged_in(service, ConsoleRole.EDITOR)
    page = unescape(editor.get(f"/console?company={company.id}").text)
    origin = origin_of(service.settings)
    assert f'<a href="{origin}/docs">' in page
    texts = re.findall("<code>([^<]+)</code>", page)
    roots = [each for each in texts if each.startswith(origin)]
    paths = [each for each in texts if each.startswith("/")]
    assert {f"{origin}/api", f"{origin}/v2.0/comptoir/Production/ODataV4"} < {*roots}
    assert len(paths) == 2
    for root in roots:
        for path in paths:
            here = replace(company, root=f"{root}{path}")
            assert here.get("shippingAgentsExt").status_code == 200, here.root


def patch(elsewhere: Company, company: Company, name: str) -> httpx.Response:
    query = "" if "ompan" in elsewhere.root else f"company={company.id}"
    request = elsewhere.build("PATCH", AGENT, query, {"name": name}, JSON)
    answer = elsewhere.carrier.send(request)
    assert answer.status_code == 200, answer.text
    return answer


def again(browser: Browser, answer: httpx.Response) -> httpx.Response:
    """The page after a request was sent again."""
    address = f"/console/requests/{answer.headers['x-request-id']}/again"
    return browser.submit(browser.get(address), address)


def test_a_request_is_sent_again(service: Service, company: Company, elsewhere: Company) -> None:
    answer = patch(elsewhere, company, "Sent")
    company.patch(AGENT, {"name": "Meanwhile"}, if_match="*")

    browser = logged_in(service, ConsoleRole.EDITOR)
    page = browser.get(f"/console/requests/{answer.headers['x-request-id']}")
    assert "Record now" in page.text
    done = unescape(again(browser, answer).text)
    assert str(answer.json()["@odata.context"]) in done
    assert company.record(AGENT)["name"] == "Sent"
    assert company.changes()[-1].by == "console:anna"


def test_it_needs_the_same_rights(service: Service, company: Company, elsewhere: Company) -> None:
    answer = patch(elsewhere, company, "Sent")
    company.patch(AGENT, {"name": "Kept"}, if_match="*")

    refused = again(logged_in(service, ConsoleRole.VIEWER), answer)
    assert '403</span> <span class="badge danger">scope</span>' in refused.text
    assert company.record(AGENT)["name"] == "Kept"
    stranger = logged_in(service, ConsoleRole.EDITOR, frozenset({UNKNOWN}))
    address = f"/console/requests/{answer.headers['x-request-id']}"
    assert stranger.get(address).status_code == 404


def test_a_part_that_names_another_company_is_not_shown(service: Service, company: Company) -> None:
    """Its path does not show the company, which an option or a header names."""
    other = service.new_company("Other")
    read = {"id": "1", "method": "GET"}
    parts = [
        {**read, "url": f"/api/shippingAgentsExt?company={company.id}"},
        {**read, "url": "/api/shippingAgentsExt", "headers": {"Company": company.id}},
    ]
    limited = logged_in(service, ConsoleRole.EDITOR, frozenset({other.id}))
    for part in parts:
        answer = other.post("$batch", {"requests": [part]})
        assert "UPS" in answer.text
        address = f"/console/requests/{answer.headers['x-request-id']}"
        assert limited.get(address).status_code == 404
    own = other.post("$batch", {"requests": [{**read, "url": "items"}]})
    assert limited.get(f"/console/requests/{own.headers['x-request-id']}").status_code == 200


def test_a_page_of_the_service_is_not_sent_again(service: Service) -> None:
    answer = service.send(httpx.Request("GET", f"{origin_of(service.settings)}/nothing"))
    address = f"/console/requests/{answer.headers['x-request-id']}"
    page = logged_in(service, ConsoleRole.EDITOR).get(address)
    assert "The request is not for the API, so the console does not send it again." in page.text


@pytest.mark.parametrize("elsewhere", ROOTS[1:], indirect=True)
def test_a_wrong_secret_in_basic_is_explained(
    service: Service, company: Company, elsewhere: Company, tmp_path: Path
) -> None:
    """To users of all companies, who may see all clients. The base path has tokens alone."""
    webshop = add_client(service, tmp_path)
    sent = base64.b64encode(f"{webshop.name}:wrong".encode()).decode()
    refused = elsewhere.get(AGENT, headers={"Authorization": f"Basic {sent}"})
    assert refused.status_code == 401
    address = f"/console/requests/{refused.headers['x-request-id']}"
    page = unescape(logged_in(service, ConsoleRole.EDITOR).get(address).text)
    assert "<p>The secret is wrong. The client does not learn this.</p>" in page
    assert f">client:{webshop.name}</a> (refused)" in page
    limited = logged_in(service, ConsoleRole.EDITOR, frozenset({company.id})).get(address)
    assert "The secret is wrong" not in limited.text
    assert webshop.name not in limited.text
