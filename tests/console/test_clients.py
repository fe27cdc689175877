"""The screen of clients: its forms without scripts, each refusal, and the audit log."""

import re
from itertools import count
from uuid import uuid4

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from msgspec.structs import replace

from comptoir.auth.audit import Actor
from comptoir.auth.fields import new_client
from comptoir.auth.records import ConsoleRole
from comptoir.auth.tokens import Scope
from comptoir.features.console.screens import clients
from support.clients import GRANT, ask
from support.console import Browser, audited, error_beside, logged_in
from support.databases import ON_SQLITE
from support.service import Service
from support.together import together

LIST = "/console/clients"
NEW = f"{LIST}/new"
_numbers = count()

KEY = """-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEKLVgHl8ZHFxYhYzMSpQkmnVGa0wN
-----END PUBLIC KEY-----"""


def name_of_client() -> str:
    return f"new-shop-{next(_numbers)}"


def one(browser: Browser, name: str) -> httpx.Response:
    return browser.get(f"{LIST}/client?name={name}")


def added(browser: Browser, **fields: str | list[str]) -> tuple[str, dict[str, str]]:
    """The name of a new client, and its credentials as the only page with them shows them."""
    name = name_of_client()
    page = browser.submit(browser.get(NEW), NEW, name=name, **fields)
    assert page.status_code == 200, page.text
    found = dict(re.findall(r'<code id="([\w-]+)">([^<]+)</code>', page.text))
    return name, {"client_id": found["client-id"], "client_secret": found["secret"]}


def status(service: Service, credentials: dict[str, str]) -> int:
    return ask(service, {**GRANT, **credentials}).status_code


def test_a_client_is_added_and_its_secret_shown_once(service: Service, admin: Browser) -> None:
    name, credentials = added(admin, scopes=["records.read", "events"])
    assert status(service, credentials) == 200
    pages = [admin.get(LIST), one(admin, name), admin.get("/console/audit")]
    for page in pages:
        assert name in page.text
        assert credentials["client_secret"] not in page.text
    (entry,) = [each for each in audited(service, "client.add") if each.target == name]
    assert entry.by == "console:anna"
    assert entry.detail.startswith(f"{credentials['client_id']} events records.read ")
    assert credentials["client_secret"] not in entry.detail

    again = admin.submit(admin.get(NEW), NEW, name=name)
    assert again.status_code == 400
    assert "already exists" in again.text


def test_clients_are_found_by_name_and_id(admin: Browser) -> None:
    first, credentials = added(admin)
    second, _ = added(admin)
    for text in (first.upper(), credentials["client_id"]):
        page = admin.submit(admin.get(LIST), LIST, text=text)
        assert f">{first}</a>" in page.text
        assert f">{second}</a>" not in page.text


@ON_SQLITE
def test_a_list_of_many_clients_says_that_it_lacks_some(
    own_service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "MOST_SHOWN", 3)
    client, _ = new_client("first", None, scopes=frozenset({Scope.RECORDS_READ}))
    control, wait = own_service.admin.control, own_service.admin.wait
    for number in range(clients.MOST_SHOWN + 2):
        other = replace(client, id=str(uuid4()), name=f"shop-{number}")
        wait(control.add_client(other, Actor("cli:root")))
    assert "2 more clients are not shown" in logged_in(own_service).get(LIST).text


def test_a_disabled_client_gets_no_token(service: Service, admin: Browser) -> None:
    name, credentials = added(admin)
    page = admin.follow(admin.submit(one(admin, name), f"{LIST}/disable"))
    assert "The client is disabled." in page.text
    assert status(service, credentials) == 401
    admin.follow(admin.submit(page, f"{LIST}/enable"))
    assert status(service, credentials) == 200
    for act in ("client.disable", "client.enable"):
        (entry,) = [each for each in audited(service, act) if each.target == name]
        assert entry.by == "console:anna"


def test_what_a_client_may_do_is_changed(service: Service, admin: Browser) -> None:
    company_id, (name, _) = service.new_company("Only one").id, added(admin)
    fields = {"access": "some", "companies": company_id, "rate": "60/60s", "quota": "1000"}
    page = admin.follow(admin.submit(one(admin, name), f"{LIST}/change", **fields))
    assert "The client was changed." in page.text
    assert "Only one" in page.text
    # the form shows what is stored, so sending it changes nothing
    admin.follow(admin.submit(page, f"{LIST}/change"))
    (entry,) = [each for each in audited(service, "client.change") if each.target == name]
    assert entry.detail == f"companies={company_id} rate=60/60s quota=1000"
    freed = admin.follow(admin.submit(page, f"{LIST}/change", access="all", rate="", quota=""))
    assert "any number of requests" in freed.text


def test_two_admins_do_not_undo_each_others_changes(service: Service, admin: Browser) -> None:
    name, _ = added(admin)
    first = second = one(admin, name)
    admin.follow(admin.submit(first, f"{LIST}/change", rate="60/60s"))
    refused = admin.submit(second, f"{LIST}/change", quota="5")
    assert refused.status_code == 400
    assert "Somebody else has changed this client meanwhile" in refused.text
    assert "60/60s" in refused.text


@ON_SQLITE
@together(
    ("given", "field", "message"),
    [
        ({"name": "a b"}, "name", "Invalid name"),
        ({"name": ""}, "name", "Invalid name"),
        ({"scopes": []}, "scopes", "A token needs a scope"),
        ({"scopes": "root"}, "scopes", "Invalid scope"),
        ({"restricted": "some"}, "roles", "No role is chosen"),
        ({"access": "some"}, "companies", "No company is chosen"),
        ({"access": "some", "companies": "x"}, "companies", "is not a company"),
        ({"rate": "fast"}, "rate", "Invalid rate"),
        ({"quota": "-1"}, "quota", "Enter one from 1"),
        ({"days": "0"}, "days", "Enter one from 1 to 3650"),
    ],
)
def test_an_error_is_shown_beside_its_field(
    given: dict[str, str | list[str]], field: str, message: str, admin: Browser
) -> None:
    """With what was entered, and nothing is added."""
    name = name_of_client()
    page = admin.submit(admin.get(NEW), NEW, **{"name": name, "rate": "1/1s", **given})
    assert message in error_beside(page, field)
    assert "rate" in given or 'value="1/1s"' in page.text
    assert f">{name}</a>" not in admin.get(LIST).text


def test_secrets_are_replaced(service: Service, admin: Browser) -> None:
    name, first = added(admin)
    shown = admin.submit(one(admin, name), f"{LIST}/secrets/add", secret_days="10")
    (text,) = re.findall(r'<code id="secret">([^<]+)</code>', shown.text)
    second = {**first, "client_secret": text}
    third = admin.submit(one(admin, name), f"{LIST}/secrets/add")
    assert third.status_code == 400
    assert "has 2 secrets already" in third.text
    fields = {"hint": first["client_secret"][:4]}
    admin.follow(admin.submit(one(admin, name), f"{LIST}/secrets/remove", **fields))
    assert [status(service, each) for each in (first, second)] == [401, 200]


def test_keys_are_added_and_removed(admin: Browser) -> None:
    name, _ = added(admin)
    refused = admin.submit(one(admin, name), f"{LIST}/keys/add", pem=KEY)
    assert refused.status_code == 400
    assert "does not contain a public key" in refused.text
    key = generate_private_key(SECP256R1()).public_key()
    text = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    page = admin.follow(admin.submit(one(admin, name), f"{LIST}/keys/add", pem=text))
    assert "The key was added." in page.text
    page = admin.follow(admin.submit(page, f"{LIST}/keys/remove"))
    assert "The client has no key." in page.text


def test_a_client_is_removed(service: Service, admin: Browser) -> None:
    name, credentials = added(admin)
    page = one(admin, name)
    assert "The client was removed." in admin.follow(admin.submit(page, f"{LIST}/remove")).text
    assert one(admin, name).status_code == 404
    again = admin.submit(page, f"{LIST}/remove")
    assert again.status_code == 409
    assert "does not exist" in again.text
    assert status(service, credentials) == 401


@ON_SQLITE
def test_viewers_see_and_only_admins_act(service: Service, admin: Browser) -> None:
    name, _ = added(admin)
    forms = one(admin, name)
    for role in (ConsoleRole.VIEWER, ConsoleRole.EDITOR):
        other = logged_in(service, role)
        page = one(other, name)
        assert page.status_code == 200
        assert f'action="{LIST}/' not in page.text
        assert other.get(NEW).status_code == 403
        for way in ("new", "change", "secrets/add", "keys/add", "disable", "enable", "remove"):
            assert other.post(f"{LIST}/{way}", {"name": name}).status_code == 403
    assert one(admin, name).text.count("badge") == forms.text.count("badge")


def test_users_of_some_companies_do_not_see_what_belongs_to_all(service: Service) -> None:
    """Else an admin of one company could add a client that may access every other one."""
    browser = logged_in(service, companies=frozenset({service.new_company().id}))
    page = browser.get("/console")
    for path in ("clients", "clients/new", "roles", "issuers", "audit"):
        assert browser.get(f"/console/{path}").status_code == 403
        assert f'href="/console/{path}' not in page.text
