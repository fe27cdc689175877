"""Each optional part is a folder: without it, the rest starts and has the eleven operations.

The feature that the page about the code adds works as it is written there.
"""

import json
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import comptoir
from support.databases import ON_SQLITE, FreshDatabase
from support.programs import finished
from support.samples import PATHS, SAMPLES
from support.service import Service

SOURCES = Path(comptoir.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "architecture.md"
FEATURES = sorted(each.parent.name for each in SOURCES.glob("features/*/__init__.py"))

UPDATED = ("contactsExt", "itemReferencesExt", "campaignsExt", "shippingAgentsExt")
CREATED = {
    "unitsOfMeasureExt": {"code": "BOX", "displayName": "Box"},
    "itemTranslationsExt": {"itemNo": "1896-S", "languageCode": "FRA", "description": "Bureau"},
    "itemAttributesExt": {"attributeId": "42", "name": "Weight"},
}
COLOUR = "$filter=attributeName1 eq 'Colour' and attributeValue1 eq 'red'"
READ = (
    PATHS["customersExt"],
    "salesPricesExt?$filter=assetNumber eq '1896-S'",
    f"filteredItemAttributesExt({SAMPLES['itemsExt']['id']})?{COLOUR}",
    PATHS["ItemProductTextLongContentsExt"],
)
OPERATIONS = [
    *(["PATCH", PATHS[each], {}, 200] for each in UPDATED),
    *(["GET", each, None, 200] for each in READ),
    *(["POST", each, sent, 201] for each, sent in CREATED.items()),
]

OF_EACH = """
import asyncio, gc, json, os, sys
# what the service imports, without the service
import csv, gzip, importlib.resources, sqlite3, statistics, tomllib, wsgiref.simple_server
import click, cryptography.x509, httpx, isal.isal_zlib, jinja2, joserfc.jwt
import msgspec, re2, sqlalchemy.dialects.sqlite, sqlalchemy.ext.compiler, starlette.applications
import xml.etree.ElementTree

gc.disable()

async def main(settings, root, token, operations):
    from comptoir.app import application
    from comptoir.config import Settings
    app = application(Settings(**settings))
    await app.start()
    headers = {"Authorization": f"Bearer {token}", "If-Match": "*"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), headers=headers) as client:
        for method, path, body, status in operations:
            answer = await client.request(method, f"{root}/{path}", json=body)
            assert answer.status_code == status, (method, path, answer.text)
    await app.stop()

failed = []
settings, operations, cases = json.loads(sys.argv[1])
for folder, root, token in cases:
    if os.fork() == 0:
        sys.path.insert(0, folder)
        asyncio.run(main(settings, root, token, operations))
        import comptoir.cli.main
        assert comptoir.features.__file__.startswith(folder)
        try:
            comptoir.cli.main.command_line(["--help"])
        except SystemExit as end:
            sys.stdout.flush()
            # as long as all of this takes what an interpreter does at its end
            os._exit(end.code or 0)
    if os.wait()[1]:
        failed.append(folder)
sys.exit("failed: " + " ".join(failed) if failed else 0)
"""
"""Sends the operations to a service of each of several folders, within a process of its own."""

WITH_EXAMPLE = """
import asyncio, sys
import httpx
from comptoir.app import application
from comptoir.config import Settings

async def main():
    folder = sys.argv[1]
    app = application(Settings(database=f"sqlite:///{folder}/none.db", keys=folder))
    await app.start()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
        answer = await client.get("http://127.0.0.1:8080/api/companies")
        assert answer.status_code == 401
        print(answer.headers["served-by"])
    await app.stop()

asyncio.run(main())
"""
"""Sends a request to a service of a folder, and prints the header that the example adds."""


def linked(folder: Path, listed: Callable[[str], str], without: str = "") -> Path:
    """A package in a folder, of links to the modules of the service, but for a deleted feature.

    `listed` changes the module that lists the features.
    """
    package = folder / "comptoir"
    for name in ("", "features"):
        (package / name).mkdir(parents=True)
        for each in (SOURCES / name).iterdir():
            if each.name not in ("features", "__pycache__", without):
                (package / name / each.name).symlink_to(each)
    entries = package / "features" / "__init__.py"
    entries.unlink()
    entries.write_text(listed((SOURCES / "features" / "__init__.py").read_text("utf-8")), "utf-8")
    return package


@ON_SQLITE
def test_the_rest_works_without_a_feature(fresh_database: FreshDatabase, tmp_path: Path) -> None:
    cases = []
    with Service(fresh_database, tmp_path) as service:
        for feature in FEATURES:
            company = service.new_company()
            company.admin.load_all(company.stored, {name: [each] for name, each in SAMPLES.items()})
            folder = tmp_path / feature
            linked(folder, partial(re.sub, rf"\b{feature},\s*|, {feature}(?=\))", ""), feature)
            cases.append((str(folder), company.root, company.token))
        used = service.settings
        settings = {"database": used.database, "keys": used.keys, "log_level": "warning"}
    output = finished(
        [sys.executable, "-c", OF_EACH, json.dumps([settings, OPERATIONS, cases])], {}
    )
    assert output.count("\n  serve ") == len(FEATURES) > 5


def test_only_features_name_features() -> None:
    """The rest of the code imports none of them; the list has their names."""
    rest = [each for each in SOURCES.rglob("*.py") if "features" not in each.parts]
    for path in rest:
        text = path.read_text("utf-8")
        found = [each for each in FEATURES if f"features.{each}" in text]
        assert found == [], path


def test_the_example_of_a_feature_adds_a_header(tmp_path: Path) -> None:
    package = linked(tmp_path, partial(re.sub, r"\bsamples\b", "samples, served_by"))
    entry, feature = re.findall(r"```py\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    folder = package / "features" / "served_by"
    folder.mkdir()
    (folder / "__init__.py").write_text(entry, "utf-8")
    (folder / "feature.py").write_text(feature, "utf-8")
    command = [sys.executable, "-c", WITH_EXAMPLE, str(tmp_path)]
    assert finished(command, {"PYTHONPATH": str(tmp_path)}).strip()
