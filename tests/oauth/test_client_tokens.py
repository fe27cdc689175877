"""What the API does with the tokens of clients."""

import base64
import time
from pathlib import Path

import msgspec
import pytest
from joserfc.jwk import ECKey

from comptoir.auth.keys import load_keys
from comptoir.auth.tokens import Scope, TokenIssuer
from support.client import record
from support.clients import GRANT, Webshop, add_client, ask
from support.command import guids
from support.companies import Company
from support.databases import run_sql
from support.roles import apply_roles
from support.server import Server
from support.service import Service, StartService
from support.tokens import HOUR
from support.waiting import until


@pytest.fixture
def webshop(service: Service, tmp_path: Path) -> Webshop:
    return add_client(service, tmp_path)


def parts_of(token: str) -> list[dict[str, object]]:
    """The header and the claims of a token."""
    decoded = [base64.urlsafe_b64decode(f"{each}==") for each in token.split(".")[:2]]
    return [msgspec.json.decode(each, type=dict[str, object]) for each in decoded]


def test_a_client_reads_and_writes_records(webshop: Webshop, company: Company) -> None:
    """As the scopes of its token allow."""
    shop = company.using(webshop.token())
    assert record(shop.post("itemAttributesExt", {"name": "Depth"}), 201)["name"] == "Depth"
    reading = company.using(webshop.token(scope="records.read"))
    assert reading.listed("itemAttributesExt")[0]["name"] == "Depth"
    assert reading.post("itemAttributesExt", {"name": "Width"}).status_code == 403
    assert [change.by for change in company.changes()] == [f"client:{webshop.name}"]


def test_the_largest_client_has_a_token_that_the_api_accepts(
    service: Service, company: Company, tmp_path: Path
) -> None:
    names = [f"{number:064}" for number in range(16)]
    apply_roles(service, {name: {"itemsExt": "R"} for name in names})
    roles = [part for name in names for part in ("--role", name)]
    companies = [part for each in [*guids(99), company.id] for part in ("--company", each)]
    webshop = add_client(service, tmp_path, *roles, *companies)
    assert company.using(webshop.token()).get("itemsExt").status_code == 200


def test_the_token_names_the_client_and_the_address(webshop: Webshop) -> None:
    header, claims = parts_of(webshop.token(scope="records.read"))
    assert (header["typ"], header["alg"]) == ("at+jwt", "ES256")
    assert claims["iss"] == "http://127.0.0.1:8080/comptoir/v2.0"
    assert claims["aud"] == "comptoir"
    assert [claims[name] for name in ("sub", "client_id", "azp")] == [webshop.id] * 3
    assert claims["scope"] == "records.read"
    assert claims["jti"] != parts_of(webshop.token())[1]["jti"]
    times = msgspec.convert(claims, dict[str, object])
    assert int(str(times["exp"])) - int(str(times["iat"])) == 3600


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:8080", "http://localhost:8080"),
        ("[::1]:8080", "http://[::1]:8080"),
        ("shop.example", "http://127.0.0.1:8080"),
    ],
)
def test_only_an_own_name_becomes_the_issuer(
    webshop: Webshop, company: Company, host: str, origin: str
) -> None:
    response = ask(webshop.service, {**GRANT, **webshop.in_body}, {"Host": host})
    token = response.json()["access_token"]
    assert parts_of(token)[1]["iss"] == f"{origin}/comptoir/v2.0"
    assert company.using(token).get("itemsExt").status_code == 200


@pytest.mark.parametrize("act", ["disable", "remove"])
def test_tokens_of_a_disabled_client_are_refused(
    webshop: Webshop, company: Company, act: str
) -> None:
    shop = company.using(webshop.token())
    assert shop.get("itemsExt").status_code == 200
    webshop.command.done("client", act, webshop.name)
    assert webshop.ask().status_code == 401
    refused = shop.get("itemsExt")
    assert refused.status_code == 401
    assert "disabled or removed" in refused.json()["error"]["message"]
    assert 'error="invalid_token"' in refused.headers["WWW-Authenticate"]


def test_tokens_given_before_a_client_was_disabled_remain_refused(
    webshop: Webshop, company: Company
) -> None:
    before = company.using(webshop.token())
    webshop.command.done("client", "disable", webshop.name)
    webshop.command.done("client", "enable", webshop.name)
    # also within the second in which it was enabled
    after = company.using(webshop.token())
    for _ in range(2):
        assert after.get("itemsExt").status_code == 200
        refused = before.get("itemsExt")
        assert refused.status_code == 401
        assert "disabled after it got the bearer token" in refused.json()["error"]["message"]
    introspected = webshop.send("introspect", before.token).json()
    assert introspected == {"active": False}


def test_every_process_learns_of_it(workers: Server, tmp_path: Path) -> None:
    """No request to the token endpoint helps them."""
    webshops = {act: add_client(workers, tmp_path) for act in ("disable", "remove")}
    shops = [workers.client.using(each.token()) for each in webshops.values()]
    for shop in shops * 10:
        assert shop.get("companies").status_code == 200
    for act, webshop in webshops.items():
        webshop.command.done("client", act, webshop.name)

    def have(status: int) -> bool | None:
        statuses = {shop.get("companies").status_code for shop in shops * 10}
        return True if statuses == {status} else None

    until(lambda: have(401), "all workers refuse the tokens")
    webshop = webshops["disable"]
    webshop.command.done("client", "enable", webshop.name)
    shops = [workers.client.using(webshop.token())]
    until(lambda: have(200), "all workers accept the next token")


def test_a_token_never_gives_more_than_the_client_has(webshop: Webshop, company: Company) -> None:
    """Such as after the operator has taken a scope or a company away."""
    shop = company.using(webshop.token())
    database = webshop.service.settings.database
    narrowed = "UPDATE clients SET scopes = 'records.read' WHERE id = :id"
    run_sql(database, narrowed, id=webshop.id)
    run_sql(database, "UPDATE control SET version = version + 1")
    assert webshop.ask().json()["scope"] == "records.read"
    assert shop.get("itemsExt").status_code == 200
    assert shop.post("itemAttributesExt", {"name": "Depth"}).status_code == 403
    run_sql(database, "UPDATE clients SET companies = '[]' WHERE id = :id", id=webshop.id)
    run_sql(database, "UPDATE control SET version = version + 1")
    assert webshop.ask().status_code == 200
    assert shop.get("itemsExt").status_code == 404


def test_an_ended_secret_is_refused(webshop: Webshop) -> None:
    assert webshop.ask().status_code == 200
    database = webshop.service.settings.database
    ended = "UPDATE client_secrets SET expires_at = :now WHERE client = :id"
    run_sql(database, ended, id=webshop.id, now=int(time.time()))
    run_sql(database, "UPDATE control SET version = version + 1")
    assert webshop.ask().status_code == 401


def forged(service: Service, key: ECKey, client_id: str) -> str:
    """A token as the endpoint would give it, signed with a key."""
    settings = service.settings
    issuer = TokenIssuer(lambda: key, settings.token_issuer, settings.token_audience)
    origin = "http://127.0.0.1:8080/comptoir/v2.0"
    return issuer.issue(client_id, [Scope.RECORDS_READ], None, HOUR, client_issuer=origin)


def test_only_the_services_own_key_signs_tokens_of_clients(
    start_service: StartService, tmp_path: Path
) -> None:
    """An issuer whose public key is trusted cannot act as a client."""
    foreign = ECKey.generate_key("P-256")
    keys = tmp_path / "keys"
    load_keys(keys)
    (keys / "issuer.pub.pem").write_bytes(foreign.as_pem(private=False))
    service = start_service()
    webshop = add_client(service, tmp_path)
    own = forged(service, load_keys(keys).signing, webshop.id)
    assert service.client.using(own).get("companies").status_code == 200
    refused = service.client.using(forged(service, foreign, webshop.id)).get("companies")
    assert refused.status_code == 401
    assert "not trusted" in refused.json()["error"]["message"]


def test_tokens_work_while_the_control_tables_are_away(
    start_service: StartService, tmp_path: Path
) -> None:
    service = start_service()
    webshop = add_client(service, tmp_path)
    shop = service.client.using(webshop.token())
    database = service.settings.database
    service.beside(lambda: run_sql(database, "ALTER TABLE control RENAME TO hidden"))
    unavailable = webshop.ask()
    assert unavailable.status_code == 503
    assert unavailable.json()["error"] == "temporarily_unavailable"
    assert int(unavailable.headers["Retry-After"]) > 0
    assert shop.get("companies").status_code == 200
    service.beside(lambda: run_sql(database, "ALTER TABLE hidden RENAME TO control"))
    assert webshop.ask().status_code == 200
