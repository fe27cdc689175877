"""`comptoir token`: the service accepts the token with the requested claims."""

from datetime import timedelta

from comptoir.auth.keys import load_keys
from comptoir.auth.roles import Principal
from comptoir.auth.tokens import Scope
from comptoir.auth.verification import PresentedToken, TokenVerifier, principal_of
from comptoir.cli.token import parse_ttl
from support.command import COMPANY, OTHER_COMPANY, Command, guids
from support.databases import run_sql
from support.together import together


def examined(command: Command, token: str) -> tuple[Principal, float]:
    """The principal of a token, and its lifetime in seconds."""
    keys = load_keys(command.folder / "keys")
    verifier = TokenVerifier(keys.trusted.get, "comptoir", "comptoir")
    claims = verifier.verify(PresentedToken(token))
    return principal_of(claims), claims.exp - (claims.iat or 0)


def test_by_default_a_token_reads_and_writes_all_companies_for_an_hour(command: Command) -> None:
    found, seconds = examined(command, command.done("token").last)
    assert found.scopes == {Scope.RECORDS_READ, Scope.RECORDS_WRITE}
    assert found.companies is None
    assert seconds == 3_600


def test_a_token_of_keys_that_no_service_has_used_warns(command: Command) -> None:
    first = command.done("token")
    examined(command, first.last)
    assert f"no service has used the keys in {command.folder / 'keys'}" in first.err
    assert len(first.out.splitlines()) == 1
    assert command.done("token").err == ""


def test_a_token_has_the_requested_claims(command: Command) -> None:
    asked = ["--scope", " records.read  admin", "--subject", "Ann", "--ttl", "2d"]
    companies = ["--company", COMPANY.upper(), "--company", OTHER_COMPANY]
    found, seconds = examined(command, command.done("token", *asked, *companies).last)
    assert found.subject == "Ann"
    assert found.scopes == {Scope.RECORDS_READ, Scope.ADMIN}
    assert found.companies == frozenset({COMPANY, OTHER_COMPANY})
    assert seconds == 2 * 86_400


@together(("text", "seconds"), [("90s", 90), ("15m", 900), ("1h", 3_600), ("30d", 2_592_000)])
def test_a_lifetime_has_a_number_and_a_unit(text: str, seconds: int) -> None:
    assert parse_ttl(text) == timedelta(seconds=seconds)


@together(
    ("arguments", "reason"),
    [
        (["--scope", "records.read records.delete"], "'records.delete'. Use one or more"),
        (["--scope", " "], "a token needs a scope"),
        (["--scope", "records.read\xa0admin"], "invalid scope 'records.read"),
        (["--company", "17"], "'17' is not a company's id"),
        (
            [part for each in guids(101) for part in ("--company", each)],
            "a token cannot contain 101 companies",
        ),
        (["--ttl", "1w"], "invalid --ttl '1w'"),
        (["--ttl", "0s"], "invalid --ttl '0s'"),
        (["--ttl", "-1h"], "invalid --ttl '-1h'"),
        (["--ttl", "1.5h"], "invalid --ttl"),
        (["--ttl", "٣h"], "invalid --ttl"),
        (["--ttl", "999999999d"], "the token cannot be issued: "),
        *(
            (["--subject", each], "the token cannot be issued: ")
            for each in ("", "a\nb", "x" * 256)
        ),
    ],
)
def test_an_invalid_option_is_an_error_in_one_line(
    command: Command, arguments: list[str], reason: str
) -> None:
    assert reason in command.error("token", *arguments)


def test_an_unknown_company_causes_a_warning(ready: Command) -> None:
    """It is not an error: the company may be created later, or be in another database."""
    unknown = "c0ffee00-0000-4000-8000-0000000000ff"
    issued = ready.done("token", "--company", COMPANY, "--company", unknown)
    assert examined(ready, issued.out.strip())[0].companies == frozenset({COMPANY, unknown})
    (_, warning) = issued.err.splitlines()
    assert warning.startswith(
        f"WARNING: the company {unknown} does not exist. List the companies with"
    )
    assert ready.done("token", "--company", COMPANY).err == ""
    assert ready.done("token").err == ""


def test_a_failing_lookup_of_companies_causes_a_warning(command: Command) -> None:
    """The command neither creates a database nor changes one without tables."""
    away = "postgresql://nobody@127.0.0.1:1/none?connect_timeout=2"
    for options in ((), ("--database", away)):
        issued = command.done("token", "--company", COMPANY, *options)
        assert examined(command, issued.out.strip())[0].companies == frozenset({COMPANY})
        warning = issued.err.splitlines()[-1]
        assert warning.startswith("WARNING: --company was not checked: ")
        assert options or "does not exist. Create it" in warning
    assert not command.database.exists()
    command.database.touch()
    issued = command.done("token", "--company", COMPANY)
    assert "WARNING: --company was not checked: " in issued.err
    assert run_sql(command.url, "SELECT name FROM sqlite_master") == []
