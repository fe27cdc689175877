"""Which check refused a request, as the log says with the level `debug`."""

from collections.abc import Mapping

import msgspec
import pytest

from comptoir.auth.tokens import Scope
from support.client import Client
from support.databases import ON_SQLITE
from support.samples import SHIPPING_AGENT, UNKNOWN
from support.service import StartService

pytestmark = ON_SQLITE  # a refusal has its check before any database is asked

AGENT = f"shippingAgentsExt({SHIPPING_AGENT})"
JSON = {"Content-Type": "application/json"}
ANY = {"If-Match": "*"}
NAME = b'{"name": "x"}'
PART = b'{"requests": [{"id": "1", "method": "GET", "url": "nothingExt"}]}'

Asked = tuple[str, str, Mapping[str, str], bytes]

BY_CHECK: Mapping[str, tuple[str, Asked]] = {
    "an unknown resource": ("resource", ("GET", "nothingExt", {}, b"")),
    "a malformed key": ("resource", ("GET", "shippingAgentsExt(1)", {}, b"")),
    "a method": ("method", ("PATCH", "shippingAgentsExt", JSON, NAME)),
    "a format": ("media type", ("GET", AGENT, {"Accept": "text/html"}, b"")),
    "a body that is not JSON": ("media type", ("PATCH", AGENT, {"Content-Type": "a/b"}, NAME)),
    "a large body": ("size", ("PATCH", AGENT, JSON | ANY, b" " * (1 << 20) + b"{}")),
    "a missing tag": ("precondition", ("PATCH", AGENT, JSON, NAME)),
    "a malformed tag": ("precondition", ("PATCH", AGENT, JSON | {"If-Match": "x"}, NAME)),
    "a version": ("precondition", ("GET", AGENT, {"OData-Version": "9"}, b"")),
    "a malformed body": ("syntax", ("PATCH", AGENT, JSON | ANY, b"{")),
    "a body twice": ("syntax", ("PATCH", AGENT, JSON | ANY, b'{"name": "a", "name": "b"}')),
    "a malformed filter": ("syntax", ("GET", "shippingAgentsExt?$filter=name eq", {}, b"")),
    "an unsupported option": ("syntax", ("GET", "shippingAgentsExt?$index=1", {}, b"")),
    "a malformed batch": ("syntax", ("POST", "$batch", JSON, b"{}")),
    "a part of a batch": ("resource", ("POST", "$batch", JSON, PART)),
    "an unknown record": ("record", ("PATCH", f"shippingAgentsExt({UNKNOWN})", JSON | ANY, NAME)),
    "a stale tag": ("tag", ("PATCH", AGENT, JSON | {"If-Match": 'W/"1"'}, NAME)),
    "a wrong value": ("values", ("PATCH", AGENT, JSON | ANY, b'{"name": 5}')),
    "an empty value": ("values", ("PATCH", AGENT, JSON | ANY, b'{"code": ""}')),
    "a taken value": ("uniqueness", ("PATCH", AGENT, JSON | ANY, b'{"code": "UPS"}')),
    "a long URL": ("limit", ("GET", f"shippingAgentsExt?$filter={'x' * 20_000}", {}, b"")),
}


def test_each_refusal_has_its_check(
    start_service: StartService, capfd: pytest.CaptureFixture[str]
) -> None:
    service = start_service(log_level="debug")
    company = service.new_company()
    company.load("shippingAgentsExt", {"id": SHIPPING_AGENT, "code": "DHL", "name": "DHL"})
    company.load("shippingAgentsExt", {"code": "UPS", "name": "United"})
    base = f"{service.client.root}/companies({company.id})"
    trying = Client(service, base, service.tokens.issue())
    expected: dict[str, str] = {}
    for check, (method, path, headers, body) in BY_CHECK.values():
        address, _, query = path.partition("?")
        answer = trying.request(method, address, query, body or None, headers)
        expected[answer.headers["x-request-id"]] = check
    elsewhere = Client(service, f"{service.client.root}/companies({UNKNOWN})", trying.token)
    reading = trying.using(service.tokens.issue([Scope.RECORDS_READ]))
    others = {
        "token": trying.using("x").get(AGENT),
        "company": elsewhere.get(AGENT),
        "scope": reading.patch(AGENT, NAME, if_match="*"),
    }
    expected |= {answer.headers["x-request-id"]: check for check, answer in others.items()}

    service.origin.get("metrics")  # writes the log
    lines = [msgspec.json.decode(each) for each in capfd.readouterr().err.splitlines()]
    checks = {each["id"]: each["checks"] for each in lines if each["event"] == "request"}

    assert {each: checks[each] for each in expected} == {
        each: [check] for each, check in expected.items()
    }
