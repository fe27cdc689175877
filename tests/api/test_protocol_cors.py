"""CORS: what scripts of allowed sites may read, and how an operator names the sites."""

import pytest

from comptoir.config import load_settings
from comptoir.errors.refusal import OperatorError
from support.companies import Company
from support.service import StartService
from support.together import together

SITE = "https://app.example.com"
OTHER = "https://other.example.com:8443"


@pytest.fixture(scope="module")
def opened(share_service: StartService) -> Company:
    """A company of a service that allows two sites."""
    service = share_service(cors_origins=f"{SITE}, {OTHER.upper()}/")
    return service.new_company()


@together(("asked", "allowed"), [("X-Evil,\r", None), ("prefer," * 5_000, "prefer")])
def test_a_script_may_send_known_headers(asked: str, allowed: str | None, opened: Company) -> None:
    headers = {"Origin": SITE, "Access-Control-Request-Method": "PATCH"}
    headers["Access-Control-Request-Headers"] = asked
    answer = opened.using("").request("OPTIONS", "contactsExt", headers=headers)

    assert answer.status_code == 204
    assert answer.headers.get("access-control-allow-headers") == allowed


@together(
    "origins",
    [
        *("app.example.com", "https://", "https://a.example/path", "https://a.example?x"),
        *("x y", "null", "https://*", "https://a.example;https://b.example/x"),
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
