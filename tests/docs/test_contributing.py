"""A kind is added and changed as CONTRIBUTING says: one file, a migration, the reference."""

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from docs.pages import ROOT

VENDORS = '''"""The vendors: whom the company buys from."""

from comptoir.edm.entity import EntityType, Property, UniqueRule
from comptoir.edm.model import EntitySet
from comptoir.edm.scalar import GUID
from comptoir.edm.temporal import DATE
from comptoir.edm.text import CODE

VENDOR = EntityType(
    name="vendor",
    description="Who sells to the company.",
    properties=(
        Property("id", GUID, "The record's key."),
        Property("number", CODE, "The vendor's number.", required=True),
    ),
    unique=(UniqueRule(("number",)),),
)

ENTITY_SET = EntitySet("vendorsExt", VENDOR)
'''
SINCE = '        Property("since", DATE, "The first day of business."),\n'
MIGRATE = """
from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.store.migrate import migrate
print(migrate(Settings(database="sqlite:///vendors.db"), MODEL))
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """What of the repository the tools need, to be written to."""
    for name in ("src", "tools", "tests/corpus", "tests/support"):
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
    """Write a migration, and give it."""
    python(repository, "tools/new_migration.py", message)
    return max(versions(repository).glob("0*.py")).read_text()


def versions(repository: Path) -> Path:
    return repository / "src" / "comptoir" / "store" / "migrations" / "versions"


def served(written: str) -> str:
    """The oldest revision whose programs go on working behind a revision."""
    (line,) = [line for line in written.splitlines() if line.startswith("serves = ")]
    return line.removeprefix("serves = ").replace('"', "'")


def test_a_kind_is_one_file_and_its_migration(repository: Path) -> None:
    declaration = repository / "src" / "comptoir" / "catalog" / "vendors.py"
    declaration.write_text(VENDORS)
    last = max(versions(repository).glob("0*.py")).read_text()
    added = revision(repository, "add the kind vendor")
    assert added.count("op.create_table(") == 1
    assert "'ux_vendorsExt_0'" in added
    first = python(repository, "-c", MIGRATE)
    with sqlite3.connect(repository / "vendors.db") as database:
        database.execute("INSERT INTO vendorsExt VALUES ('company', 1, 'key', 'V1')")
    database.close()

    declaration.write_text(VENDORS.replace("    ),\n    unique", f"{SINCE}    ),\n    unique"))
    expanded = revision(repository, "vendors have a first day")
    assert "op.create_table(" not in expanded
    assert served(expanded) == served(added) == served(last)
    assert python(repository, "-c", MIGRATE) > first
    with sqlite3.connect(repository / "vendors.db") as database:
        rows = database.execute("SELECT * FROM vendorsExt").fetchall()
    database.close()
    assert rows == [("company", 1, "key", "V1", "0001-01-01")]
    assert "    pass\n" in revision(repository, "nothing")

    declaration.write_text(VENDORS)
    contracted = revision(repository, "vendors have no first day")
    assert served(contracted) > served(expanded)
    assert f"\nrevision = {served(contracted)}\n" in contracted
    python(repository, "-c", MIGRATE)

    python(repository, "tools/reference.py", "pages")
    assert "\n## vendorsExt\n" in (repository / "pages" / "kinds.md").read_text()
