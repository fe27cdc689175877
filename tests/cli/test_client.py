"""`comptoir client`: the clients of the token endpoint."""

import hashlib
import time
from datetime import UTC, datetime

from comptoir.edm.types import is_guid
from support.clocks import days_ahead
from support.command import COMPANY, OTHER_COMPANY, Command, guids
from support.databases import ON_SQLITE, run_sql

READS = ("--scope", "records.read")


def test_a_client_is_added_and_listed(ready: Command) -> None:
    began = datetime.now(UTC)
    client_id, secret = ready.done("client", "add", "webshop", *READS).out.splitlines()
    assert is_guid(client_id)
    assert len(secret) == 43
    listed, _, end = ready.done("client", "list").last.partition("…")
    assert listed == f"webshop {client_id} active records.read {secret[:4]}"
    assert end in days_ahead(180, began)
    for name in ("b", "a", "B"):
        ready.done("client", "add", name, *READS)
    lines = ready.done("client", "list").out.splitlines()
    assert [line.split()[0] for line in lines] == ["B", "a", "b", "webshop"]


def test_a_client_has_what_its_options_say(ready: Command) -> None:
    began = datetime.now(UTC)
    companies = ("--company", COMPANY.upper(), "--company", OTHER_COMPANY)
    limits = ("--rate", "6000/300s", "--quota", "5")
    secret = ready.done(
        "client", "add", "webshop", *READS, *companies, *limits, "--days", "30"
    ).last
    ready.done("client", "add", "xshop", *READS, "--quota", f"{10**15}")

    first, second = ready.done("client", "list").out.splitlines()
    named = f"company={COMPANY} company={OTHER_COMPANY}"
    assert f" records.read {named} rate=6000/300s quota=5 {secret[:4]}…" in first
    assert first.rpartition("…")[2] in days_ahead(30, began)
    assert " records.read quota=1000000000000000 " in second
    stored = run_sql(ready.url, "SELECT companies FROM clients WHERE name = 'webshop'")
    assert stored == [(f'["{COMPANY}","{OTHER_COMPANY}"]',)]
    unknown = "c0ffee00-0000-4000-8000-00000000000f"
    added = ready.done("client", "add", "yshop", *READS, "--company", unknown)
    assert added.err.startswith(f"WARNING: the company {unknown} does not exist")


def test_a_name_is_taken_until_its_client_is_removed(ready: Command) -> None:
    first = ready.done("client", "add", "webshop", *READS).out.splitlines()[0]
    error = ready.error("client", "add", "webshop", *READS)
    assert error == "comptoir: the client 'webshop' already exists. Choose another name."
    assert ready.done("client", "remove", "webshop").out == "webshop: removed\n"
    assert ready.done("client", "list").out == ""
    assert run_sql(ready.url, "SELECT id FROM client_secrets") == []
    assert ready.done("client", "add", "webshop", *READS).out.splitlines()[0] != first


def test_a_client_is_disabled_and_enabled_again(ready: Command) -> None:
    ready.done("client", "add", "webshop", *READS)
    ready.done("client", "add", "other", *READS)
    ready.done("client", "enable", "webshop")
    stored = "SELECT state, not_before FROM clients WHERE name = 'webshop'"
    assert run_sql(ready.url, stored) == [("active", 0)], "nothing changes"
    assert ready.done("client", "disable", "webshop").out == "webshop: disabled\n"
    listed = ready.done("client", "list").out.splitlines()
    assert [line.split()[2] for line in listed] == ["active", "disabled"]
    before = time.time()
    assert ready.done("client", "enable", "webshop").out == "webshop: enabled\n"
    ((state, first),) = run_sql(ready.url, stored)
    assert state == "active"
    assert isinstance(first, int)
    assert before < first <= time.time() + 1


def test_a_client_is_changed_in_the_parts_that_are_named(ready: Command) -> None:
    roles = ready.folder / "roles.toml"
    roles.write_text('[shop]\n"*" = "R"\n[archive]\n"*" = "R"\n', encoding="utf-8")
    ready.done("role", "apply", roles)
    limits = ("--rate", "6000/300s", "--quota", "5")
    client_id, secret = ready.done(
        "client", "add", "webshop", *READS, "--role", "shop", "--company", COMPANY, *limits
    ).out.splitlines()

    def listed() -> str:
        return ready.done("client", "list").out.split(f" {secret[:4]}…")[0]

    changed = ready.done("client", "change", "webshop", "--scope", "admin", "--role", "archive")
    assert changed.out == "webshop: changed\n"
    unchanged = f"webshop {client_id} active admin"
    assert listed() == f"{unchanged} role=archive company={COMPANY} rate=6000/300s quota=5"
    ready.done("client", "change", "webshop", "--rate", "1/2s", "--company", OTHER_COMPANY)
    assert listed() == f"{unchanged} role=archive company={OTHER_COMPANY} rate=1/2s quota=5"
    ready.done("client", "change", "webshop", "--without", "rate", "--without", "roles")
    assert listed() == f"{unchanged} company={OTHER_COMPANY} quota=5"
    ready.done("client", "change", "webshop", "--without", "quota", "--without", "companies")
    assert listed() == unchanged
    assert run_sql(ready.url, "SELECT companies FROM clients") == [("*",)]


INVALID_CHANGES = [
    ((), "no option says what to change"),
    (("--rate", "1/1s", "--without", "rate"), "the part rate is both set and removed"),
    (("--without", "scope"), "Invalid value for '--without'"),
    (("--role", "shop"), "the role 'shop' does not exist"),
    (("--scope", ""), "a token needs a scope"),
    (("--rate", "x"), "invalid rate 'x'"),
    (("--company", "x"), "'x' is not a company's id"),
]


@ON_SQLITE
def test_an_invalid_change_is_refused(ready: Command) -> None:
    ready.done("client", "add", "webshop", *READS)
    before = run_sql(ready.url, "SELECT * FROM clients")
    for arguments, problem in INVALID_CHANGES:
        assert problem in ready.error("client", "change", "webshop", *arguments)
    assert run_sql(ready.url, "SELECT * FROM clients") == before


def test_a_client_has_at_most_what_fits_into_a_token(ready: Command) -> None:
    ready.done("client", "add", "webshop", *READS)
    companies = [part for each in guids(101) for part in ("--company", each)]
    roles = [part for number in range(17) for part in ("--role", f"role-{number}")]
    for act, scope in (("add", READS), ("change", ())):
        error = ready.error("client", act, "webshop", *scope, *companies)
        assert "a token cannot contain 101 companies. Name up to 100" in error
        error = ready.error("client", act, "webshop", *scope, *roles)
        assert "a client cannot have 17 roles. Name up to 16" in error


def test_an_unknown_client_is_an_error(ready: Command) -> None:
    remedy = "List the clients with `comptoir client list`."
    for act in ("disable", "remove", "enable", "change"):
        options = ("--quota", "1") if act == "change" else ()
        error = ready.error("client", act, "webshop", *options)
        assert error == f"comptoir: the client 'webshop' does not exist. {remedy}"


INVALID = [
    (("a b", *READS), "invalid name 'a b' of a client"),
    ((".", *READS), "invalid name '.' of a client"),
    (("x" * 65, *READS), "invalid name"),
    (("webshop", "--scope", "read"), "invalid scope 'read'"),
    (("webshop", "--scope", ""), "a token needs a scope"),
    (("webshop", *READS, "--company", "x"), "'x' is not a company's id"),
    (("webshop", *READS, "--days", "0"), "Invalid value for '--days'"),
    (("webshop", *READS, "--days", "5", "--no-secret"), "--days and --no-secret exclude"),
    (("webshop",), "Missing option '--scope'"),
    *(
        (
            ("webshop", *READS, "--rate", rate),
            f"comptoir: invalid rate '{rate}'. Write requests and seconds, such as 6000/300s.",
        )
        for rate in ("", "6000", "0/300s", "6000/0s", "6/5", "6/5m", "-6/5s", "\uff16/5s")
    ),
]


@ON_SQLITE
def test_invalid_arguments_are_refused(ready: Command) -> None:
    for arguments, problem in INVALID:
        assert problem in ready.error("client", "add", *arguments)
    assert ready.done("client", "list").out == ""


def test_a_missing_database_is_an_error(command: Command) -> None:
    assert "does not exist. Create it" in command.error("client", "add", "webshop", *READS)


def test_a_secret_is_replaced_by_a_second_one(ready: Command) -> None:
    first = ready.done("client", "add", "webshop", *READS).last
    began = datetime.now(UTC)
    second = ready.done("client", "secret", "add", "webshop", "--days", "30").last
    assert first != second
    listed, _, end = ready.done("client", "list").last.rpartition("…")
    assert listed.endswith(f" {second[:4]}")
    assert end in days_ahead(30, began)
    digests = {digest for (digest,) in run_sql(ready.url, "SELECT digest FROM client_secrets")}
    assert digests == {hashlib.sha256(each.encode()).hexdigest() for each in (first, second)}

    third = ready.error("client", "secret", "add", "webshop")
    assert third == (
        "comptoir: the client webshop has 2 secrets already. "
        "Remove one with `comptoir client secret remove`."
    )
    removed = ready.done("client", "secret", "remove", "webshop", "--", first[:4])
    assert removed.out == f"webshop: secret {first[:4]}… removed\n"
    ((digest,),) = run_sql(ready.url, "SELECT digest FROM client_secrets")
    assert digest == hashlib.sha256(second.encode()).hexdigest()


def test_an_unknown_secret_or_client_is_refused(ready: Command) -> None:
    ready.done("client", "add", "webshop", *READS)
    error = ready.error("client", "secret", "remove", "webshop", "?")
    assert error == (
        "comptoir: the client webshop has no secret that begins with '?'. "
        "List the clients with `comptoir client list`."
    )
    for arguments in (("add", "shop"), ("remove", "shop", "?")):
        assert "the client 'shop' does not exist" in ready.error("client", "secret", *arguments)
