"""The token endpoint: what it gives to a client; the corpus has what it refuses to everybody."""

import base64
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote_plus

import httpx
import pytest

from support.clients import GRANT, TOKEN_PATH, Webshop, add_client, ask
from support.databases import ON_SQLITE
from support.server import Server
from support.service import Roaming, Service
from support.together import check_all

pytestmark = ON_SQLITE


@pytest.fixture(scope="module")
def webshop(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Webshop:
    """A client of several tests, each of whose requests comes from another address."""
    return add_client(Roaming(service), tmp_path_factory.mktemp("webshop"))


def basic(client_id: str, secret: str) -> Mapping[str, str]:
    encoded = base64.b64encode(f"{client_id}:{secret}".encode()).decode()
    return {"Authorization": f"Basic {encoded}"}


def error_of(response: httpx.Response, status: int) -> str:
    """The error of a refused request; it has the members that Microsoft's clients read."""
    body = response.json()
    assert response.status_code == status, response.text
    assert body.keys() == {
        "error",
        "error_description",
        "error_codes",
        "timestamp",
        "trace_id",
        "correlation_id",
    }
    assert response.headers["Cache-Control"] == "no-store"
    return str(body["error"])


@pytest.mark.parametrize("path", [TOKEN_PATH, "oauth2/v2.0/token", "COMPTOIR/oauth2/v2.0/token"])
def test_a_client_gets_a_token(webshop: Webshop, path: str) -> None:
    unknown = {"client_info": "1", "resource": "x"}
    response = ask(webshop.service, {**GRANT, **webshop.in_body, **unknown}, path=path)

    assert response.status_code == 200
    body = response.json()
    assert body.pop("access_token").count(".") == 2
    assert body == {
        "token_type": "Bearer",
        "expires_in": 3600,
        "ext_expires_in": 3600,
        "scope": "records.read records.write",
    }
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["Pragma"] == "no-cache"


def test_credentials_may_be_sent_as_basic(webshop: Webshop) -> None:
    """Form-encoded, and beside the same id in the body."""
    encoded = "".join(f"%{ord(each):02x}" for each in webshop.id)
    for name, secret in ((webshop.id, webshop.secret), (encoded, quote_plus(webshop.secret))):
        for form in (GRANT, {**GRANT, "client_id": webshop.id}):
            assert ask(webshop.service, form, basic(name, secret)).status_code == 200


def test_the_scopes_are_those_that_the_client_names(webshop: Webshop) -> None:
    def check(case: tuple[str, str]) -> None:
        wanted, granted = case
        assert webshop.ask(scope=wanted).json()["scope"] == granted

    check_all(
        [
            ("", "records.read records.write"),
            ("records.read", "records.read"),
            ("records.write records.read", "records.read records.write"),
            ("api://comptoir/.default", "api://comptoir/.default records.read records.write"),
            (
                "https://api.businesscentral.dynamics.com/.default records.read",
                "https://api.businesscentral.dynamics.com/.default records.read records.write",
            ),
        ],
        check,
    )


def test_other_scopes_and_grants_are_refused(webshop: Webshop) -> None:
    def check(case: tuple[str, str, str]) -> None:
        name, value, error = case
        assert error_of(webshop.ask(**{name: value}), 400) == error

    grants = "urn:ietf:params:oauth:grant-type:"
    check_all(
        [
            *(
                ("scope", each, "invalid_scope")
                for each in ("admin", "records.read admin", "openid", "api://x/.default")
            ),
            *(
                ("grant_type", each, "unsupported_grant_type")
                for each in (
                    *("password", "refresh_token", "authorization_code", "implicit"),
                    *("Client_Credentials", f"{grants}device_code", f"{grants}jwt-bearer"),
                    *(f"{grants}saml2-bearer", f"{grants}token-exchange"),
                )
            ),
        ],
        check,
    )
    # a long value is cut
    description = webshop.ask(grant_type=f"{grants}device_code").json()["error_description"]
    assert f"'{grants}device...'" in description


def test_the_scope_admin_implies_the_others(service: Service, tmp_path: Path) -> None:
    admin = add_client(service, tmp_path, scope="admin")
    assert admin.ask().json()["scope"] == "admin"
    assert admin.ask(scope="records.read").json()["scope"] == "records.read"


def test_unknown_wrong_and_disabled_are_alike(webshop: Webshop, tmp_path: Path) -> None:
    disabled = add_client(webshop.service, tmp_path)
    disabled.command.done("client", "disable", disabled.name)
    removed = add_client(webshop.service, tmp_path)
    removed.command.done("client", "remove", removed.name)
    refused = [
        disabled.ask(),
        removed.ask(),
        webshop.ask(client_secret="wrong"),
        webshop.ask(client_secret=disabled.secret),
        webshop.ask(client_id="unknown"),
        webshop.ask(client_id=webshop.name),
    ]
    assert {error_of(each, 401) for each in refused} == {"invalid_client"}
    assert len({each.json()["error_description"] for each in refused}) == 1
    assert not any("WWW-Authenticate" in each.headers for each in refused)


def test_an_authorization_header_that_is_refused_gets_a_challenge(webshop: Webshop) -> None:
    def check(header: str) -> None:
        response = ask(webshop.service, GRANT, {"Authorization": header})
        assert error_of(response, 401) == "invalid_client"
        assert response.headers["WWW-Authenticate"] == 'Basic realm="comptoir"'

    wrong = basic(webshop.id, "wrong")["Authorization"]
    check_all([wrong, "Bearer abc", "Basic", "Basic /zpi", "Basic %", "Basic Zm9v"], check)


def test_a_form_that_is_too_large_or_not_text_is_refused(service: Service) -> None:
    grant = b"grant_type=client_credentials&"
    for rest in (b"x=" + b"x" * 16_384, b"client_id=a&client_secret=\xff"):
        assert error_of(ask(service, grant + rest), 400) == "invalid_request"


def test_a_request_that_others_may_read_is_refused(webshop: Webshop) -> None:
    """With credentials in its URL, or forwarded by a proxy that is not known."""

    def check(case: tuple[str, Mapping[str, str], str]) -> None:
        query, headers, part = case
        response = ask(webshop.service, {**GRANT, **webshop.in_body}, headers, query=query)
        assert error_of(response, 400) == "invalid_request"
        assert part in response.json()["error_description"]

    proxies = ("X-Forwarded-For", "X-Forwarded-Proto", "Forwarded")
    names = ("client_id", "client_secret", "client_assertion")
    check_all(
        [
            *((f"{each}=x", {}, "") for each in names),
            *(("", {each: "https"}, "HTTPS") for each in proxies),
        ],
        check,
    )


def test_the_ids_of_an_error_lead_to_the_request(service: Service) -> None:
    asked = "9a0cf0f2-56ab-4f0c-8d6e-1d2b1c5b7e11"
    response = ask(service, {}, {"client-request-id": asked})
    process, number = response.headers["X-Request-Id"].split("-")
    trace = response.json()["trace_id"].replace("-", "")
    assert trace.startswith(process)
    assert int(trace[len(process) :], 16) == int(number, 16)
    assert response.json()["correlation_id"] == asked
    assert ask(service, {}, {"client-request-id": "'x"}).json()["correlation_id"] != "'x"


def test_a_trusted_proxy_sets_the_scheme(proxied: Server, tmp_path: Path) -> None:
    webshop = add_client(proxied, tmp_path)
    form = {**GRANT, **webshop.in_body}
    for scheme, status in (("https", 200), ("http", 400)):
        forwarded = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": scheme}
        assert ask(proxied, form, forwarded).status_code == status
