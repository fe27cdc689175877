"""Clients of Business Central, unchanged: each uses Microsoft's addresses, and reports what it got.

A proxy leads these addresses to the service, whose certificate has their names. A script that asks
another machine fails.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from comptoir.auth.local_authority import Pair
from comptoir.catalog import API_V2, read_catalog
from support.certificates import write_pair
from support.clients import add_client
from support.connect_proxy import ConnectProxy
from support.databases import FreshDatabase
from support.ports import LOOPBACK, free_port
from support.programs import finished
from support.server import Server
from support.settings import settings_of

HERE = Path(__file__).parent
API, LOGIN = "api.businesscentral.dynamics.com", "login.microsoftonline.com"
ELSEWHERE = "graph.microsoft.com"
TENANT = "5e4d5a0c-33c6-4f0e-8a4c-2d1b9a6f7e10"
AGENTS = ["DHL", "UPS"]
PEOPLE = 45
PAGE = 20

THROTTLED: Mapping[str, object] = {
    "id": "throttled",
    "fault": "throttle; retry-after=1",
    "match": {"method": "GET", "set": "shippingAgentsExt"},
    "times": 1,
}
"""A rule: the first read of shipping agents, of each client."""

JOURNAL = "6c1f6b1e-5d0c-4bb4-9a53-0b3ab9a7c2d1"
LISTED = (
    *("accounts", "customers", "dimensions", "generalLedgerEntries", "generalLedgerSetup"),
    *("journals", "journalLines", "paymentTerms", "purchaseInvoices", "purchaseInvoiceLines"),
    *("salesCreditMemos", "salesCreditMemoLines", "salesInvoices", "salesInvoiceLines", "vendors"),
)
"""The entity sets of the API v2.0 of which each company has a record."""

EXPECTED: Mapping[str, Mapping[str, object]] = {
    "business_central_bc_cli": {
        "companies": ["Söhne & Söhne, bc_cli"],
        "list": PAGE,
        "filter": [5, ["C009", "C007"]],
        "paging": [PAGE, PAGE, PEOPLE - 2 * PAGE],
        "custom API": 5,
        "name of Microsoft": 5,
        "read": "Person 1",
        "unknown property": "Run 'bcli endpoint fields contactsExt'",
        "absent": "NotFoundError 404",
        "create": ["N1", "Made"],
        "update": "Changed",
        "conflict": ["BCLIError 409", "Changed"],
        "delete": ["BCLIError 409", "NotFoundError 404"],
        "throttling": [[1], AGENTS],
    },
    "business_central_sdk": {
        "companies": ["Söhne & Söhne, sdk"],
        "filter": ["C001", "C003"],
        "count": [PEOPLE, PEOPLE // 2],
        "create": "Made",
        "update": ["Changed"],
        "delete": 0,
        "batch": [201, 201],
        "failed batch": [
            "The record in table Contact already exists. Identification fields and values: No.='B1'"
        ],
        "left": 2,
    },
    "business_central_pybc365": {
        "list": PEOPLE,
        "filter": ["C043", "C041"],
        "count": PEOPLE // 2,
        "read": "Person 1",
        "throttling": AGENTS,
        "metadata": [["id"], True, False],
        "fields": [[False, True], [None, None]],
        "absent": "NotFoundError 404 BadRequest_ResourceNotFound",
        "create": "Made",
        "update": "Changed",
        "conflict": ["ConflictError 409 Request_EntityChanged", "Changed"],
        "delete": [
            "ConflictError 409 Request_EntityChanged",
            "NotFoundError 404 BadRequest_ResourceNotFound",
        ],
    },
    "business_central_generated": {"companies": 1, **dict.fromkeys(LISTED, 1)},
    "business_central_dynite": {
        "companies": ["Söhne & Söhne, dynite"],
        "list": PEOPLE,
        "filter": PEOPLE // 2,
        "throttling": AGENTS,
        "refused": "Failed to perform GET request: 401 Client Error",
    },
}
"""What each script reports, step by step."""

FIRST_PYTHON: Mapping[str, tuple[int, int]] = {
    "business_central_dynite": (3, 13),
    "business_central_pybc365": (3, 12),
}
"""The Python that a script needs, if that is later than the service's."""


@dataclass(frozen=True)
class Service:
    """A service with the names of Microsoft's, and the proxy that leads to it."""

    server: Server
    proxy: ConnectProxy
    folder: Path

    def run(self, *arguments: str, **variables: str) -> str:
        """The output of Python as a client, whose only way to another machine is the proxy."""
        certificate = self.server.settings.tls_certificate
        trusting = {"SSL_CERT_FILE": certificate, "REQUESTS_CA_BUNDLE": certificate}
        # a client may keep its tokens in its home
        home = {"PYTHONPATH": str(HERE.parent), "HOME": str(self.folder)}
        through = {"HTTPS_PROXY": self.proxy.url, "NO_PROXY": ""}
        environment = {**trusting, **home, **through, **variables}
        return finished([sys.executable, *arguments], environment)

    def report(self, script: str) -> Mapping[str, object]:
        """What a script reports of a company of its own."""
        name = f"Söhne & Söhne, {script.removeprefix('business_central_')}"
        company = self.server.admin.add_company(self.server.client, name)
        for each in ("contacts", "contactsExt"):
            company.load(each, *map(person, range(PEOPLE)))
        company.load("shippingAgentsExt", *({"code": each} for each in AGENTS))
        for each in LISTED:
            belongs = {"journalId": JOURNAL} if each == "journalLines" else {}
            company.load(each, {"id": JOURNAL, **belongs})
        client = add_client(self.server, self.folder, "--company", company.id)
        credentials = {"CLIENT_ID": client.id, "CLIENT_SECRET": client.secret, "TENANT": TENANT}
        known = {**credentials, "COMPANY_ID": company.id, "COMPANY_NAME": name}
        printed = self.run("-m", f"clients.{script}", **known)
        report = msgspec.json.decode(printed, type=dict[str, object])
        if "throttling" in report:
            self.server.wait_for_log(
                f'"by":"client:{client.name}","client":"{LOOPBACK}","fault":"{THROTTLED["id"]}"'
            )
        return report


def person(index: int) -> dict[str, str]:
    return {
        "number": f"C{index:03}",
        "type": "Person",
        "displayName": f"Person {index}",
        "city": "Lyon" if index % 2 else "Turin",
    }


@pytest.fixture(scope="module")
def service(
    fresh_sqlite: FreshDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """On SQLite, because the database makes no difference to the scripts."""
    folder = tmp_path_factory.mktemp("business-central")
    pair = Pair(folder / "authority.pem", folder / "tls.key")
    write_pair(pair, name=API, further_names=[LOGIN])
    rules = folder / "rules.json"
    rules.write_bytes(msgspec.json.encode({"rules": [THROTTLED]}))
    model = read_catalog(Path(API_V2))
    settings = settings_of(
        database=fresh_sqlite(folder, model),
        keys=str(folder / "keys"),
        profile="business-central",
        public_url=f"https://{API}/api",
        tls_certificate=str(pair.certificate),
        tls_key=str(pair.key),
        oauth_tenants=TENANT,
        page_size=PAGE,
        faults="on",
        fault_rules=str(rules),
    )
    # beyond loopback, the config file must allow faults
    config = folder / "comptoir.toml"
    config.write_text('faults = "on"\n')
    port = free_port()
    with pytest.MonkeyPatch.context() as patch, ExitStack() as opened:
        patch.setenv("COMPTOIR_CONFIG", str(config))
        server = opened.enter_context(Server(settings, folder, port=port, model=model))
        proxy = opened.enter_context(ConnectProxy((API, LOGIN), (LOOPBACK, port)))
        yield Service(server, proxy, folder)


def of_python(script: str) -> object:
    """A script, which is skipped if its package needs a later Python."""
    first = FIRST_PYTHON.get(script, (3, 11))
    reason = f"the package needs Python {first[0]}.{first[1]}"
    return pytest.param(script, marks=pytest.mark.skipif(sys.version_info < first, reason=reason))


@pytest.mark.parametrize("script", [of_python(each) for each in EXPECTED])
def test_a_client(script: str, service: Service) -> None:
    assert service.report(script) == EXPECTED[script]
    assert service.proxy.refused == []


def test_the_page_names_the_packages_of_the_scripts() -> None:
    page = (HERE.parents[1] / "docs" / "how-to" / "business-central-clients.md").read_text("utf-8")
    listed = re.findall(r"^\| ([a-z0-9-]+) (\d+\.\d+\.\d+)[ ,]", page, re.MULTILINE)
    locked = (HERE.parents[1] / "requirements" / "test.txt").read_text("utf-8")
    assert len(listed) == len(EXPECTED)
    for package, release in listed:
        assert f"\n{package}=={release} " in locked


@pytest.mark.parametrize(
    ("request_elsewhere", "error"),
    [
        ("requests.get('https://{host}')", "403 Forbidden"),
        ("socket.create_connection(('{host}', 443))", "asks for {host}"),
    ],
)
def test_a_script_that_asks_another_machine_fails(
    request_elsewhere: str, error: str, service: Service
) -> None:
    code = "import requests, socket, clients.stay_here as here; here.stay_here(); "
    with pytest.raises(AssertionError, match=error.format(host=ELSEWHERE)):
        service.run("-c", code + request_elsewhere.format(host=ELSEWHERE))
    service.proxy.refused.clear()
