"""Independent clients work unchanged, by nothing but what `$metadata` says."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import pytest

from comptoir.catalog import MODEL
from support.companies import Company
from support.databases import ON_SQLITE
from support.programs import finished, node
from support.server import Server, ShareServer

HERE = Path(__file__).parent
PEOPLE = 45
AGENTS = ["DHL", "UPS"]

SDK_FILES = {
    "tsconfig": {
        "compilerOptions": dict.fromkeys(("strict", "esModuleInterop", "skipLibCheck"), True)
        | {"target": "es2021", "module": "commonjs", "moduleResolution": "node", "types": []}
    },
    "prettierConfig": {"requirePragma": True},
}
"""The generated client is checked, but not the types of the SDK, and nobody reads its sources."""


class Report(msgspec.Struct, forbid_unknown_fields=True):
    """What a client got, step by step; a status reads as in "HTTP 412"."""

    entity_sets: list[str]
    companies: list[str]
    contained: list[str]
    filtered: list[str]
    counted: int
    paged: int
    window: list[str]
    read: list[str]
    created: str
    updated: list[str]
    conflict: str
    stale_delete: str
    kept: str
    left: int
    batch: list[int]
    failed_batch: list[int]
    batched: int


def python_odata(company: Company, folder: Path, variables: Mapping[str, str]) -> str:
    """python-odata: it reads `$metadata` as it starts."""
    return finished([sys.executable, str(HERE / "python_odata.py")], variables)


def sap_cloud_sdk(company: Company, folder: Path, variables: Mapping[str, str]) -> str:
    """The SAP Cloud SDK: it generates a client from `$metadata`, and checks its types."""
    run = node()
    content = company.get("$metadata", headers={"Accept": "application/xml"}).content
    document, generated = folder / "comptoir.edmx", folder / "generated"
    document.write_bytes(content)
    (folder / "node_modules").symlink_to(run.packages, target_is_directory=True)
    options: list[str | Path] = ["--input", document, "--outputDir", generated]
    for name, given in SDK_FILES.items():
        (folder / name).write_bytes(msgspec.json.encode(given))
        options += [f"--{name}", folder / name]
    generator = run.packages / "@sap-cloud-sdk" / "generator" / "dist" / "cli.js"
    run.run(generator, "--transpile", *options)
    return run.run(HERE / "sap_cloud_sdk.mjs", generated / "comptoir", **variables)


Client = Callable[[Company, Path, Mapping[str, str]], str]
CLIENTS: Mapping[str, Client] = {"python-odata": python_odata, "SAP Cloud SDK": sap_cloud_sdk}


@pytest.fixture(scope="module")
def server(share_server: ShareServer) -> Server:
    """The service as a process, with small pages."""
    return share_server(page_size=20)


@pytest.fixture(scope="module", params=CLIENTS)
def report(
    request: pytest.FixtureRequest, server: Server, tmp_path_factory: pytest.TempPathFactory
) -> Report:
    """What each of the clients got from a company of its own."""
    company = server.new_company()
    company.load("contactsExt", *map(_person, range(PEOPLE)))
    company.load("shippingAgentsExt", *({"code": code} for code in AGENTS))
    variables = {"BASE": server.base_url, "COMPANY": company.root, "TOKEN": company.token}
    printed = CLIENTS[request.param](company, tmp_path_factory.mktemp("client"), variables)
    return msgspec.json.decode(printed, type=Report)


def _person(index: int) -> dict[str, str]:
    return {
        "number": f"C{index:04}",
        "type": "Company" if index == 0 else "Person",
        "displayName": f"Person {index}",
        "companyNumber": "C0000",
        "city": "Lyon" if index % 2 else "Turin",
    }


@ON_SQLITE  # the database makes no difference to a client
@pytest.mark.timeout(600)  # a client may have to be generated
def test_a_client_does_everything(report: Report) -> None:
    """It lists, counts, reads, and writes with current and stale tags, also in batches."""
    assert any(each.startswith("Test & Söhne ") for each in report.companies)
    assert 409 in report.failed_batch
    assert msgspec.structs.asdict(report) == {
        "entity_sets": sorted(MODEL.by_name),
        "companies": report.companies,
        "contained": AGENTS,
        "filtered": ["C0001", "C0003", "C0005", "C0007", "C0009"],
        "counted": PEOPLE // 2,
        "paged": PEOPLE,
        "window": ["C0042", "C0041", "C0040"],
        "read": ["Person 1", "Person 0"],
        "created": "Made",
        "updated": ["Changed", "CHANGED"],
        "conflict": "HTTP 412",
        "stale_delete": "HTTP 412",
        "kept": "Changed",
        "left": 0,
        "batch": [200, 201, 201, 200],
        "failed_batch": report.failed_batch,
        "batched": 2,
    }
