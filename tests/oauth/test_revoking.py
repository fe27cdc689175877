"""Tokens are revoked and looked up by their client, or by one with the scope `admin`."""

from pathlib import Path

import pytest

from support.clients import Webshop, add_client, ask
from support.databases import run_sql
from support.server import Server
from support.service import Service
from support.waiting import until

INACTIVE = {"active": False}


@pytest.fixture
def webshop(service: Service, tmp_path: Path) -> Webshop:
    return add_client(service, tmp_path)


@pytest.fixture
def other(service: Service, tmp_path: Path) -> Webshop:
    return add_client(service, tmp_path)


@pytest.fixture
def admin(service: Service, tmp_path: Path) -> Webshop:
    return add_client(service, tmp_path, scope="admin")


def status(service: Service, token: str) -> int:
    return service.client.using(token).get("companies").status_code


def test_a_client_revokes_its_token(service: Service, webshop: Webshop) -> None:
    token, kept = webshop.token(), webshop.token()
    assert (status(service, token), status(service, kept)) == (200, 200)
    for _ in range(2):
        response = webshop.send("revoke", token)
        assert (response.status_code, response.content) == (200, b"")
    refused = service.client.using(token).get("companies")
    assert refused.status_code == 401
    assert "was revoked" in refused.json()["error"]["message"]
    assert status(service, kept) == 200


def test_only_an_administrator_revokes_tokens_of_others_and_of_the_command(
    service: Service, webshop: Webshop, other: Webshop, admin: Webshop
) -> None:
    for token in (webshop.token(), service.tokens.issue()):
        refused = other.send("revoke", token)
        assert (refused.status_code, refused.json()["error"]) == (400, "unauthorized_client")
        assert status(service, token) == 200
        assert admin.send("revoke", token).status_code == 200
        assert status(service, token) == 401


def test_a_token_that_is_not_valid_needs_no_revocation(service: Service, admin: Webshop) -> None:
    for token in ("x", "a.b.c", service.tokens.expired(), service.tokens.of_another_issuer()):
        assert admin.send("revoke", token).status_code == 200
        assert admin.send("introspect", token).json() == INACTIVE


@pytest.mark.parametrize("endpoint", ["revoke", "introspect"])
def test_both_need_a_client_and_a_token(service: Service, webshop: Webshop, endpoint: str) -> None:
    path = f"comptoir/oauth2/v2.0/{endpoint}"
    token = webshop.token()
    wrong = {"client_id": webshop.id, "client_secret": "wrong", "token": token}
    assert ask(service, wrong, path=path).status_code == 401
    assert ask(service, {"token": token}, path=path).status_code == 401
    assert ask(service, webshop.in_body, path=path).json()["error"] == "invalid_request"
    bearer = {"Authorization": f"Bearer {token}"}
    assert ask(service, {"token": token}, bearer, path=path).status_code == 401
    assert service.origin.get(path).status_code == 405
    assert status(service, token) == 200


def test_tokens_are_looked_up(
    service: Service, webshop: Webshop, other: Webshop, admin: Webshop
) -> None:
    token = webshop.token(scope="records.read")
    found = webshop.send("introspect", token).json()
    assert found == admin.send("introspect", token).json()
    assert int(found.pop("exp")) > 0
    assert len(found.pop("jti")) == 36
    assert found == {
        "active": True,
        "scope": "records.read",
        "client_id": webshop.id,
        "username": f"client:{webshop.name}",
        "sub": webshop.id,
        "aud": "comptoir",
        "iss": "http://127.0.0.1:8080/comptoir/v2.0",
    }
    assert other.send("introspect", token).json() == INACTIVE
    webshop.send("revoke", token)
    assert admin.send("introspect", token).json() == INACTIVE
    token = webshop.token()
    webshop.command.done("client", "disable", webshop.name)
    assert admin.send("introspect", token).json() == INACTIVE

    # a token of the command
    found = admin.send("introspect", service.tokens.issue()).json()
    assert (found["active"], found["sub"], found["username"]) == (True, "tests", "tests")
    assert "client_id" not in found


def test_ended_revocations_are_deleted(service: Service, webshop: Webshop) -> None:
    first, second = webshop.token(), webshop.token()
    webshop.send("revoke", first)
    database = service.settings.database
    run_sql(database, "UPDATE revoked SET expires_at = 1")
    webshop.send("revoke", second)
    ((count,),) = run_sql(database, "SELECT count(*) FROM revoked")
    assert count == 1


def test_every_process_on_every_host_refuses_a_revoked_token(
    workers: Server, tmp_path: Path
) -> None:
    with Server(workers.settings, tmp_path) as another:
        admin = add_client(workers, tmp_path, scope="admin")
        token = workers.tokens.issue()
        clients = [each.client.using(token) for each in (workers, another)]
        for _ in range(10):
            assert {each.get("companies").status_code for each in clients} == {200}
        assert admin.send("revoke", token).status_code == 200

        def refused() -> bool | None:
            asked = {each.get("companies").status_code for each in clients for _ in range(10)}
            return True if asked == {401} else None

        until(refused, "all processes refuse the token")
