"""Each optional part is a folder: without it, the rest starts and has the eleven operations."""

import json
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

from features.sources import SOURCES, linked
from support.databases import ON_SQLITE, FreshDatabase
from support.samples import PATHS, SAMPLES
from support.service import Service

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
settings, operations, cases = json.loads(sys.stdin.read())
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
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps([settings, OPERATIONS, cases]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("\n  serve ") == len(FEATURES) > 5


def test_only_features_name_features() -> None:
    """The rest of the code imports none of them; the list has their names."""
    rest = [each for each in SOURCES.rglob("*.py") if "features" not in each.parts]
    for path in rest:
        text = path.read_text("utf-8")
        found = [each for each in FEATURES if f"features.{each}" in text]
        assert found == [], path
