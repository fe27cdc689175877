"""Invalid tokens, insufficient scopes, and companies that a token does not reach."""

from itertools import product
from uuid import uuid4

from comptoir.auth.tokens import Scope
from support.client import record
from support.companies import Company
from support.databases import ON_SQLITE
from support.refusals import refusal
from support.samples import PATHS, SHIPPING_AGENT
from support.service import Service
from support.together import check_all, together
from support.tokens import BOTH

pytestmark = ON_SQLITE  # tokens are judged before the database

AGENT = f"shippingAgentsExt({SHIPPING_AGENT})"


def _headers(service: Service) -> dict[str, str]:
    good = service.tokens.issue()
    return {
        "empty": "",
        "a scheme without a blank": f"Bearer{good}",
        "a scheme with a tab": f"Bearer\t{good}",
        "another scheme": "Basic dXNlcjpwYXNz",
        "a token without scheme": good,
        "a scheme without token": "Bearer",
        "malformed": "Bearer x.y.z",
        "cut": f"Bearer {good[:-5]}",
        "two tokens": f"Bearer {good}, Bearer {good}",
        "too long": f"Bearer {good}{'x' * 10_000}",
        "expired": f"Bearer {service.tokens.expired()}",
        "another issuer": f"Bearer {service.tokens.of_another_issuer()}",
    }


WITHOUT_TOKEN = {
    *("none", "empty", "another scheme", "a token without scheme"),
    *("a scheme without a blank", "a scheme with a tab"),
}


def test_a_request_without_an_accepted_token_is_401(own_stock: Company, service: Service) -> None:
    """The challenge asks for a bearer token, or names its error (RFC 6750).

    `oauth/test_forged_tokens.py` has what a forger would send.
    """
    changed = own_stock.changes()
    headers: dict[str, dict[str, str]] = {"none": {}}
    for name, value in _headers(service).items():
        headers[name] = {"Authorization": value}

    def check(case: tuple[str, str]) -> None:
        method, name = case
        sent = {**headers[name], "If-Match": "*"}
        answer = own_stock.using("").request(method, AGENT, body={"name": "x"}, headers=sent)
        refusal(answer, "Authentication_InvalidCredentials", "Authorization")
        challenge = answer.headers["www-authenticate"]
        if name in WITHOUT_TOKEN:
            assert challenge == 'Bearer realm="comptoir"'
        else:
            assert challenge.startswith('Bearer error="invalid_token", error_description="')

    check_all(product(("GET", "PATCH"), headers), check)
    assert own_stock.changes() == changed


def test_the_scheme_is_not_case_sensitive(stocked: Company) -> None:
    for scheme in ("bEARER", "BEARER", "Bearer  "):
        answer = stocked.using("").get(
            AGENT, headers={"Authorization": f"{scheme} {stocked.token}"}
        )
        assert record(answer)["code"] == "DHL"


READS = ("GET", "HEAD")
WRITES = ("POST", "PATCH")


@together(
    ("scopes", "allowed"),
    [
        ([], ()),
        ([Scope.RECORDS_READ], READS),
        ([Scope.RECORDS_WRITE], WRITES),
        (BOTH, READS + WRITES),
        ([Scope.ADMIN], READS + WRITES),
    ],
)
@together("method", READS + WRITES)
def test_a_token_allows_what_its_scopes_allow(
    method: str, scopes: list[Scope], allowed: tuple[str, ...], own_stock: Company, service: Service
) -> None:
    client = own_stock.using(service.tokens.issue(scopes))
    path = "shippingAgentsExt" if method == "POST" else AGENT
    body = {"code": f"{uuid4()}"} if method in WRITES else None
    changed = own_stock.changes()

    answer = client.request(method, path, body=body, headers={"If-Match": "*"})

    if method in allowed:
        assert answer.is_success
        return
    assert answer.status_code == 403
    wanted = "records.read" if method in READS else "records.write"
    challenge = f'Bearer error="insufficient_scope", scope="{wanted}"'
    assert answer.headers["www-authenticate"] == challenge
    if method != "HEAD":
        error = refusal(answer, "Authorization_RequestDenied")
        assert wanted in error.message
    assert own_stock.changes() == changed


@together("path", ["", "contactsExt", *PATHS.values(), "nothingExt"])
@together("method", ["GET", "PATCH", "DELETE"])
def test_every_request_to_a_foreign_company_is_404(
    method: str, path: str, stocked: Company, service: Service
) -> None:
    foreign = stocked.using(service.tokens.issue(companies=[service.new_company().id]))

    refusal(foreign.request(method, path, body={}), "Internal_CompanyNotFound")


def test_a_restricted_token_works_in_its_companies(own_stock: Company, service: Service) -> None:
    restricted = own_stock.using(service.tokens.issue(companies=[own_stock.id.upper()]))

    assert record(restricted.get(AGENT))["code"] == "DHL"
    assert record(restricted.patch(AGENT, {"name": "x"}, if_match="*"))["name"] == "x"
