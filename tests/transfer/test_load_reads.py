"""Text formats, and differences between files that do not change the records.

The database does not see the format, so one database is enough for all formats.
"""

from collections.abc import Callable

import pytest

from support.databases import ON_SQLITE
from support.load_target import LoadTarget, reasons
from support.together import together
from transfer.conftest import STEP_ROWS

ID = "00000000-0000-4000-8000-00000000000{}"
CSV = (
    "id,number,displayName,creditLimit,taxLiable,blocked,lastModifiedDateTime\n"
    f'{ID.format(1)},C1,"Ä ""quoted"", name",2.290000,true, ,2020-02-29T12:00:00+02:00\n'
    f"{ID.format(2)},C2,李 🚲,-0.5,false,,\n"
)
NDJSON = (
    f'{{"id":"{ID.format(1)}","number":"C1","displayName":"Ä \\"quoted\\", name",'
    '"creditLimit":2.290000,"taxLiable":true,"blocked":" ",'
    '"lastModifiedDateTime":"2020-02-29T12:00:00+02:00"}\n'
    f'{{"id":"{ID.format(2)}","number":"C2","displayName":"李 🚲","creditLimit":-5e-1,'
    '"taxLiable":false,"blocked":"","lastModifiedDateTime":"0001-01-01T00:00:00Z"}\n'
)
ARRAY = "[" + ",\n".join(NDJSON.splitlines()) + "]"
LONG_TEXTS = 50
"""Texts of 100,000 characters that take ten steps."""

ANSWER = (
    '{"@odata.context": "x", "@odata.count": 2, "value": '
    + ARRAY.replace('{"id"', '{"@odata.etag": "W/\\"1\\"", "id"')
    + ', "@odata.nextLink": "x"}'
)


def assert_loaded(load_target: LoadTarget) -> None:
    first, second = load_target.records("customersExt")
    assert first["displayName"] == 'Ä "quoted", name'
    assert (first["creditLimit"], first["taxLiable"], first["blocked"]) == (229_000, 1, " ")
    assert first["lastModifiedDateTime"] == "2020-02-29T10:00:00.000Z"
    assert second["displayName"] == "李 🚲"
    assert (second["creditLimit"], second["taxLiable"], second["blocked"]) == (-50_000, 0, "")
    assert second["lastModifiedDateTime"] == "0001-01-01T00:00:00.000Z"


FORMATS = (("csv", CSV), ("ndjson", NDJSON), ("json", ARRAY), ("json", ANSWER))
CHANGES: tuple[Callable[[bytes], bytes], ...] = (
    lambda content: content,
    lambda content: b"\xef\xbb\xbf" + content,
    lambda content: content.replace(b"\n", b"\r\n"),
    lambda content: content.rstrip(b"\n"),
    lambda content: content.replace(b"\n", b"\n\n"),
)


@ON_SQLITE
@together(("suffix", "content"), FORMATS)
@together("change", CHANGES)
def test_every_text_format_gives_the_same_records(
    suffix: str, content: str, change: Callable[[bytes], bytes], load_target: LoadTarget
) -> None:
    target = load_target.another(load_target.folder)
    report = target.load(f"customersExt.{suffix}", change(content.encode()))
    assert reasons(report) == []
    assert (report.rows, report.inserted, report.written) == (2, 2, True)
    assert_loaded(target)


@ON_SQLITE
def test_columns_come_in_any_order(load_target: LoadTarget) -> None:
    header, *rows = [line.split(",") for line in ("number,id,displayName", f"K,{ID.format(1)},N")]
    turned = "\n".join(",".join(reversed(cells)) for cells in (header, *rows))
    assert load_target.load("customersExt.csv", turned).inserted == 1
    assert load_target.records("customersExt")[0]["number"] == "K"


@ON_SQLITE
def test_a_cell_may_contain_line_ends(load_target: LoadTarget) -> None:
    text = "a\r\nb\nc\rd"
    report = load_target.load(
        "customersExt.csv", f'number,displayName\nC1,"{text}"\nC2,\nC3,{"x" * 5000}\n'
    )
    assert [(error.line, error.column) for error in report.errors] == [(7, "displayName")]
    assert load_target.load("customersExt.csv", f'number,displayName\nC1,"{text}"\n').inserted == 1
    assert load_target.records("customersExt")[0]["displayName"] == text


@ON_SQLITE
def test_every_row_is_loaded_whatever_their_number(
    load_target: LoadTarget, small_steps: None
) -> None:
    for rows in (0, STEP_ROWS - 1, STEP_ROWS, STEP_ROWS + 1, 2 * STEP_ROWS):
        target = load_target.another(load_target.folder)
        content = "number\n" + "".join(f"C{number}\n" for number in range(rows))
        report = target.load("customersExt.csv", content)
        assert (report.rows, report.inserted, report.written) == (rows, rows, True)
        assert len(target.records("customersExt")) == rows


@ON_SQLITE
def test_records_of_a_document_may_have_columns_of_their_own(load_target: LoadTarget) -> None:
    content = '{"number":"1","name2":"x"}\n{"number":"2"}\n{"name2":"y","number":"3"}\n'
    report = load_target.load("customersExt.ndjson", content)
    assert (reasons(report), report.inserted) == ([], 3)
    assert {each["number"]: each["name2"] for each in load_target.records("customersExt")} == {
        "1": "x",
        "2": "",
        "3": "y",
    }


@ON_SQLITE
def test_a_long_array_is_read_in_blocks(load_target: LoadTarget) -> None:
    records = ",".join(f'{{"number":"{at}","name2":"{"n" * 3_000}"}}' for at in range(200))
    report = load_target.load("customersExt.json", f'{{"value":[{records}]}}')
    assert (reasons(report), report.inserted) == ([], 200)


@ON_SQLITE
@pytest.mark.parametrize(
    ("suffix", "head", "row", "end"),
    [
        ("csv", "systemId,base64Text\n", "{},{}\n", ""),
        ("ndjson", "", '{{"systemId":"{}","base64Text":"{}"}}\n', ""),
        ("json", "[0", ',{{"systemId":"{}","base64Text":"{}"}}', "]"),
    ],
    ids=["csv", "ndjson", "json"],
)
def test_memory_does_not_grow_with_long_texts(
    load_target: LoadTarget, suffix: str, head: str, row: str, end: str, small_steps: None
) -> None:
    """A few megabytes are read, checked and written at a time, even if they are few rows."""
    path = load_target.folder / f"ItemProductTextLongContentsExt.{suffix}"
    with path.open("w", encoding="utf-8") as file:
        file.write(head)
        for at in range(LONG_TEXTS):
            file.write(row.format(f"00000000-0000-4000-8000-{at:012}", f"{at:04}" * 25_000))
        file.write(end)
    report, peak = load_target.load_measured(path, keep_good=True)
    assert report.inserted == LONG_TEXTS
    assert peak < path.stat().st_size
