"""Errors of files: reported with file, line, column and reason; nothing is written.

An error in the text is found without the database, so one database is enough for these tests.
"""

import pytest

from comptoir.edm.types import NO_GUID
from support.command import COMPANY, Command
from support.databases import ON_SQLITE
from support.load_target import LoadTarget, reasons
from support.together import together
from transfer.conftest import STEP_ROWS

ID = "00000000-0000-4000-8000-00000000000{}"
HEAD = "id,number,displayName"
REPEATS = "repeats line {}. Remove one of the lines."
GOOD = f"{ID.format(1)},C1,One"
LONG = "x" * 101

CSV_ERRORS: list[tuple[str, int | None, str]] = [
    ("number,shoeSize\nC1,44\n", 1, "shoeSize: is not a property of customersExt"),
    ("Number\nC1\n", 1, "Number: is not a property"),
    ("number,name2,number\nC1,x,C2\n", 1, "number: occurs twice"),
    ("displayName\nOne\n", 1, "no column identifies the records. Add one of: id; num"),
    ("number,\nC1,x\n", 1, ": is not a property"),
    ("id;number\n1;2\n", 1, "separated by ';'. Separate them by commas."),
    ("", 0, "the file is empty"),
    ("\ufeff", 0, "the file is empty"),
    ("\nnumber\nC1\n", 1, "the first line is blank"),
    (f"{HEAD}\n{GOOD}\n{ID.format(2)},C2\n", 3, "has 2 cells, but the first line"),
    (f"{HEAD}\n{GOOD}\n{ID.format(2)},C2,a,b\n", 3, "has 4 cells"),
    (f"{HEAD}\n{GOOD}\n17,C2,Two\n", 3, "id: must be a Guid"),
    (f"{HEAD}\n{GOOD}\n,C2,Two\n", 3, "id: must not be empty"),
    (f"{HEAD}\n{GOOD}\n{ID.format(1)},C2,Two\n", 3, f"id: {REPEATS.format(2)}"),
    (
        "id\nABCDEF00-0000-4000-8000-000000000000\nabcdef00-0000-4000-8000-000000000000\n",
        3,
        f"id: {REPEATS.format(2)}",
    ),
    (f"{HEAD}\n{GOOD}\n{ID.format(2)},C1,Two\n", 3, f"number: {REPEATS.format(2)}"),
    (f'{HEAD}\n{GOOD}\n{ID.format(2)},C2,"Two\nmore\n', 3, "is not CSV"),
    (f'{HEAD}\n{GOOD}\n{ID.format(2)},C2,"T"wo\n', 3, "is not CSV"),
    (f"{HEAD}\n{GOOD}\n{ID.format(2)},C2,T\0wo\n", 3, "displayName: contains a NUL"),
    (
        f"{HEAD},lastModifiedDateTime\n{GOOD},2023-02-30T00:00:00Z\n",
        2,
        "lastModifiedDateTime: must be an existing date and time",
    ),
    ("number,creditLimit\nC1,0.000001\n", 2, "creditLimit: has more than 5 digits after"),
    ("number,creditLimit\nC1,12345678901234\n", 2, "creditLimit: has more than 13 digits"),
    ("number,creditLimit\nC1,NaN\n", 2, "creditLimit: must be a number"),
    ("number\nC1\n" + LONG + "\n", 3, "number: exceeds the limit of 100 characters"),
    ("number,taxLiable\nC1,yes\n", 2, "taxLiable: must be true or false"),
]

NDJSON_ERRORS: list[tuple[str, int | None, str]] = [
    ('{"number":"C1"}\n{"number":\n{"number":"C3"}\n', 2, "not a JSON object"),
    ('{"number":"C1"}\n[1]\n', 2, "must be a JSON object, not an array"),
    ('{"number":"C1","name2":null}\n', 1, "name2: must not be null"),
    ('{"number":"C1","creditLimit":"1"}\n', 1, "must be a number, not text"),
    ('{"number":"C1","creditLimit":NaN}\n', 1, "NaN is not JSON"),
    ('{"number":"C1","name2":"a","name2":"b"}\n', 1, "'name2' occurs twice"),
    ('{"number":"C1"}\n{"number":"C2","shoeSize":1}\n', 2, "shoeSize: is not a property"),
    ('{"number":"C1"}\n{"name2":"x"}\n', 2, "no column identifies the records"),
    ('{"number":"C1"}\n{}\n', 2, "no column identifies the records"),
    ('{"number":"C1","name2":"\\ud800"}\n', 1, "an unpaired surrogate"),
    ("nonsense\n", 1, "not a JSON object"),
    ('{"number":"C1"}\n{"name2":"x","number":"C1"}\n', 2, f"number: {REPEATS.format(1)}"),
    ("[" * 100_000 + "\n", 1, "not a JSON object"),
    ('{"number":"C1","creditLimit":' + "9" * 5_000 + "}\n", 1, "not a JSON"),
    ("\n\n", 0, "the file is empty"),
]


JSON_ERRORS: list[tuple[str, int | None, str]] = [
    ("", None, "the file is empty"),
    ("  \n", None, "the file is empty"),
    ("17", None, "'[' is expected"),
    ('{"value": 17}', None, "'[' is expected"),
    ('{"other": 17}', None, "',' is expected"),
    ('[{"number":"C1"}', None, "',' is expected"),
    ('[{"number":"C1"} {"number":"C2"}]', None, "',' is expected"),
    ('[{"number":"C1"}] more', None, "text follows the end"),
    ('[{"number":"C1"}]}', None, "text follows the end"),
    ('{"value":[{"number":"C1"}]', None, "'}' is expected"),
    ('[{"number":"C1"},{"number":tru}]', None, "the record is not JSON"),
    ('[{"number":"C1', None, "the record is not JSON"),
    ('[{"number":"C1"}, 17]', None, "must be a JSON object, not a number"),
]
ERRORS = {"csv": CSV_ERRORS, "ndjson": NDJSON_ERRORS, "json": JSON_ERRORS}
"""A content, the line of its error, which arrays need not have, and a part of its reason."""


@ON_SQLITE
@together(
    ("form", "content", "line", "reason"),
    [(form, *each) for form, errors in ERRORS.items() for each in errors],
)
def test_an_error_is_reported_with_its_line_and_nothing_is_written(
    form: str, content: str, line: int | None, reason: str, load_target: LoadTarget
) -> None:
    report = load_target.load(f"customersExt.{form}", content)
    assert not report.written
    assert line is None or [each.line for each in report.errors] == [line]
    assert report.refused == 1
    assert reason in reasons(report)[0]
    assert load_target.records("customersExt") == []


@ON_SQLITE
@together("encoding", ["latin-1", "utf-16", "utf-16-be", "utf-16-le"])
@together("suffix", ["csv", "ndjson", "json"])
def test_only_utf8_is_read(encoding: str, suffix: str, load_target: LoadTarget) -> None:
    rows = {
        "csv": "number,displayName\nC1,One\nC2,Straße\n",
        "ndjson": '{"number":"C1"}\n{"number":"C2","displayName":"Straße"}\n',
        "json": '[{"number":"C1"},\n{"number":"C2","displayName":"Straße"}]',
    }
    report = load_target.load(f"customersExt.{suffix}", rows[suffix], encoding=encoding)
    assert not report.written
    assert report.refused >= 1
    assert load_target.records("customersExt") == []


@ON_SQLITE
def test_the_line_that_is_not_utf8_is_named(load_target: LoadTarget) -> None:
    content = b"number,displayName\n" + b"".join(b"C%d,x\n" % at for at in range(5_000))
    report = load_target.load("customersExt.csv", content + b"D,Stra\xdfe\nE,x\n")
    assert reasons(report) == [
        "5002: : the file is not UTF-8 (byte 7 of the line is 0xdf). Save it as UTF-8."
    ]


@ON_SQLITE
def test_every_broken_line_is_counted_and_the_first_are_reported(load_target: LoadTarget) -> None:
    content = "number,taxLiable\n" + "".join(f"C{at},maybe\n" for at in range(300))
    report = load_target.load("customersExt.csv", content)
    assert (report.rows, report.refused, len(report.errors)) == (300, 300, 20)
    assert [error.line for error in report.errors] == list(range(2, 22))


def test_a_stored_unique_value_is_not_taken_from_its_record(load_target: LoadTarget) -> None:
    load_target.load("customersExt.csv", f"{HEAD}\n{GOOD}\n")
    report = load_target.load("customersExt.csv", f"{HEAD}\n{ID.format(2)},C1,Two\n")
    assert reasons(report) == [
        f"2: number: has the value of the record {ID.format(1)}. Choose another value."
    ]
    assert [each["displayName"] for each in load_target.records("customersExt")] == ["One"]


def test_a_new_record_needs_the_required_properties(load_target: LoadTarget) -> None:
    assert load_target.load("contactsExt.csv", "number,displayName\nK1,One\n").inserted == 1
    report = load_target.load("contactsExt.csv", "number,city\nK1,Bonn\nK2,Köln\n")
    assert reasons(report) == [
        "3: displayName: is not in the file, but a new record needs it. Add the column."
    ]
    assert load_target.load("contactsExt.csv", "number,city\nK1,Bonn\n").updated == 1
    report = load_target.load("contactsExt.csv", "number,displayName\nK1,One\nK2,\n")
    assert reasons(report) == ["3: displayName: must not be empty. Send a value for it."]


def test_new_records_do_not_share_the_defaults_of_a_unique_rule(load_target: LoadTarget) -> None:
    report = load_target.load("itemAttributeValuesExt.csv", f"id\n{ID.format(1)}\n{ID.format(2)}\n")
    assert reasons(report)[0] == f"3: itemNo, attributeName: {REPEATS.format(2)}"


def test_keep_good_writes_the_other_rows(load_target: LoadTarget, small_steps: None) -> None:
    many = 2 * STEP_ROWS + 50
    rows = [f"C{at},{'maybe' if at % 7 == 0 else 'true'}" for at in range(1, many + 1)]
    rows[10] = "C11"
    rows[20] = "C1,true"
    content = "\n".join(["number,taxLiable", *rows])
    report = load_target.load("customersExt.csv", content, keep_good=True)
    bad = many // 7 + 2 - 1
    assert report.written
    assert (report.rows, report.inserted, report.refused) == (many, many - bad, bad)
    numbers = {each["number"] for each in load_target.records("customersExt")}
    assert len(numbers) == many - bad
    assert not numbers & {"C7", "C11", "C21"}


@ON_SQLITE
def test_keep_good_writes_nothing_of_a_truncated_file(load_target: LoadTarget) -> None:
    report = load_target.load("customersExt.csv", 'number\nC1\n"C2\n', keep_good=True)
    assert not report.written
    assert load_target.records("customersExt") == []


NO_KEYS = {
    "customersExt.csv": f"id\n{ID.format(1)}\n{NO_GUID}\n",
    "customersExt.ndjson": f'{{"id":"{ID.format(1)}"}}\n{{"id":"{NO_GUID}"}}\n',
    "unitsOfMeasureExt.csv": 'code,displayName\nPCS,Piece\n"",None\n',
    "unitsOfMeasureExt.json": '[{"code":"PCS"},{"code":""}]',
    "salesPricesExt.csv": "entryNo,assetNumber\n1,I1\n,I2\n",
}


@ON_SQLITE
def test_the_default_value_is_not_a_key(load_target: LoadTarget) -> None:
    for name, content in NO_KEYS.items():
        report = load_target.load(name, content)
        assert reasons(report)[-1].endswith(": must not be empty. Send a value for it.")
        assert load_target.records(name.partition(".")[0]) == []


def test_0_is_a_key_like_any_other_number(load_target: LoadTarget) -> None:
    assert load_target.load("salesPricesExt.csv", "entryNo\n0\n1\n").inserted == 2
    assert (
        load_target.load("salesPricesExt.ndjson", '{"entryNo":0,"assetNumber":"I1"}\n').updated == 1
    )


@ON_SQLITE
@pytest.mark.parametrize("given_first", [True, False])
@pytest.mark.parametrize("suffix", ["ndjson", "json"])
def test_all_rows_or_none_have_a_generated_number(
    load_target: LoadTarget, suffix: str, given_first: bool
) -> None:
    rows = [f'{{"id":"{ID.format(1)}","name":"x"}}', '{"attributeId":1,"name":"y"}']
    if given_first:
        rows.reverse()
    content = "\n".join(rows) if suffix == "ndjson" else f"[{','.join(rows)}]"
    report = load_target.load(f"itemAttributesExt.{suffix}", content)
    here = "is not given" if given_first else "is given"
    assert reasons(report) == [
        f"2: attributeId: {here}, unlike in line 1. Give it in every line, or in none."
    ]
    assert load_target.records("itemAttributesExt") == []
    report = load_target.load(f"itemAttributesExt.{suffix}", content, keep_good=True)
    assert (report.inserted, report.updated, report.refused) == (1, 0, 1)


@ON_SQLITE
def test_a_text_without_a_limit_is_at_most_as_long_as_a_body(load_target: LoadTarget) -> None:
    for suffix in ("csv", "ndjson"):
        fitting, longer = "A" * (1 << 20), "A" * ((1 << 20) + 4)
        rows = {
            "csv": f"systemId,base64Text\n{ID.format(1)},{fitting}\n{ID.format(2)},{longer}\n",
            "ndjson": f'{{"systemId":"{ID.format(1)}","base64Text":"{fitting}"}}\n'
            f'{{"systemId":"{ID.format(2)}","base64Text":"{longer}"}}\n',
        }
        name = "ItemProductTextLongContentsExt"
        report = load_target.load(f"{name}.{suffix}", rows[suffix], keep_good=True)
        (reason,) = reasons(report)
        assert reason.startswith(
            f"{3 if suffix == 'csv' else 2}: base64Text: exceeds the limit of 1048576 char"
        )
        assert reason.endswith("Shorten it, or raise the setting body_bytes.")
        assert [each["systemId"] for each in load_target.records(name)] == [ID.format(1)]


def test_the_limit_of_a_body_is_that_of_the_settings(ready: Command) -> None:
    (ready.folder / "few.toml").write_text("body_bytes = 8\n", encoding="utf-8")
    path = ready.folder / "ItemProductTextLongContentsExt.csv"
    path.write_text(f"systemId,base64Text\n{ID.format(1)},AAAABBBBCCCC\n", encoding="utf-8")
    result = ready.here("load", "--company", COMPANY, "--config", "few.toml", path)
    assert result.status == 1
    assert "base64Text: exceeds the limit of 8 characters" in result.err
    path.write_text(f"systemId,base64Text\n{ID.format(1)},AAAABBBB\n", encoding="utf-8")
    ready.done("load", "--company", COMPANY, "--config", "few.toml", path)
