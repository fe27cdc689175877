"""`comptoir company`: create and list companies."""

import pytest

from comptoir.cli import company
from comptoir.edm.types import is_guid
from support.command import COMPANY, Command


def test_a_company_is_created_and_listed_with_its_id_at_the_end(migrated: Command) -> None:
    first = migrated.done("company", "create", "Zebra & Söhne").last
    assert is_guid(first)
    second = migrated.done("company", "create", "Acme", "--id", COMPANY.upper()).last
    assert second == COMPANY
    listed = migrated.done("company", "list").out.splitlines()
    assert listed == [f"Acme {second}", f"Zebra & Söhne {first}"]


def test_more_than_a_page_of_companies_is_listed(
    migrated: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(company, "PAGE", 2)
    made = [f"Acme {at} {migrated.done('company', 'create', f'Acme {at}').last}" for at in range(5)]
    assert migrated.done("company", "list").out.splitlines() == made


def test_two_companies_may_have_one_name(migrated: Command) -> None:
    ids = {migrated.done("company", "create", "Acme").last_word for _ in range(2)}
    listed = migrated.done("company", "list").out.splitlines()
    assert {line.split()[-1] for line in listed} == ids


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            ["Acme", "--id", COMPANY],
            f"the company {COMPANY} already exists. Choose",
        ),
        (["Acme", "--id", "17"], "'17' is not a company's id"),
        ([""], "is blank"),
        (["  "], "is blank"),
        (["two\nlines"], "printable"),
        (["x" * 4001], "exceeds the limit of 4000 characters"),
        ([], "Missing argument"),
    ],
)
def test_an_invalid_argument_is_an_error_in_one_line(
    ready: Command, arguments: list[str], reason: str
) -> None:
    assert reason in ready.fault("company", "create", *arguments)


def test_every_command_has_help(command: Command) -> None:
    assert "--help" in command.run("--help").out
    for name in ("serve", "migrate", "company", "load", "dump", "changes", "token", "sample"):
        assert "--help" in command.done(name, "--help").out
    for name in ("create", "list"):
        assert "--database" in command.done("company", name, "--help").out


def test_a_call_without_a_subcommand_shows_the_help(command: Command) -> None:
    result = command.here()
    assert (result.status, result.err) == (2, "")
    assert "migrate" in result.out


def test_the_version_is_printed(command: Command) -> None:
    assert command.done("--version").out.startswith("comptoir ")
