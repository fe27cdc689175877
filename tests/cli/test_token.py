"""`comptoir token`: what is asked for is what the service accepts."""

from datetime import timedelta
from pathlib import Path

import pytest

from cli.command import COMPANY, OTHER_COMPANY, Command
from comptoir.auth import Scope, TokenVerifier, VerifiedToken, load_keys
from comptoir.cli.token import parse_ttl


def examined(command: Command, token: str) -> VerifiedToken:
    keys = load_keys(command.folder / "keys")
    return TokenVerifier(keys.trusted, "comptoir", "comptoir").examine(token)


def test_a_token_reads_and_writes_every_company_for_an_hour(command: Command) -> None:
    principal = examined(command, command.done("token").last).principal
    assert principal.scopes == {Scope.RECORDS_READ, Scope.RECORDS_WRITE}
    assert principal.companies is None


def test_a_token_is_what_was_asked_for(command: Command) -> None:
    asked = ["--scope", " records.read  admin", "--subject", "Ann", "--ttl", "2d"]
    companies = ["--company", COMPANY.upper(), "--company", OTHER_COMPANY]
    found = examined(command, command.done("token", *asked, *companies).last)
    assert found.principal.subject == "Ann"
    assert found.principal.scopes == {Scope.RECORDS_READ, Scope.ADMIN}
    assert found.principal.companies == frozenset({COMPANY, OTHER_COMPANY})


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("15m", 900), ("1h", 3_600), ("30d", 2_592_000)]
)
def test_lifetimes(text: str, seconds: int) -> None:
    assert parse_ttl(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--scope", "records.read records.delete"], "'records.delete' is no scope. There are:"),
        (["--scope", " "], "a token needs a scope"),
        (["--scope", "records.read\xa0admin"], "'records.read\\xa0admin' is no scope"),
        (["--company", "17"], "'17' is not a company's id"),
        (["--ttl", "1w"], "'1w' is no lifetime"),
        (["--ttl", "0s"], "'0s' is no lifetime"),
        (["--ttl", "-1h"], "'-1h' is no lifetime"),
        (["--ttl", "1.5h"], "is no lifetime"),
        (["--ttl", "٣h"], "is no lifetime"),
        (["--ttl", "999999999d"], "The token cannot be issued"),
        (["--subject", ""], "The token cannot be issued"),
    ],
)
def test_what_cannot_be_issued_is_said_in_one_line(
    command: Command, arguments: list[str], reason: str
) -> None:
    assert reason in command.fault("token", *arguments)


def test_keys_that_cannot_be_made_are_told_in_one_line(command: Command, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    fault = command.fault("token", "--keys", tmp_path / "file" / "keys")
    assert "key directory" in fault


@pytest.mark.parametrize("number", ["8_080", "٨٠٨٠", "8080\xa0"])
def test_a_setting_is_a_number_in_ascii(number: str, command: Command) -> None:
    config = command.folder / "config.toml"
    config.write_text(f"port = '{number}'", encoding="utf-8")
    assert "port must be a whole number" in command.fault("token", "--config", config)
