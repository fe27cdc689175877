import pytest

from comptoir.auth import Principal, Scope, require
from comptoir.errors import REQUEST_DENIED, Refusal

HERE = "9a0cf0f2-56ab-4f0c-8d6e-1d2b1c5b7e11"
THERE = "9a0cf0f2-56ab-4f0c-8d6e-1d2b1c5b7e12"


def holding(*scopes: str) -> Principal:
    return Principal("tests", frozenset(scopes), None)


@pytest.mark.parametrize(
    ("held", "allowed"),
    [
        ((), set()),
        (("records.read",), {Scope.RECORDS_READ}),
        (("records.write",), {Scope.RECORDS_WRITE}),
        (("admin",), {Scope.ADMIN, Scope.RECORDS_READ, Scope.RECORDS_WRITE}),
        (("records.read", "records.write"), {Scope.RECORDS_READ, Scope.RECORDS_WRITE}),
        (("records", "records.reader", "Admin", "openid"), set()),
    ],
)
def test_scopes_allow_what_they_name_and_admin_everything(
    held: tuple[str, ...], allowed: set[Scope]
) -> None:
    assert {scope for scope in Scope if holding(*held).may(scope)} == allowed


def test_every_scope_has_a_meaning_of_one_line() -> None:
    assert all(scope.meaning and "\n" not in scope.meaning for scope in Scope)


def test_no_list_of_companies_reaches_all_and_an_empty_one_none() -> None:
    def reached(companies: frozenset[str] | None) -> list[str]:
        principal = Principal("tests", frozenset(), companies)
        return [company for company in (HERE, THERE) if principal.reaches(company)]

    assert reached(None) == [HERE, THERE]
    assert reached(frozenset({HERE})) == [HERE]
    assert reached(frozenset()) == []


def test_require_lets_a_sufficient_scope_pass() -> None:
    require(holding("records.write"), Scope.RECORDS_WRITE)


def test_require_refuses_with_the_scope_that_is_missing() -> None:
    with pytest.raises(Refusal, match=r"scope `records\.write`") as caught:
        require(holding("records.read"), Scope.RECORDS_WRITE)
    assert caught.value.error is REQUEST_DENIED
    assert caught.value.headers == {
        "WWW-Authenticate": 'Bearer error="insufficient_scope", scope="records.write"'
    }
