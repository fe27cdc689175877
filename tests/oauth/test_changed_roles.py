"""Services obey a changed role with the tokens that clients already have."""

from pathlib import Path

import msgspec
from joserfc import jws

from support.clients import add_client
from support.command import Command
from support.companies import Company
from support.roles import apply_roles
from support.server import Server
from support.service import Service
from support.waiting import until


def claims_of(token: str) -> dict[str, object]:
    payload = jws.extract_compact(token.encode()).payload
    return msgspec.json.decode(payload, type=dict[str, object])


def test_a_changed_role_binds_issued_tokens(server: Server, tmp_path: Path) -> None:
    command = Command(tmp_path, server.settings.database)
    file = tmp_path / "roles.toml"
    company = server.new_company()

    def apply(letters: str) -> None:
        file.write_text(f'[seller]\nitemsExt = "{letters}"\n', encoding="utf-8")
        command.done("role", "apply", file)

    apply("R")
    seller = add_client(server, tmp_path, "--role", "seller")
    client = company.using(seller.token())
    assert client.get("itemsExt").status_code == 200
    assert client.post("itemsExt", {"number": "1"}).status_code == 403

    apply("I")

    until(lambda: client.get("itemsExt").status_code == 403 or None, "a refused read")
    assert client.post("itemsExt", {"number": "1"}).status_code == 204

    apply("")

    until(lambda: client.post("itemsExt", {}).status_code == 403 or None, "a refused write")
    command.done("client", "remove", seller.name)


def test_a_token_has_the_roles_that_its_client_had_and_still_has(
    service: Service, company: Company, tmp_path: Path
) -> None:
    rest = {"*": "R", "contactsExt": ""}
    apply_roles(service, {"seller": {"itemsExt": "R"}, "buyer": {"contactsExt": "R"}, "rest": rest})
    webshop = add_client(service, tmp_path, "--role", "seller")

    def change(*options: str) -> str:
        """Change the client, and return a new token, with which the service knows the change."""
        webshop.command.done("client", "change", webshop.name, *options)
        return webshop.token()

    def readable(token: str) -> tuple[bool, bool]:
        client = company.using(token)
        sets = ("itemsExt", "contactsExt")
        items, contacts = (client.get(each).status_code == 200 for each in sets)
        return items, contacts

    seller = webshop.token()
    assert claims_of(seller)["roles"] == ["seller"]
    both = change("--role", "seller", "--role", "buyer")
    assert claims_of(both)["roles"] == ["buyer", "seller"]
    assert (readable(seller), readable(both)) == ((True, False), (True, True))
    buyer = change("--role", "buyer")
    found = [readable(each) for each in (seller, both, buyer)]
    assert found == [(False, False), (False, True), (False, True)]
    free = change("--without", "roles")
    assert "roles" not in claims_of(free)
    found = [readable(each) for each in (seller, both, free)]
    assert found == [(True, False), (True, True), (True, True)]
    change("--role", "seller")
    assert readable(free) == (True, False)
    # a set that a role names is not one of the others
    assert readable(change("--role", "rest")) == (True, False)
