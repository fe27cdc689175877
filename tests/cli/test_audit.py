"""`comptoir audit`: who changed what, each entry once and in order."""

import os
import pwd
import signal
from pathlib import Path

import msgspec
import pytest

from support.clients import add_client
from support.command import COMPANY, Command
from support.databases import ON_SQLITE, run_sql
from support.processes import read_lines
from support.service import Service

ROLES = '[shop]\nitemsExt = "RIM"\n"*" = "R"\n'
LIMITS = ("--rate", "6000/300s", "--quota", "5", "--company", COMPANY)


def entries(command: Command, *options: str) -> list[dict[str, object]]:
    lines = command.done("audit", *options).out.splitlines()
    return [msgspec.json.decode(line, type=dict[str, object]) for line in lines]


@pytest.fixture
def shop(ready: Command, tmp_path: Path) -> Command:
    """The command, after each act that it can do, and some that are refused."""
    (tmp_path / "roles.toml").write_text(ROLES)
    ready.done("role", "apply", tmp_path / "roles.toml")
    ready.done("client", "add", "webshop", "--scope", "records.read", "--role", "shop", *LIMITS)
    ready.error("client", "add", "webshop", "--scope", "records.read")
    ready.error("client", "remove", "other")
    second = ready.done("client", "secret", "add", "webshop").last
    ready.done("client", "secret", "remove", "webshop", "--", second[:4])
    ready.done("client", "disable", "webshop")
    ready.done("client", "enable", "webshop")
    ready.done("client", "change", "webshop", "--rate", "1/1s", "--without", "roles")
    ready.done("client", "remove", "webshop")
    ready.done("role", "remove", "shop")
    ready.done("token")
    ready.done("keys", "rotate")
    return ready


def test_every_act_of_a_command_has_an_entry(shop: Command) -> None:
    found = entries(shop)
    assert [(each["number"], each["act"], each["target"]) for each in found] == [
        (1, "role.apply", "shop"),
        (2, "client.add", "webshop"),
        (3, "client.secret.add", "webshop"),
        (4, "client.secret.remove", "webshop"),
        (5, "client.disable", "webshop"),
        (6, "client.enable", "webshop"),
        (7, "client.change", "webshop"),
        (8, "client.remove", "webshop"),
        (9, "role.remove", "shop"),
        (10, "keys.rotate", found[9]["target"]),
    ]
    assert {each["by"] for each in found} == {f"cli:{pwd.getpwuid(os.getuid()).pw_name}"}
    assert [str(each["at"]) for each in found] == sorted(str(each["at"]) for each in found)
    assert found[0]["detail"] == "itemsExt=RIM *=R"
    assert found[6]["detail"] == "rate=1/1s roles=any"
    assert str(found[9]["target"]).startswith("signing-key.")
    added = str(found[1]["detail"])
    assert f" records.read role=shop company={COMPANY} rate=6000/300s quota=5 " in added

    # a reader continues after the last number that it has
    assert entries(shop, "--since", "4") == found[4:]
    assert entries(shop, "--since", "10") == []
    error = shop.error("audit", "--since", "11")
    assert "the log ends at entry 10, before --since 11: entries were lost" in error


def test_following_prints_new_entries(ready: Command) -> None:
    for name in ("first", "second"):
        ready.done("client", "add", name, "--scope", "records.read")
    with ready.started("audit", "--follow", "--since", "1") as process:
        assert b'"number":2,' in read_lines(process, 1)[0]
        ready.done("client", "add", "other", "--scope", "records.read")
        assert b'"act":"client.add","target":"other"' in read_lines(process, 1)[0]
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
        assert (process.stdout.read(), process.stderr.read()) == (b"", b"")


def test_a_reader_learns_where_a_trimmed_log_begins(ready: Command) -> None:
    for name in ("first", "second", "third"):
        ready.done("client", "add", name, "--scope", "records.read")
    run_sql(ready.url, "DELETE FROM audit WHERE number <= 1")

    assert [each["number"] for each in entries(ready)] == [2, 3]
    assert entries(ready, "--since", "1") == entries(ready)
    error = ready.error("audit", "--since", "0")
    assert "the log begins with entry 2: others after --since 0 are no longer kept" in error


@ON_SQLITE
def test_a_name_cannot_forge_an_entry(ready: Command, tmp_path: Path) -> None:
    """A role may have any printable name, also one with quotes and of another script."""
    name = 'x","act":"client.remove'
    (tmp_path / "roles.toml").write_text(f"['{name}']\n")
    ready.done("role", "apply", tmp_path / "roles.toml")
    (entry,) = entries(ready)
    assert (entry["act"], entry["target"]) == ("role.apply", name)


def test_a_client_that_revokes_a_token_is_named(service: Service, tmp_path: Path) -> None:
    webshop = add_client(service, tmp_path)
    admin = add_client(service, tmp_path, scope="admin")
    token = webshop.token()
    found = webshop.send("introspect", token).json()
    answer = admin.send("revoke", token)
    assert answer.status_code == 200
    # other tests use the service too
    entry = [each for each in entries(admin.command) if each["by"] == f"client:{admin.name}"][-1]
    assert entry["at"]
    assert entry == {
        "number": entry["number"],
        "at": entry["at"],
        "by": f"client:{admin.name}",
        "address": "127.0.0.1",
        "request": answer.headers["x-request-id"],
        "act": "token.revoke",
        "target": found["jti"],
        "detail": f"client:{webshop.name}",
    }
