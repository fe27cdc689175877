"""`comptoir sample`: a company that is filled by the code of `load`."""

from pathlib import Path

from comptoir.edm.types import is_guid
from support.command import Command
from support.sample_files import read_company
from support.samples import OF_THE_INTERFACE


def test_a_sample_fills_every_entity_set_of_the_interface(
    sample: tuple[Command, str], tmp_path: Path
) -> None:
    command, company_id = sample
    assert is_guid(company_id)
    assert f"Comptoir Sample {company_id}" in command.done("company", "list").out.splitlines()
    assert '"by":"comptoir load"' in command.done("changes", "--company", company_id).out
    command.done("dump", "--company", company_id, tmp_path / "out")
    counts = {
        path.stem: len(path.read_bytes().splitlines()) for path in (tmp_path / "out").iterdir()
    }
    assert counts == {name: len(rows) for name, rows in read_company().items()}
    assert counts.keys() == set(OF_THE_INTERFACE)


def test_a_blank_name_is_an_error_in_one_line(command: Command) -> None:
    assert "blank" in command.error("sample", "--company-name", "")
    assert not command.database.exists()
