"""`comptoir sample`: a company that is filled by the code of `load`."""

from pathlib import Path

import pytest

from comptoir.edm.types import is_guid
from comptoir.samples import SampleSize, sample_company
from support.command import Command


def test_a_sample_fills_every_entity_set_that_has_a_table(
    sample: tuple[Command, str], tmp_path: Path
) -> None:
    command, company_id = sample
    assert is_guid(company_id)
    assert f"Comptoir Sample {company_id}" in command.done("company", "list").out.splitlines()
    assert '"by":"comptoir load"' in command.done("changes", "--company", company_id).out
    command.done("dump", "--company", company_id, tmp_path / "out")
    dumped = {path.stem for path in (tmp_path / "out").iterdir()}
    assert dumped == {table.entity_set for table in sample_company(SampleSize.SMALL)}


def test_the_same_seed_gives_the_same_records(
    sample: tuple[Command, str], migrated: Command
) -> None:
    first, company_id = sample
    other = migrated.done("sample", "--company-name", "Other", "--seed", "7").last_word
    first.done("dump", "--company", company_id, migrated.folder / "first")
    migrated.done("dump", "--company", other, migrated.folder / "second")
    for path in (migrated.folder / "first").iterdir():
        # the sample has no keys of attribute values and no times of items
        if path.stem not in ("itemAttributeValuesExt", "itemsExt"):
            assert path.read_bytes() == (migrated.folder / "second" / path.name).read_bytes()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--size", "huge"], "'huge'"),
        (["--seed", "x"], "--seed"),
        (["--company-name", ""], "blank"),
    ],
)
def test_an_invalid_argument_is_an_error_in_one_line(
    command: Command, arguments: list[str], reason: str
) -> None:
    assert reason in command.fault("sample", *arguments)
    assert not command.database.exists()
