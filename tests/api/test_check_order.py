"""The order of the checks: a request that would fail two of them is refused by the first.

One test per pair of neighbours: 401, company 404, resource 404, 405, scope 403, 415, 413, 428,
body syntax 400, record 404, 412, values 400, 409.
"""

from collections.abc import Mapping

import msgspec
import pytest

from comptoir.auth.tokens import Scope
from support.client import Client
from support.companies import Company
from support.databases import ON_SQLITE
from support.refusals import refusal
from support.samples import SHIPPING_AGENT, UNKNOWN
from support.service import Service
from support.together import together

pytestmark = ON_SQLITE  # nothing of this is up to the database


class Try(msgspec.Struct, frozen=True, kw_only=True):
    """A valid update, except for the given parts."""

    signed: bool = True
    company: bool = True
    resource: str = "shippingAgentsExt"
    method: str = "PATCH"
    scope: Scope = Scope.RECORDS_WRITE
    media: str = "application/json"
    body: bytes = b'{"name": "x"}'
    tag: str | None = "*"
    key: str = SHIPPING_AGENT


LARGE = b'{"name": "' + b"x" * (1 << 20) + b'"}'
WRONG_VALUE_AND_TAKEN = b'{"code": "UPS", "name": 5}'
TAKEN = b'{"code": "UPS"}'

PAIRS: Mapping[str, tuple[Try, str]] = {
    "401 before company 404": (
        Try(signed=False, company=False),
        "Authentication_InvalidCredentials",
    ),
    "company 404 before resource 404": (
        Try(company=False, resource="nothingExt"),
        "Internal_CompanyNotFound",
    ),
    "resource 404 before 405": (
        Try(resource="nothingExt", method="DELETE"),
        "BadRequest_ResourceNotFound",
    ),
    "405 before scope 403": (
        Try(method="POST", scope=Scope.RECORDS_READ),
        "BadRequest_MethodNotAllowed",
    ),
    "scope 403 before 415": (
        Try(scope=Scope.RECORDS_READ, media="text/plain"),
        "Authorization_RequestDenied",
    ),
    "415 before 413": (Try(media="text/plain", body=LARGE), "Request_UnsupportedMediaType"),
    "413 before 428": (Try(body=LARGE, tag=None), "Request_BodyTooLarge"),
    "428 before body syntax 400": (Try(tag=None, body=b"{"), "Request_PreconditionRequired"),
    "body syntax 400 before record 404": (Try(body=b"{", key=UNKNOWN), "BadRequest"),
    "record 404 before 412": (Try(key=UNKNOWN, tag='"x"'), "Internal_RecordNotFound"),
    "412 before values 400": (Try(tag='"x"', body=b'{"name": 5}'), "Request_EntityChanged"),
    "values 400 before 409": (Try(body=WRONG_VALUE_AND_TAKEN), "BadRequest"),
    "409 at last": (Try(body=TAKEN), "Internal_EntityWithSameKeyExists"),
}


@pytest.fixture(scope="module")
def agents(stocked: Company) -> Company:
    """A company with two shipping agents, DHL and UPS."""
    stocked.load("shippingAgentsExt", {"code": "UPS", "name": "United"})
    return stocked


@together("pair", PAIRS)
def test_the_first_of_two_faults_is_reported(pair: str, agents: Company, service: Service) -> None:
    tried, code = PAIRS[pair]
    base = service.client.root
    token = service.tokens.issue([tried.scope]) if tried.signed else ""
    root = f"{base}/companies({agents.id if tried.company else UNKNOWN})"
    headers = {"Content-Type": tried.media} | ({"If-Match": tried.tag} if tried.tag else {})
    changed = agents.changes()

    answer = Client(service, root, token).request(
        tried.method, f"{tried.resource}({tried.key})", body=tried.body, headers=headers
    )

    refusal(answer, code)
    assert agents.changes() == changed
