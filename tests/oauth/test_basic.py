"""HTTP Basic with the id and a secret of a client, which the profile business-central accepts."""

import base64
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from support.clients import Webshop, add_client, failed
from support.companies import Company
from support.databases import ON_SQLITE, FreshDatabase
from support.refusals import refusal
from support.service import Service, StartService
from support.waiting import until


@pytest.fixture(scope="module")
def rehearsed(share_service: StartService) -> Service:
    return share_service(profile="business-central")


@pytest.fixture
def stocked(rehearsed: Service) -> Company:
    """A company with a shipping agent, for requests without a token."""
    company = rehearsed.new_company()
    company.load("shippingAgentsExt", {"code": "DHL"})
    return at_environment(company)


def at_environment(company: Company, environment: str = "/v2.0/Production") -> Company:
    """The company at an address of an environment, for requests without a token."""
    root = f"http://127.0.0.1:8080{environment}/api/v2.0/companies({company.id})"
    return replace(company.using(""), root=root)


def basic(name: str, secret: str) -> Mapping[str, str]:
    return encoded(f"{name}:{secret}".encode())


def encoded(content: bytes) -> Mapping[str, str]:
    return {"Authorization": f"Basic {base64.b64encode(content).decode()}"}


def read(company: Company, webshop: Webshop, **headers: str) -> httpx.Response:
    sent = {**basic(webshop.id, webshop.secret), **headers}
    return company.get("shippingAgentsExt", headers=sent)


def status(company: Company, name: str, secret: str) -> int:
    return company.get("shippingAgentsExt", headers=basic(name, secret)).status_code


def test_a_client_uses_its_secret_in_place_of_a_token(
    rehearsed: Service, stocked: Company, tmp_path: Path
) -> None:
    options = "--company", stocked.id
    reader = add_client(rehearsed, tmp_path, *options, scope="records.read")
    (row,) = read(stocked, reader).json()["value"]
    assert row["code"] == "DHL"
    credentials = basic(reader.id, reader.secret)
    assert stocked.post("shippingAgentsExt", {"code": "UPS"}, credentials).status_code == 403
    parts = [
        {"method": "GET", "url": "shippingAgentsExt"},
        {"method": "POST", "url": "shippingAgentsExt", "body": {"code": "UPS"}},
    ]
    batch = stocked.post("$batch", {"requests": parts}, credentials)
    assert [each["status"] for each in batch.json()["responses"]] == [200, 403]
    other = at_environment(rehearsed.new_company())
    assert read(other, reader).status_code == 404
    writer = add_client(rehearsed, tmp_path)
    credentials = basic(writer.id, writer.secret)
    assert stocked.post("shippingAgentsExt", {"code": "UPS"}, credentials).status_code == 201
    assert stocked.changes()[-1].by == f"client:{writer.name}"


def test_a_client_may_send_its_name_in_place_of_its_id(
    rehearsed: Service, stocked: Company, tmp_path: Path
) -> None:
    webshop, other = add_client(rehearsed, tmp_path), add_client(rehearsed, tmp_path)
    assert status(stocked, webshop.name, webshop.secret) == 200
    assert status(stocked, webshop.name, other.secret) == 401
    # what is known by name follows a change
    webshop.command.done("client", "disable", webshop.name)
    assert status(stocked, webshop.name, webshop.secret) == 401
    later = add_client(rehearsed, tmp_path)
    assert status(stocked, later.name, later.secret) == 200


@ON_SQLITE
def test_the_standard_profile_has_tokens_alone(
    service: Service, company: Company, tmp_path: Path
) -> None:
    response = read(company.using(""), add_client(service, tmp_path))
    refusal(response, "Authentication_InvalidCredentials")


@ON_SQLITE
def test_the_base_path_has_tokens_alone(fresh_database: FreshDatabase, tmp_path: Path) -> None:
    with Service(fresh_database, tmp_path, profile="business-central") as service:
        webshop = add_client(service, tmp_path)
        company = service.new_company()
        assert read(at_environment(company), webshop).status_code == 200
        response = read(company.using(""), webshop)
        assert response.status_code == 401
        assert response.headers["WWW-Authenticate"] == 'Bearer realm="comptoir"'
    (entry,) = failed(webshop.command)
    assert entry.detail.endswith("reason=The Authorization header has no bearer token")


@ON_SQLITE
def test_wrong_credentials_are_refused_alike(
    rehearsed: Service, stocked: Company, tmp_path: Path
) -> None:
    webshop = add_client(rehearsed, tmp_path)
    closed = add_client(rehearsed, tmp_path)
    assert read(stocked, closed).status_code == 200
    closed.command.done("client", "disable", closed.name)
    sent = [
        basic(webshop.id, "wrong"),
        basic("nobody", webshop.secret),
        basic(closed.id, closed.secret),
        encoded(b"no colon"),
        encoded(b"\xff:"),
        {"Authorization": "Basic ?"},
    ]
    for each in sent:
        response = stocked.get("shippingAgentsExt", headers=each)
        assert response.status_code == 401
        assert "The server has rejected the client credentials." in response.text
        # a browser that is asked for Basic would send the credentials for other sites too
        assert response.headers["WWW-Authenticate"] == 'Bearer realm="comptoir"'


def test_wrong_credentials_are_audited(fresh_database: FreshDatabase, tmp_path: Path) -> None:
    with Service(fresh_database, tmp_path, profile="business-central") as service:
        webshop = add_client(service, tmp_path)
        company = at_environment(service.new_company())
        for name in (webshop.id, webshop.id, "nobody"):
            assert company.get("itemsExt", headers=basic(name, "wrong")).status_code == 401
    counts: Counter[str] = Counter()
    for each in failed(webshop.command):
        counts[each.target] += 1
    assert counts == {webshop.id: 2, "nobody": 1}


@ON_SQLITE
def test_guesses_are_slowed(rehearsed: Service, stocked: Company, tmp_path: Path) -> None:
    """By name and by id together."""
    webshop = add_client(rehearsed, tmp_path)

    def slowed() -> httpx.Response | None:
        response = stocked.get("shippingAgentsExt", headers=basic(webshop.name, "wrong"))
        return response if response.status_code == 429 else None

    response = until(slowed, "a guess that is slowed")
    assert int(response.headers["Retry-After"]) > 0
    assert read(stocked, webshop).status_code == 429
    other = add_client(rehearsed, tmp_path)
    assert read(stocked, other).status_code == 200


@ON_SQLITE
def test_credentials_that_others_may_read_are_refused(
    rehearsed: Service, stocked: Company, tmp_path: Path
) -> None:
    webshop = add_client(rehearsed, tmp_path)
    forwarded = {"X-Forwarded-For": "192.0.2.1"}
    # also at the address of a server of one's own
    for each in (stocked, at_environment(stocked, "/BC")):
        assert read(each, webshop, **forwarded).status_code == 401
        assert read(each, webshop).status_code == 200


@ON_SQLITE
def test_the_requests_of_a_client_count_together(
    rehearsed: Service, stocked: Company, tmp_path: Path
) -> None:
    webshop = add_client(rehearsed, tmp_path, "--rate", "3/600000s")
    statuses = [read(stocked, webshop).status_code for _ in range(2)]
    # what is known of clients changes, and the count goes on
    add_client(rehearsed, tmp_path)
    token = stocked.using(webshop.token())
    statuses.append(token.get("shippingAgentsExt").status_code)
    statuses.append(read(stocked, webshop).status_code)
    assert statuses == [200, 200, 200, 429]
