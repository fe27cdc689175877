"""A load matches rows with records, and updates or inserts them."""

from pathlib import Path

from comptoir.edm.types import is_guid
from comptoir.features.transfer.load import LoadReport
from support.databases import ON_SQLITE
from support.event_loop import in_thread
from support.load_target import LoadTarget, reasons
from transfer.conftest import STEP_ROWS

ID = "00000000-0000-4000-8000-00000000000{}"
ROWS = 2 * STEP_ROWS + 1
"""Enough for three transactions."""


def test_rows_match_by_the_key_when_the_file_has_it(load_target: LoadTarget) -> None:
    load_target.load("customersExt.csv", f"id,number,name2\n{ID.format(1)},C1,a\n")
    report = load_target.load(
        "customersExt.csv", f"id,number\n{ID.format(1)},C9\n{ID.format(2)},C2\n"
    )
    assert (report.updated, report.inserted) == (1, 1)
    numbers = {
        each["id"]: (each["number"], each["name2"]) for each in load_target.records("customersExt")
    }
    assert numbers == {ID.format(1): ("C9", "a"), ID.format(2): ("C2", "")}


def test_rows_match_by_the_unique_rule_otherwise(load_target: LoadTarget) -> None:
    load_target.load("customersExt.csv", f"id,number,name2\n{ID.format(1)},C1,a\n")
    report = load_target.load("customersExt.csv", "number,displayName\nC1,One\nC2,Two\n")
    assert (report.updated, report.inserted) == (1, 1)
    first, second = sorted(load_target.records("customersExt"), key=lambda each: each["number"])
    assert (first["id"], first["displayName"], first["name2"]) == (ID.format(1), "One", "a")
    assert is_guid(str(second["id"]))


def test_an_empty_cell_is_the_default_and_a_missing_column_leaves_the_value(
    load_target: LoadTarget,
) -> None:
    head = "number,name2,city,creditLimit,taxLiable,taxAreaId"
    load_target.load("customersExt.csv", f"{head}\nC1,a,Bonn,5,true,{ID.format(9)}\n")
    load_target.load("customersExt.csv", f"{head.replace('city,', '')}\nC1,,,,\n")
    (record,) = load_target.records("customersExt")
    assert (record["name2"], record["city"], record["creditLimit"]) == ("", "Bonn", 0)
    assert (record["taxLiable"], record["taxAreaId"]) == (0, "00000000-0000-0000-0000-000000000000")


def test_equal_rows_change_nothing(load_target: LoadTarget) -> None:
    content = "number,name2\nC1,a\nC2,b\n"
    load_target.load("customersExt.csv", content)
    before = load_target.records("customersExt")
    report = load_target.load("customersExt.csv", content)
    assert (report.unchanged, report.updated, report.inserted) == (2, 0, 0)
    assert load_target.records("customersExt") == before


def test_computed_values_are_kept_when_given_and_derived_when_not(load_target: LoadTarget) -> None:
    load_target.load(
        "contactsExt.csv",
        "number,type,displayName,companyNumber,searchName,lastModifiedDateTime\n"
        "K1,Company,Straße,K1,MINE,2001-01-01T00:00:00Z\n",
    )
    load_target.load("contactsExt.csv", "number,displayName,companyNumber\nK2,Ann,K1\nK3,Bob,K2\n")
    first, second, third = sorted(
        load_target.records("contactsExt"), key=lambda each: each["number"]
    )
    assert (first["searchName"], first["companyName"]) == ("MINE", "Straße")
    assert first["lastModifiedDateTime"] == "2001-01-01T00:00:00.000Z"
    assert (second["searchName"], second["companyName"]) == ("ANN", "Straße")
    # a contact that is not a company has no such derivation
    assert (third["searchName"], third["companyName"]) == ("BOB", "")
    assert str(second["lastModifiedDateTime"]) > "2020"


def test_an_update_derives_what_the_file_leaves_out(load_target: LoadTarget) -> None:
    load_target.load("contactsExt.csv", "number,displayName\nK1,One\n")
    load_target.load("contactsExt.csv", "number,displayName\nK1,Two\n")
    (record,) = load_target.records("contactsExt")
    assert record["searchName"] == "TWO"


def test_missing_numbers_are_the_next_free_ones(load_target: LoadTarget) -> None:
    """In the order of the file, whatever the keys are."""
    load_target.load("itemAttributesExt.csv", f"id,attributeId,name\n{ID.format(1)},7,Color\n")
    load_target.load(
        "itemAttributesExt.csv", f"id,name\n{ID.format(3)},Size\n{ID.format(2)},Weight\n"
    )
    found = {each["name"]: each["attributeId"] for each in load_target.records("itemAttributesExt")}
    assert found == {"Color": 7, "Size": 8, "Weight": 9}


def test_blank_numbers_are_not_compared(load_target: LoadTarget) -> None:
    report = load_target.load("customersExt.csv", "number,name2\n,a\n,b\nC1,c\n")
    assert (reasons(report), report.inserted) == ([], 3)


def test_the_record_completes_an_incomplete_unique_rule(load_target: LoadTarget) -> None:
    load_target.load(
        "itemTranslationsExt.csv",
        "id,itemNo,languageCode,variantCode\n"
        f"{ID.format(1)},A,ENU,\n{ID.format(2)},B,ENU,\n{ID.format(3)},B,DEU,\n",
    )
    report = load_target.load(
        "itemTranslationsExt.csv", f"id,languageCode\n{ID.format(1)},FRA\n{ID.format(2)},FRA\n"
    )
    assert (reasons(report), report.updated) == ([], 2)
    report = load_target.load("itemTranslationsExt.csv", f"id,languageCode\n{ID.format(2)},DEU\n")
    assert reasons(report) == [
        (
            f"2: itemNo, languageCode, variantCode: has the value of the record {ID.format(3)}. "
            "Choose another value."
        )
    ]


def test_a_file_that_changes_while_it_is_checked_is_refused(load_target: LoadTarget) -> None:
    path = load_target.folder / "customersExt.csv"
    path.write_text("number\nC1\n", encoding="utf-8")

    def change(*_: object) -> None:
        path.write_text("number\nC1\nC2\nmore\n", encoding="utf-8")

    report = load_target.load_file(path, show_progress=change)
    assert reasons(report) == [
        "0: : the file was changed while it was being loaded. Load it again."
    ]
    assert load_target.records("customersExt") == []


@ON_SQLITE  # test_load_agrees compares the databases
def test_what_is_written_is_what_has_been_checked(
    load_target: LoadTarget, small_steps: None
) -> None:
    path = load_target.folder / "customersExt.csv"
    path.write_text("number\n" + "".join(f"C{at}\n" for at in range(ROWS)), encoding="utf-8")

    def remove(stage: str, *_: int) -> None:
        if stage.startswith("writing"):
            path.unlink(missing_ok=True)

    assert load_target.load_file(path, show_progress=remove).inserted == ROWS


def test_records_that_others_create_meanwhile_are_matched(
    load_target: LoadTarget, small_steps: None
) -> None:
    """The first rows of a load find no records, and the last row finds one."""
    path = load_target.folder / "customersExt.csv"
    path.write_text("number\n" + "".join(f"C{at}\n" for at in range(ROWS)), encoding="utf-8")
    others: list[LoadReport] = []

    def create(stage: str, *_: int) -> None:
        if stage.startswith("writing") and not others:
            content = f'{{"number": "C{ROWS - 1}", "city": "Bonn"}}\n'
            others.append(in_thread(other.load, "customersExt.ndjson", content))

    with LoadTarget(load_target.folder, load_target.url, load_target.company_id) as other:
        report = load_target.load_file(path, show_progress=create)
    assert (reasons(report), others[0].inserted) == ([], 1)
    assert (report.inserted, report.unchanged) == (ROWS - 1, 1)
    assert len(load_target.records("customersExt")) == ROWS


@ON_SQLITE  # test_load_agrees compares the databases
def test_every_real_file_loads(load_target: LoadTarget, real: Path) -> None:
    for path in sorted(real.glob("*.csv")):
        report = load_target.load_file(path)
        assert reasons(report) == []
        assert report.inserted == report.rows > 0


def test_memory_does_not_grow_with_the_file(load_target: LoadTarget, small_steps: None) -> None:
    rows = 20 * STEP_ROWS
    path = load_target.folder / "customersExt.csv"
    with path.open("w", encoding="utf-8") as file:
        file.write("id,number,displayName,city\n")
        file.writelines(
            f"00000000-0000-4000-8000-{at:012},C{at},Customer {at},Bonn {at}\n"
            for at in range(rows)
        )
    report, peak = load_target.load_measured(path)
    assert report.inserted == rows
    assert peak < 2 << 20
