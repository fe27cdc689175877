"""CORS: the sites whose scripts may use the service, and what they may send and read."""

import pytest

from comptoir.config import load_settings
from comptoir.errors.refusal import OperatorError
from support.client import Client, record
from support.companies import Company
from support.refusals import refusal
from support.service import StartService
from support.together import together

SITE = "https://app.example.com"
OTHER = "https://other.example.com:8443"
FOREIGN = "https://evil.example.com"


@pytest.fixture(scope="module")
def opened(share_service: StartService) -> Company:
    """A company of a service that allows two sites."""
    service = share_service(cors_origins=f"{SITE}, {OTHER.upper()}/")
    return service.new_company()


@pytest.fixture(scope="module")
def open_to_all(share_service: StartService) -> Company:
    service = share_service(cors_origins="*")
    return service.new_company()


def preflight(client: Client, origin: str, method: str, asked: str | None = None) -> dict[str, str]:
    """The headers of the response to an allowed preflight."""
    headers = {"Origin": origin, "Access-Control-Request-Method": method}
    if asked is not None:
        headers["Access-Control-Request-Headers"] = asked
    answer = client.using("").request("OPTIONS", "contactsExt", headers=headers)
    assert (answer.status_code, answer.content) == (204, b"")
    assert "content-length" not in answer.headers
    assert answer.headers["x-request-id"]
    return dict(answer.headers)


@together("method", ["GET", "POST", "PATCH", "PUT", "DELETE"])
@together("origin", [SITE, OTHER])
def test_a_preflight_needs_no_token(origin: str, method: str, opened: Company) -> None:
    headers = preflight(opened, origin, method, "authorization,content-type,if-match")

    assert headers["access-control-allow-origin"] == origin
    assert method in headers["access-control-allow-methods"].split(", ")
    allowed = headers["access-control-allow-headers"]
    assert allowed == "authorization, content-type, if-match"
    assert int(headers["access-control-max-age"]) > 0
    assert headers["vary"] == "Origin"
    assert "access-control-allow-credentials" not in headers


@together(
    ("asked", "allowed"),
    [
        (None, None),
        ("", None),
        ("X-Evil", None),
        ("X-Evil,\r", None),
        ("OData-MaxVersion, Prefer , x-evil", "odata-maxversion, prefer"),
        ("prefer," * 5_000, "prefer"),
        (
            "repeatability-request-id, repeatability-first-sent, odata-version",
            "odata-version, repeatability-first-sent, repeatability-request-id",
        ),
        ("x-csrf-token, sap-contextid-accept", "sap-contextid-accept, x-csrf-token"),
        ("company, companyid, isolation, prefer", "prefer"),
    ],
)
def test_a_script_may_send_known_headers(
    asked: str | None, allowed: str | None, opened: Company
) -> None:
    headers = preflight(opened, SITE, "PATCH", asked)

    assert headers.get("access-control-allow-headers") == allowed


def test_a_script_may_name_its_company_if_the_profile_has_that(start_service: StartService) -> None:
    service = start_service(cors_origins=SITE, profile="business-central")
    headers = preflight(service.new_company(), SITE, "GET", "CompanyId, Company, Isolation, X-Evil")
    assert headers["access-control-allow-headers"] == "company, companyid, isolation"


@together(
    "headers",
    [
        {"Origin": FOREIGN, "Access-Control-Request-Method": "GET"},
        {"Origin": "null", "Access-Control-Request-Method": "GET"},
        {"Origin": f"{SITE}.evil.com", "Access-Control-Request-Method": "GET"},
        {"Origin": SITE},
        {"Access-Control-Request-Method": "GET"},
        {},
    ],
)
def test_other_requests_with_options_are_not_preflights(
    headers: dict[str, str], opened: Company
) -> None:
    answer = opened.using("").request("OPTIONS", "contactsExt", headers=headers)

    refusal(answer, "Authentication_InvalidCredentials")
    assert (answer.headers.get("access-control-allow-origin") is not None) == (
        headers.get("Origin") == SITE
    )
    refusal(opened.request("OPTIONS", "contactsExt"), "BadRequest_MethodNotAllowed")


def test_an_allowed_site_reads_responses_and_errors(opened: Company) -> None:
    """Without the headers, a browser would hide errors from the script."""
    origin = {"Origin": SITE}
    created = opened.post("contactsExt", {"displayName": "x"}, origin)
    path = f"contactsExt({record(created, 201)['id']})"
    unchanged = opened.get(path, headers={**origin, "If-None-Match": created.headers["etag"]})
    answers = [
        created,
        unchanged,
        opened.get("contactsExt", headers=origin),
        opened.get("nothingExt", headers=origin),
        opened.using("").get("contactsExt", headers=origin),
        opened.patch(path, {"city": "x"}, headers=origin),
        opened.get("contactsExt", "x=" + "y" * 20_000, origin),
    ]

    assert [each.status_code for each in answers] == [201, 304, 200, 404, 401, 428, 414]
    for answer in answers:
        assert answer.headers["access-control-allow-origin"] == SITE
        exposed = answer.headers["access-control-expose-headers"].lower().split(", ")
        assert {"etag", "location", "x-request-id", "www-authenticate", "odata-version"} <= set(
            exposed
        )
        assert "Origin" in answer.headers["vary"]


@together("headers", [{}, {"Origin": FOREIGN}, {"Origin": "null"}, {"Origin": ""}])
def test_responses_to_another_site_only_vary_by_origin(
    headers: dict[str, str], opened: Company
) -> None:
    answer = opened.get("contactsExt", headers=headers)

    assert answer.status_code == 200
    assert "access-control-allow-origin" not in answer.headers
    assert answer.headers["vary"] == "Origin"


@together("origin", [SITE, FOREIGN, "null"])
def test_every_site_may_be_allowed(origin: str, open_to_all: Company) -> None:
    assert preflight(open_to_all, origin, "GET")["access-control-allow-origin"] == "*"

    answer = open_to_all.get("contactsExt", headers={"Origin": origin})

    assert answer.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in answer.headers
    assert "vary" not in answer.headers


def test_no_site_is_allowed_by_default(company: Company) -> None:
    headers = {"Origin": SITE, "Access-Control-Request-Method": "GET"}
    asked = company.using("").request("OPTIONS", "contactsExt", headers=headers)
    read = company.get("contactsExt", headers=headers)

    refusal(asked, "Authentication_InvalidCredentials")
    for answer in (asked, read):
        assert not [name for name in answer.headers if name.startswith("access-control")]


@together(
    "origins",
    [
        "app.example.com",
        "https://",
        "https://a.example/path",
        "https://a.example?x",
        "x y",
        "null",
        "https://*",
        "https://a.example;https://b.example/x",
    ],
)
def test_a_site_is_a_scheme_a_host_and_an_optional_port(origins: str) -> None:
    with pytest.raises(OperatorError, match="--cors-origins"):
        load_settings({"cors_origins": origins}, {})


@together("origins", ["", "*", SITE, f"{SITE},{OTHER}", "capacitor://localhost"])
def test_sites_are_written_as_browsers_send_them(origins: str) -> None:
    assert load_settings({}, {"COMPTOIR_CORS_ORIGINS": origins}).origins == frozenset(
        each for each in origins.split(",") if each
    )
