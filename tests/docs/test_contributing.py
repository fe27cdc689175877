"""Entity types and faults are added by the steps of CONTRIBUTING, in the files that it names."""

import filecmp
import shutil
import sys
from pathlib import Path

import pytest

from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.store.migration import migrate
from comptoir.store.schema import HEAD
from docs.pages import ROOT
from house.rules import Source
from house.test_house import OF_ALL_MODULES, OF_EACH_MODULE
from support.databases import run_sql
from support.programs import finished, needed, needed_module

REHEARSALS = """
[sets.rehearsalsExt]
type = "rehearsal"
description = "A performance without an audience."
unique = [["number"]]

[sets.rehearsalsExt.properties]
id = { type = "Guid", description = "The record's key." }
number = { type = "String(100)", required = true, description = "The rehearsal's number." }
displayName = { type = "String", description = "The name to show." }
agentCode = { type = "String(100)", description = "The agent that brings the scenery." }
seats = { type = "Int32", description = "How many may watch." }
price = { type = "Decimal(18,5)", description = "What a seat costs." }
since = { type = "Date", description = "The first day." }
open = { type = "Boolean", description = "Whether seats are left." }
lastModifiedDateTime = { type = "DateTimeOffset", modified_at = true, description = "Its change." }

[sets.rehearsalsExt.navigation]
agent = { to = "shippingAgentsExt", on = { agentCode = "code" }, description = "The agent." }
"""
"""An entity type with properties of all usual types and a relation."""
FAULT = """
class OtherStatus(Fault):
    '''The status is another one, although the request was done.

    Clients may not expect it.
    '''

    status: int = parameter("The status of the response.", 500, 200, 599)

    @override
    async def act(self, affected: AffectedRequest) -> Response:
        response = await affected.perform()
        response.status = self.status
        return response


"""
TEXT = "other-status; status=418"
MEETING = f"""from support.companies import Company
from support.rehearsal import Rehearsal

def test_the_status_is_another_one(company: Company, rehearsal: Rehearsal) -> None:
    rehearsal.set("{TEXT}")
    answer = company.get("contactsExt")
    assert (answer.status_code, len(answer.json()["value"])) == (418, 2)
    assert rehearsal.firings()[-1].fault == "{TEXT}"
"""
CATALOG, FAULTS = "src/comptoir/catalog/built-in.toml", "src/comptoir/features/rehearsal/faults.py"
SCHEMA, EARLIER = "src/comptoir/store/schema.py", "tests/support/earlier.py"

CHOSEN = "not postgres and not every-option and (rehearsals or not (Ext or companies))"
"""The cases of the new entity type; the suite itself runs the others."""
SUITES = (
    "tests/catalog/test_every_option.py",
    "tests/api/test_search.py::test_every_text_property_of_every_kind_is_searched",
    "tests/transfer/test_dump.py::test_a_sample_of_every_entity_type_is_loaded_byte_for_byte",
    "tests/cli/test_sample.py::test_a_sample_fills_every_entity_set_of_the_interface",
    "tests/store/test_schema.py",
    "tests/metadata/test_csdl.py",
    "tests/metadata/test_openapi.py::test_a_set_has_its_paths_and_methods",
    "tests/rehearsal/test_choice.py::test_the_examples_have_each_fault_and_each_of_its_parameters",
    "tests/rehearsal/test_other_status.py",
)
"""Tests that concern every entity type or fault: they fail if a new one lacks something."""
SUITE_SECONDS = 1_200
"""The time limit of these tests, which run one after the other."""
MIGRATE = """
from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.store.migration import migrate

migrate(Settings(database="sqlite:///old.db"), MODEL)
"""


class Clone:
    """A writable copy of folders of the repository, with the packages that are installed here."""

    def __init__(self, folder: Path, *copied: str) -> None:
        self.folder = folder
        kept_out = (".git", ".venv", "data", "build", "dist", "*_cache", ".hypothesis")
        # bytecode that another test process writes now: the file gets its name when it is complete
        ignored = shutil.ignore_patterns(*kept_out, "*.pyc.*")
        for each in copied:
            shutil.copytree(ROOT / each, folder / each, ignore=ignored)
        (folder / ".venv").symlink_to(sys.prefix)

    def read(self, name: str) -> str:
        return (self.folder / name).read_text("utf-8")

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, "utf-8")

    def replace(self, name: str, old: str, new: str) -> None:
        """Replace a text that occurs once in a file."""
        text = self.read(name)
        assert text.count(old) == 1
        self.write(name, text.replace(old, new))

    def make(self, *arguments: str) -> None:
        # without -o, make would install into the packages of this test run
        installed = [f"-o.venv/.{layer}" for layer in ("run", "test", "check")]
        self._run("make", *installed, *arguments)

    def python(self, *arguments: str) -> None:
        """Run Python with the sources of the copy."""
        self._run(sys.executable, *arguments)

    def _run(self, *command: str) -> None:
        there = ["env", "-C", str(self.folder), *command]
        finished(there, {"PYTHONPATH": str(self.folder / "src")}, SUITE_SECONDS)

    def changed(self) -> set[str]:
        """The files that differ from those of the repository, or are not in it."""
        found = set()
        for path in self.folder.rglob("*"):
            name = path.relative_to(self.folder)
            if "__pycache__" in name.parts or name.parts[0] in (".venv", ".ruff_cache"):
                continue
            mine = ROOT / name
            if path.is_file() and not (mine.is_file() and filecmp.cmp(path, mine)):
                found.add(name.as_posix())
        return found

    def add_revision(self, added: str) -> None:
        """Add a revision that adds one thing."""
        last = int(HEAD)
        self.replace(SCHEMA, f"range(1, {last + 1})", f"range(1, {last + 2})")
        first = "ADDED: Mapping[str, Sequence[str]] = {\n"
        self.replace(EARLIER, first, f"{first}    \"{last + 1:04}\": ['{added}'],\n")


@pytest.mark.timeout(2 * SUITE_SECONDS)
def test_an_entity_type_and_a_fault_need_only_the_files_that_the_page_names(tmp_path: Path) -> None:
    """The checks pass, and so do the tests that concern every entity type and every fault."""
    clone = Clone(tmp_path / "clone", ".")
    needed("make", "make")
    needed_module("ruff", "ruff, by `make check`")
    choice, meeting = "tests/rehearsal/test_choice.py", "tests/rehearsal/test_other_status.py"
    clone.write(CATALOG, clone.read(CATALOG) + REHEARSALS)
    clone.write(meeting, MEETING)
    clone.replace(FAULTS, "\nFAULTS: ", f"{FAULT}FAULTS: ")
    clone.replace(choice, "WRITTEN = [\n", f'WRITTEN = [\n    "{TEXT}",\n')

    clone.add_revision('TABLE "rehearsalsExt"')
    clone.make("format", "docs")
    pages = {f"docs/reference/{name}.md" for name in ("entity-types", "faults")}
    tests = {choice, meeting}
    assert clone.changed() == {CATALOG, SCHEMA, EARLIER, FAULTS, *pages, *tests}
    assert "\n## rehearsalsExt\n" in clone.read("docs/reference/entity-types.md")
    page = clone.read("docs/reference/faults.md")
    assert "| `other-status` | The status is another one, although the request was done. |" in page
    assert "| `other-status` | `status` | an integer from 200 to 599 | `500` |" in page

    clone.python("-m", "ruff", "format", "--check", ".")
    clone.python("-m", "ruff", "check", ".")
    faults = Source(FAULTS, clone.read(FAULTS))
    broken = [each for rule in OF_ALL_MODULES for each in rule([faults])]
    assert broken + [each for rule in OF_EACH_MODULE for each in rule(faults)] == []
    clone.python("-m", "pytest", "-q", "-p", "no:hypothesispytest", "-k", CHOSEN, *SUITES)


def test_a_revision_adds_a_property(tmp_path: Path) -> None:
    clone = Clone(tmp_path / "clone", "src", "tests/support")
    name = 'name = { type = "String", description = "The agent\'s name." }\n'
    url = f"sqlite:///{clone.folder / 'old.db'}"
    migrate(Settings(database=url), MODEL)
    values = "'company', 1, NULL, NULL, NULL, 'key', 'A', 'Courier'"
    run_sql(url, f"INSERT INTO shippingAgentsExt VALUES ({values})")

    clone.replace(CATALOG, name, f'{name}since = {{ type = "Date", description = "The day." }}\n')
    clone.add_revision('COLUMN "shippingAgentsExt".since')
    clone.python("-c", MIGRATE)
    ((*_, key, code, label, since),) = run_sql(url, "SELECT * FROM shippingAgentsExt")
    assert (key, code, label, since) == ("key", "A", "Courier", "0001-01-01")
