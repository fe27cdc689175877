"""The order in which a load writes: that of the keys, unless the records depend on the file's."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from support.databases import ON_SQLITE, run_sql
from support.load_target import LoadTarget, reasons
from transfer.conftest import STEP_ROWS

pytestmark = pytest.mark.usefixtures("small_steps")

CUSTOMERS = "customersExt"
ROWS = STEP_ROWS + 50
"""Enough for two transactions."""


class LoadInterruptedError(Exception):
    """Ends a load after its first transaction."""


def interrupt(stage: str, *_: int) -> None:
    if stage.startswith("writing"):
        raise LoadInterruptedError


def key(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012}"


def shuffled(count: int) -> list[int]:
    """The numbers from 1, in an order that differs from theirs everywhere."""
    return [at * 37 % count + 1 for at in range(count)]


def written(load_target: LoadTarget) -> list[str]:
    """The keys of the change log, in order."""
    return [each.record for each in load_target.changes()]


def interrupted(
    load_target: LoadTarget, numbers: Sequence[int], *, keep_good: bool = False
) -> Path:
    """A file of customers whose load has ended after its first transaction."""
    path = load_target.folder / f"{CUSTOMERS}.csv"
    rows = "".join(f"{key(at)},C{at}\n" for at in numbers)
    path.write_text(f"id,number\n{rows}", encoding="utf-8")
    with pytest.raises(LoadInterruptedError):
        load_target.load_file(path, keep_good=keep_good, show_progress=interrupt)
    return path


def test_whole_numbers_as_keys_are_ordered_as_numbers(load_target: LoadTarget) -> None:
    numbers = shuffled(200)
    rows = "".join(f"{at},IT-{at}\n" for at in numbers)
    load_target.load("salesPricesExt.csv", f"entryNo,assetNumber\n{rows}")
    assert written(load_target) == [str(at) for at in range(1, 201)]


@ON_SQLITE  # test_load_agrees compares the databases
def test_rows_with_different_columns_are_written_in_the_order_of_the_keys(
    load_target: LoadTarget,
) -> None:
    numbers = shuffled(ROWS)
    rows = [
        f'{{"id": "{key(at)}", "{"city" if at % 2 else "name2"}": "Bonn {at}"}}' for at in numbers
    ]
    report = load_target.load(f"{CUSTOMERS}.ndjson", "\n".join(rows))
    assert report.inserted == ROWS
    for start in range(0, ROWS, STEP_ROWS):
        expected = [key(at) for at in range(1, ROWS + 1)][start : start + STEP_ROWS]
        found = written(load_target)[start : start + STEP_ROWS]
        assert sorted(found) == expected
    cities = {
        str(each["id"]): each["city"] or each["name2"] for each in load_target.records(CUSTOMERS)
    }
    assert cities == {key(at): f"Bonn {at}" for at in numbers}


def test_rows_without_keys_get_ascending_ones_in_the_order_of_the_file(
    load_target: LoadTarget,
) -> None:
    numbers = [f"C{at}" for at in shuffled(ROWS)]
    load_target.load(f"{CUSTOMERS}.csv", "\n".join(["number", *numbers]))
    # the records are read in the order of their keys
    assert [each["number"] for each in load_target.records(CUSTOMERS)] == numbers


def test_a_derivation_sees_earlier_rows_with_higher_keys_and_no_later_ones(
    load_target: LoadTarget,
) -> None:
    load_target.load(
        "contactsExt.csv",
        "id,number,type,displayName,companyNumber\n"
        f"{key(3)},K1,Company,Acme,\n{key(1)},K2,Person,Ann,K1\n"
        f"{key(4)},K3,Person,Bob,K4\n{key(2)},K4,Company,Zenith,\n",
    )
    names = {each["number"]: each["companyName"] for each in load_target.records("contactsExt")}
    assert names == {"K1": "", "K2": "Acme", "K3": "", "K4": ""}


def test_rows_with_keys_are_written_in_their_order_also_after_an_interrupt(
    load_target: LoadTarget,
) -> None:
    path = interrupted(load_target, shuffled(ROWS))
    assert written(load_target) == [key(at) for at in range(1, STEP_ROWS + 1)]
    report = load_target.load_file(path)
    assert report.resumed_at == STEP_ROWS
    assert (report.inserted, report.unchanged) == (ROWS - STEP_ROWS, 0)
    assert written(load_target) == [key(at) for at in range(1, ROWS + 1)]
    found = {str(each["id"]): each["number"] for each in load_target.records(CUSTOMERS)}
    assert found == {key(at): f"C{at}" for at in range(1, ROWS + 1)}


def test_a_load_begins_again_if_other_rows_are_refused(load_target: LoadTarget) -> None:
    """The first row by key is refused in the first run, and valid in the second."""
    load_target.load(f"{CUSTOMERS}.ndjson", f'{{"id": "{key(ROWS + 1)}", "number": "C1"}}')
    path = interrupted(load_target, shuffled(ROWS), keep_good=True)
    run_sql(
        load_target.url,
        f'UPDATE "{CUSTOMERS}" SET number = :number WHERE id = :id AND company_id = :company',
        number="other",
        company=load_target.company_id,
        id=key(ROWS + 1),
    )
    report = load_target.load_file(path, keep_good=True)
    assert (reasons(report), report.resumed_at) == ([], 0)
    assert (report.inserted, report.unchanged) == (ROWS - STEP_ROWS, STEP_ROWS)
    assert len(load_target.records(CUSTOMERS)) == ROWS + 1


@ON_SQLITE  # test_load_agrees compares the databases
def test_a_load_begins_again_after_another_one_of_the_entity_set(load_target: LoadTarget) -> None:
    """Otherwise the rows before the interruption would keep the values of the other load."""
    path = interrupted(load_target, range(1, ROWS + 1))
    load_target.load(f"{CUSTOMERS}.ndjson", f'{{"id": "{key(1)}", "number": "other"}}')
    report = load_target.load_file(path)
    assert (report.resumed_at, report.updated) == (0, 1)
    assert load_target.records(CUSTOMERS)[0]["number"] == "C1"
