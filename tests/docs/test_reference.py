"""The reference is up to date and complete."""

import shutil
import subprocess
import sys
from pathlib import Path

import reference
from reference_pages import (
    Command,
    Parameter,
    collection_methods,
    commands_page,
    entity_types_page,
    errors_page,
    record_methods,
    settings_page,
    undocumented,
    undocumented_commands,
)

from comptoir.catalog import MODEL
from comptoir.edm.model import EntitySet, EntityType, Model, Property
from comptoir.edm.types import GUID, TEXT
from comptoir.errors.oauth_rows import NO_TOKEN
from comptoir.errors.operator_rows import DISK_FULL
from comptoir.errors.refusal import Check, ErrorType
from comptoir.errors.table import BAD_REQUEST, ERROR_TABLE, OAUTH_ERROR_TABLE
from docs.pages import DOCS, ROOT
from support.corpus import areas, cases


def test_the_reference_is_complete_and_up_to_date() -> None:
    """Every entity type, setting, error, command and option is described."""
    assert list(reference.faults(DOCS / "reference")) == []


def test_an_outdated_and_a_missing_page_are_reported(tmp_path: Path) -> None:
    shutil.copytree(DOCS / "reference", tmp_path, dirs_exist_ok=True)
    with (tmp_path / "errors.md").open("a") as page:
        page.write("more")
    (tmp_path / "commands.md").unlink()
    arguments: list[str | Path] = [
        sys.executable,
        ROOT / "tools" / "reference.py",
        "--check",
        tmp_path,
    ]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    found = [line.partition(":")[0] for line in done.stderr.splitlines()]
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


def test_the_methods_are_those_that_the_service_has() -> None:
    """Only writable entity sets have methods that write."""
    contacts, customers = MODEL.by_name["contactsExt"], MODEL.by_name["customersExt"]
    assert collection_methods(contacts) == ("GET", "HEAD", "POST")
    assert record_methods(contacts) == ("GET", "HEAD", "PATCH", "PUT", "DELETE")
    assert collection_methods(customers) == record_methods(customers) == ("GET", "HEAD")


def test_an_entity_type_is_described_with_all_its_properties_in_order() -> None:
    page = entity_types_page(MODEL)
    for entity_set in MODEL.sets:
        section = page.partition(f"\n## {entity_set.name}\n")[2].partition("\n## ")[0]
        named = [line.split("`")[1] for line in section.splitlines() if line.startswith("| `")]
        properties = [each.name for each in entity_set.type.properties]
        assert named == [*properties, *(each.name for each in entity_set.type.navigation)]


def test_the_rules_of_an_entity_type_are_described() -> None:
    page = entity_types_page(MODEL)
    assert "`companyName` is `company/displayName`" in page
    assert "A create requires `If-Match` or `If-None-Match: *`" in page
    assert "Unique per company: `itemNo`, `languageCode`, `variantCode`." in page
    assert "secret: never in logs" in page
    assert 'Usual values (others are allowed): `" "`, `"Ship"`' in page
    assert (
        "| `company` | one record of contactsExt | `number` equals this `companyNumber`; " in page
    )


def test_a_setting_is_described_with_its_option_if_it_has_one() -> None:
    page = settings_page({"port": "--port"})
    assert "| `8080` | `COMPTOIR_PORT` | `--port` |" in page
    assert "| `1000` | `COMPTOIR_PAGE_SIZE` |  |" in page


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


def test_a_command_is_described_with_its_arguments_and_options() -> None:
    files = Parameter("PATH…", "The files.", required=True, is_argument=True)
    company = Parameter("--company <guid>", "The company.", environment="COMPTOIR_COMPANY")
    page = commands_page([Command("comptoir load", "Load files.", (files, company))])
    assert "comptoir load [OPTIONS] PATH…" in page
    assert "| `PATH…` | The files. | required |  |" in page
    assert "| `--company <guid>` | The company. |  | `COMPTOIR_COMPANY` |" in page


def test_a_command_and_an_option_without_a_line_are_reported() -> None:
    command = Command("comptoir hush", "", (Parameter("--loud", "Be loud."), Parameter("FILE", "")))
    assert list(undocumented_commands([command])) == [
        "the command comptoir hush has no help",
        "comptoir hush FILE has no help",
    ]


def test_every_rule_of_the_corpus_has_its_row_and_every_501_its_request() -> None:
    page = (DOCS / "reference" / "odata.md").read_text(encoding="utf-8")
    for area in areas():
        section = page.partition(f"\n## {area.title}\n")[2].partition("\n## ")[0]
        rows = [
            f"| `{each.name}` | {each.section} | {each.accepted} | {each.refused} |"
            for each in area.rules
        ]
        assert [line for line in section.splitlines() if line.startswith("| `")] == rows
    unsupported = page.partition("\n## Not supported\n")[2]
    named = [line.split("`")[3] for line in unsupported.splitlines() if line.startswith("| `")]
    assert named == [
        each.request.replace("|", "\\|")
        for each in cases()
        if each.answer.refused is not None and each.answer.refused.status == 501
    ]
