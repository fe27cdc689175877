"""Parquet files load as the text formats do.

The database does not see the format, so one database is enough for errors of a file.
"""

from decimal import Decimal
from pathlib import Path

import pytest

from support.databases import ON_SQLITE
from support.load_target import LoadTarget, reasons
from transfer.test_load_reads import LONG_TEXTS, assert_loaded

pyarrow = pytest.importorskip("pyarrow", reason="install the package pyarrow")
parquet = pytest.importorskip("pyarrow.parquet", reason="install the package pyarrow")

ID = "00000000-0000-4000-8000-00000000000{}"


def write_parquet(path: Path) -> None:
    table = pyarrow.table(
        {
            "id": [ID.format(1), ID.format(2)],
            "number": ["C1", "C2"],
            "displayName": ['Ä "quoted", name', "李 🚲"],
            "creditLimit": [Decimal("2.29"), Decimal("-0.50")],
            "taxLiable": [True, False],
            "blocked": [" ", None],
            "lastModifiedDateTime": pyarrow.array(
                [1_582_970_400_000, None], pyarrow.timestamp("ms")
            ),
        }
    )
    parquet.write_table(table, path)


def test_parquet_gives_the_same_records(load_target: LoadTarget) -> None:
    path = load_target.folder / "customersExt.parquet"
    write_parquet(path)
    report = load_target.load_file(path)
    assert reasons(report) == []
    assert_loaded(load_target)


@ON_SQLITE
def test_a_file_that_is_not_parquet_is_refused(load_target: LoadTarget) -> None:
    report = load_target.load("customersExt.parquet", "number\nC1\n")
    assert "the file is not Parquet" in reasons(report)[0]
    assert not report.written


@ON_SQLITE
def test_an_error_in_parquet_is_reported(load_target: LoadTarget, tmp_path: Path) -> None:
    path = tmp_path / "customersExt.parquet"
    parquet.write_table(pyarrow.table({"number": ["C1", "C2"], "creditLimit": [1.5, 1e-7]}), path)
    assert reasons(load_target.load_file(path)) == [
        "2: creditLimit: has more than 5 digits after the decimal point. Send fewer digits."
    ]


@ON_SQLITE  # as the other formats
def test_memory_does_not_grow_with_long_texts(load_target: LoadTarget, small_steps: None) -> None:
    """A few megabytes are read and written at a time, even if they are few rows."""
    keys = [f"00000000-0000-4000-8000-{at:012}" for at in range(LONG_TEXTS)]
    texts = [f"{at:04}" * 25_000 for at in range(LONG_TEXTS)]
    path = load_target.folder / "ItemProductTextLongContentsExt.parquet"
    parquet.write_table(pyarrow.table({"systemId": keys, "base64Text": texts}), path)
    length = sum(map(len, texts))
    texts.clear()
    report, peak = load_target.load_measured(path)
    assert report.inserted == LONG_TEXTS
    assert peak < length


@ON_SQLITE
@pytest.mark.parametrize("numbers", [[[]], [["C1"], [], ["C2"]]], ids=["alone", "between others"])
def test_a_row_group_may_be_empty(load_target: LoadTarget, numbers: list[list[str]]) -> None:
    path = load_target.folder / "customersExt.parquet"
    parts = [pyarrow.table({"number": pyarrow.array(each, pyarrow.string())}) for each in numbers]
    with parquet.ParquetWriter(path, parts[0].schema) as writer:
        for part in parts:
            writer.write_table(part)
    report = load_target.load_file(path)
    assert (reasons(report), report.inserted) == ([], sum(map(len, numbers)))
