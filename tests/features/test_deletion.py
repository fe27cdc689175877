"""Each optional part is a folder: without it, the rest starts and has the eleven operations."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import comptoir
from support.databases import ON_SQLITE, FreshDatabase
from support.samples import PATHS, SAMPLES
from support.service import Service

SOURCES = Path(comptoir.__file__).parent
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

PROGRAM = """
import asyncio, json, sys
import httpx
from comptoir.app import application
from comptoir.config import Settings

async def main():
    settings, root, token, operations = json.loads(sys.stdin.read())
    app = application(Settings(**settings))
    await app.start()
    headers = {"Authorization": f"Bearer {token}", "If-Match": "*"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), headers=headers) as client:
        for method, path, body, status in operations:
            answer = await client.request(method, f"{root}/{path}", json=body)
            assert answer.status_code == status, (method, path, answer.text)
    await app.stop()

asyncio.run(main())
"""
"""Sends the operations to a service within its process."""


def without(feature: str, folder: Path) -> Path:
    """A copy of the sources that lacks a part, and its name in the list of all."""
    package = shutil.copytree(
        SOURCES, folder / "comptoir", ignore=shutil.ignore_patterns("__pycache__", feature)
    )
    listed = package / "features" / "__init__.py"
    lines = listed.read_text("utf-8").splitlines(keepends=True)
    listed.write_text("".join(each for each in lines if each.strip() != f"{feature},"), "utf-8")
    return folder


def ended(folder: Path, *arguments: str, sent: str = "") -> str:
    """What a Python of these sources prints; fails if it fails."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command: Sequence[str] = [sys.executable, *arguments]
    found = subprocess.run(
        command, input=sent, env=environment, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


@ON_SQLITE
@pytest.mark.parametrize("feature", FEATURES)
def test_the_rest_works_without_a_feature(
    feature: str, fresh_database: FreshDatabase, tmp_path: Path
) -> None:
    with Service(fresh_database, tmp_path) as service:
        company = service.new_company()
        company.admin.load_all(company.stored, {name: [each] for name, each in SAMPLES.items()})
        settings = {"database": service.settings.database, "keys": service.settings.keys}
        sent = json.dumps([settings, company.root, company.token, OPERATIONS])
    folder = without(feature, tmp_path / "sources")

    ended(folder, "-c", PROGRAM, sent=sent)
    assert "serve" in ended(folder, "-m", "comptoir", "--help")
    where = ended(folder, "-c", "import comptoir.features; print(comptoir.features.__file__)")
    assert where.startswith(str(folder))


def test_only_features_name_features() -> None:
    """The rest of the code imports none of them; the list has their names."""
    rest = [each for each in SOURCES.rglob("*.py") if "features" not in each.parts]
    for path in rest:
        text = path.read_text("utf-8")
        found = [each for each in FEATURES if f"features.{each}" in text]
        assert found == [], path
