"""Entity types and faults are added by the steps of CONTRIBUTING, in the files that it names."""

import filecmp
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from docs.pages import ROOT
from support.programs import finished, needed, needed_module

REHEARSALS = """'''The rehearsals: an entity type that only this test adds.'''
from comptoir.edm.model import EntityType, NavigationProperty, Property, UniqueRule
from comptoir.edm.types import CODE, TEXT
from comptoir.edm.types import BOOLEAN, GUID
from comptoir.edm.numbers import DECIMAL, INT32
from comptoir.edm.times import DATE, INSTANT
from comptoir.edm.model import EntitySet
REHEARSAL = EntityType(
    name="rehearsal", description="A performance without an audience.",
    properties=(
        Property("id", GUID, "The record's key."),
        Property("number", CODE, "The rehearsal's number.", required=True),
        Property("displayName", TEXT, "The name to show."),
        Property("agentCode", CODE, "The agent that brings the scenery."),
        Property("seats", INT32, "How many may watch."),
        Property("price", DECIMAL, "What a seat costs."),
        Property("since", DATE, "The first day."),
        Property("open", BOOLEAN, "Whether seats are left."),
        Property("lastModifiedDateTime", INSTANT, "When it last changed.", modified_at=True)),
    unique=(UniqueRule(("number",)),),
    navigation=(NavigationProperty("agent", "shippingAgentsExt", ("agentCode", "code"),
        "The agent that brings the scenery.", collection=False),))

ENTITY_SET = EntitySet("rehearsalsExt", REHEARSAL)
"""
"""An entity type with properties of all usual types and a relation, not formatted."""
SINCE = '        Property("since", DATE, "The first day."),\n'
SUITES = (
    "tests/api/test_paths.py",
    "tests/api/test_preferred_returns.py",
    "tests/api/test_replacing.py",
    "tests/api/test_search.py::test_every_text_property_of_every_kind_is_searched",
    "tests/transfer/test_dump.py::test_a_sample_of_every_entity_type_is_loaded_byte_for_byte",
    "tests/cli/test_sample.py::test_a_sample_fills_every_entity_set_of_the_interface",
    "tests/contract/test_openapi.py",
    "tests/docs/test_reference.py::test_the_reference_is_complete_and_up_to_date",
    "tests/house/test_house.py::test_the_modules_together",
    "tests/store/test_schema.py",
    "tests/metadata",
)
"""Tests that concern every entity type: they fail if a new one lacks something."""
SUITE_SECONDS = 1_200
"""The time limit of these tests, which run one after the other."""

CHOSEN = "not postgres and not negative and (rehearsals or not Ext] and not Ext-)"
"""The cases of the new entity type; the suite itself runs the others."""
MIGRATE = """
from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.store.migration import migrate
print(migrate(Settings(database="sqlite:///rehearsals.db"), MODEL))
"""
OTHER_STATUS = """'''The status is another one, although the request was done.

Clients may not expect it.
'''
from typing_extensions import override

from comptoir.features.rehearsal.faults.fault import AffectedRequest, Fault, parameter
from comptoir.response.response import Response

class _OtherStatus(Fault):
    status: int = parameter("The status of the response.", 500, 200, 599)

    @override
    async def act(self, affected: AffectedRequest) -> Response:
        response = await affected.perform()
        response.status = self.status
        return response
"""
MEET = """
import asyncio
from datetime import timedelta
import httpx
from comptoir.app import application
from comptoir.auth.tokens import Scope, token_issuer
from comptoir.catalog import MODEL
from comptoir.config import load_settings
from comptoir.store.migration import migrate

settings = load_settings({"database": "sqlite:///faults.db", "keys": "keys", "faults": "on"}, {})
migrate(settings, MODEL)
token = token_issuer(settings).issue("client", [Scope.ADMIN], None, timedelta(hours=1))

async def main():
    app = application(settings)
    await app.start()
    sent = {"Authorization": f"Bearer {token}", "Comptoir-Fault": "other-status; status=418"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), headers=sent) as client:
        met = await client.get("http://127.0.0.1:8080/api/companies")
        log = await client.get("http://127.0.0.1:8080/faults/log")
    print(met.status_code, met.json()["value"], log.json()["value"][0]["fault"])
    await app.stop()

asyncio.run(main())
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A writable copy of the parts of the repository that the tools need."""
    for name in ("src", "tools", "tests/corpus", "tests/profiles", "tests/support"):
        ignored = shutil.ignore_patterns("__pycache__", "*_cache")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignored)
    return tmp_path


def python(repository: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=repository,
        env={**os.environ, "PYTHONPATH": str(repository / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def revision(repository: Path, message: str) -> str:
    """Generate a migration, and return its text."""
    python(repository, "tools/new_migration.py", message)
    return max(versions(repository).glob("0*.py")).read_text()


def versions(repository: Path) -> Path:
    return repository / "src" / "comptoir" / "store" / "migrations" / "versions"


def served(written: str) -> str:
    """The oldest revision whose programs work with the schema of a revision."""
    (line,) = [line for line in written.splitlines() if line.startswith("serves = ")]
    return line.removeprefix("serves = ").replace('"', "'")


@pytest.mark.timeout(600)
def test_an_entity_type_is_one_file_and_its_migration(repository: Path) -> None:
    declaration = repository / "src" / "comptoir" / "catalog" / "rehearsals.py"
    declaration.write_text(REHEARSALS.replace(SINCE, ""))
    last = max(versions(repository).glob("0*.py")).read_text()
    added = revision(repository, "add the entity type rehearsal")
    assert added.count("op.create_table(") == 1
    assert "'ux_rehearsalsExt_0'" in added
    first = python(repository, "-c", MIGRATE)
    with sqlite3.connect(repository / "rehearsals.db") as database:
        database.execute(
            "INSERT INTO rehearsalsExt VALUES"
            " ('company', 1, NULL, NULL, NULL, 'key', 'V1', 'A', '', 7, 250000, 1, '')"
        )
    database.close()

    declaration.write_text(REHEARSALS)
    expanded = revision(repository, "rehearsals have a first day")
    assert "op.create_table(" not in expanded
    assert served(expanded) == served(added) == served(last)
    assert python(repository, "-c", MIGRATE) > first
    with sqlite3.connect(repository / "rehearsals.db") as database:
        rows = database.execute("SELECT * FROM rehearsalsExt").fetchall()
    database.close()
    assert [(row[6], row[10], row[-1]) for row in rows] == [("V1", 250000, "0001-01-01")]
    assert "    pass\n" in revision(repository, "nothing")

    declaration.write_text(REHEARSALS.replace(SINCE, ""))
    contracted = revision(repository, "rehearsals have no first day")
    assert served(contracted) > served(expanded)
    assert f"\nrevision = {served(contracted)}\n" in contracted
    python(repository, "-c", MIGRATE)

    python(repository, "tools/reference.py", "pages")
    assert "\n## rehearsalsExt\n" in (repository / "pages" / "entity-types.md").read_text()


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A writable copy of the whole repository, with the packages that are installed here."""
    kept_out = [".git", ".venv", "data", "build", "dist", "*_cache", ".hypothesis"]
    # bytecode that another test process writes now: the file gets its name when it is complete
    kept_out.append("*.pyc.*")
    shutil.copytree(ROOT, tmp_path / "clone", ignore=shutil.ignore_patterns(*kept_out))
    (tmp_path / "clone" / ".venv").symlink_to(sys.prefix)
    return tmp_path / "clone"


def make(clone: Path, *arguments: str) -> None:
    # without -o, make would install into the packages of this test run
    installed = [f"-o.venv/.{layer}" for layer in ("run", "test", "check")]
    finished(["make", "-C", str(clone), *installed, *arguments], {"PYTHONPATH": str(clone / "src")})


def module(clone: Path, *arguments: str) -> None:
    """Run a module of Python, with the sources of the clone."""
    there = ["env", "-C", str(clone), f"PYTHONPATH={clone / 'src'}"]
    finished([*there, sys.executable, "-m", *arguments], {}, SUITE_SECONDS)


def changed(clone: Path) -> set[str]:
    """The files that differ from those of the repository, or are not in it."""
    found = set()
    for path in clone.rglob("*"):
        name = path.relative_to(clone)
        if "__pycache__" in name.parts or name.parts[0] in (".venv", ".ruff_cache"):
            continue
        mine = ROOT / name
        if path.is_file() and not (mine.is_file() and filecmp.cmp(path, mine, shallow=False)):
            found.add(name.as_posix())
    return found


@pytest.mark.timeout(2 * SUITE_SECONDS)
def test_a_new_entity_type_needs_only_the_files_that_the_page_names(clone: Path) -> None:
    """The checks pass, and so do the tests that concern every entity type."""
    needed("make", "make")
    needed_module("ruff", "ruff, by `make check`")
    (clone / "src" / "comptoir" / "catalog" / "rehearsals.py").write_text(REHEARSALS)
    make(clone, "migration", "NAME=add the entity type rehearsal")
    written = max(versions(clone).glob("0*.py")).relative_to(clone).as_posix()
    module(clone, "ruff", "format", "--check", written)
    make(clone, "format", "docs")
    assert changed(clone) == {
        "src/comptoir/catalog/rehearsals.py",
        "docs/reference/entity-types.md",
        written,
    }
    module(clone, "ruff", "format", "--check", ".")
    module(clone, "ruff", "check", ".")
    module(clone, "pytest", "-q", "-k", CHOSEN, *SUITES)


def test_a_fault_is_one_file_and_its_name(repository: Path) -> None:
    faults = repository / "src" / "comptoir" / "features" / "rehearsal" / "faults"
    (faults / "other_status.py").write_text(OTHER_STATUS)
    listed = faults / "__init__.py"
    listed.write_text(listed.read_text().replace('body vanish"', 'body vanish other-status"'))
    assert python(repository, "-c", MEET) == "418 [] other-status; status=418\n"

    (repository / "reference").mkdir()
    python(repository, "tools/reference.py", "reference")
    page = (repository / "reference" / "faults.md").read_text()
    assert "| `other-status` | The status is another one, although the request was done. |" in page
    assert "| `other-status` | `status` | an integer from 200 to 599 | `500` |" in page
