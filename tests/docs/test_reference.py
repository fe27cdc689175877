"""The reference is up to date and complete."""

import shutil
import sys
from pathlib import Path

import pytest
import reference
from reference_pages import Command, Parameter, errors_page, undocumented, undocumented_commands

from comptoir.catalog import MODEL
from comptoir.edm.model import EntitySet, EntityType, Model, Property
from comptoir.edm.types import GUID, TEXT
from comptoir.errors.oauth_rows import NO_TOKEN
from comptoir.errors.operator_rows import DISK_FULL
from comptoir.errors.refusal import Check, ErrorType
from comptoir.errors.table import BAD_REQUEST, ERROR_TABLE, OAUTH_ERROR_TABLE
from docs.pages import DOCS


def test_the_reference_is_complete_and_up_to_date() -> None:
    """Every entity type, setting, error, command and option is described."""
    assert list(reference.faults(DOCS / "reference")) == []


def test_an_outdated_and_a_missing_page_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(DOCS / "reference", tmp_path, dirs_exist_ok=True)
    with (tmp_path / "errors.md").open("a") as page:
        page.write("more")
    (tmp_path / "commands.md").unlink()
    monkeypatch.setattr(sys, "argv", ["reference.py", "--check", str(tmp_path)])
    with pytest.raises(SystemExit) as end:
        reference.main()
    found = [line.partition(":")[0] for line in str(end.value).splitlines()]
    assert found == [f"{tmp_path / name}.md is outdated" for name in ("errors", "commands")]


def test_missing_descriptions_are_reported() -> None:
    bare = EntityType("bare", "", (Property("id", GUID), Property("name", TEXT, "Its name.")))
    model = Model((*MODEL.sets, EntitySet("baresExt", bare)))
    error = ErrorType("Silent", 400, Check.VALUES, "It says nothing.", "")
    assert list(undocumented(model, (*ERROR_TABLE, error))) == [
        "the error Silent has no meaning or no remedy",
        "baresExt has no description",
        "baresExt id has no description",
    ]


def test_every_error_has_its_row() -> None:
    page = errors_page(ERROR_TABLE, (), OAUTH_ERROR_TABLE, [NO_TOKEN], [DISK_FULL], ())
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    assert len(rows) == len(ERROR_TABLE) + 1 + len(OAUTH_ERROR_TABLE) + 1 + 2 + 2 + 1
    assert "| `invalid_request` | The request has no token | Send token=TOKEN. |" in rows
    assert "| the disk of *path* is full | Free some space. |" in rows


def test_the_messages_of_an_error_are_listed_with_their_facts() -> None:
    row = BAD_REQUEST.row("{name!q} exceeds {limit:g} * 2", "Send {{}}.", Check.SIZE)
    page = errors_page(ERROR_TABLE, (row, row), OAUTH_ERROR_TABLE, (), (), (row,))
    assert page.count("| '*name*' exceeds *limit* \\* 2 | Send {}. | size |") == 1
    assert "| 400 | '*name*' exceeds *limit* \\* 2 | Send {}. |" in page


def test_a_command_and_an_option_without_a_line_are_reported() -> None:
    command = Command("comptoir hush", "", (Parameter("--loud", "Be loud."), Parameter("FILE", "")))
    assert list(undocumented_commands([command])) == [
        "the command comptoir hush has no help",
        "comptoir hush FILE has no help",
    ]
