"""Queries of the console: their columns, their order, and the place of an error."""

from comptoir.catalog import MODEL
from comptoir.errors.refusal import Refusal
from comptoir.errors.table import INVALID_URL
from comptoir.features.console.record_query import (
    RecordQuery,
    columns,
    default_columns,
    query_error,
    shown_names,
)

CONTACT = MODEL.by_name["contactsExt"].type
PRICE = MODEL.by_name["salesPricesExt"].type


def test_the_first_column_is_what_people_know_a_record_by() -> None:
    assert default_columns(CONTACT)[:2] == ("number", "displayName")
    assert default_columns(CONTACT)[-1] == "lastModifiedDateTime"
    assert default_columns(PRICE)[0] == "entryNo"


def test_chosen_columns_follow_the_first_one() -> None:
    query = RecordQuery(columns=("city", "onlinePassword", "nothing", "number"))

    assert shown_names(CONTACT, query) == ("number", "city")


def test_sorting_by_a_column_and_the_other_way_round() -> None:
    [number, city] = columns(CONTACT, RecordQuery(columns=("city",), orderby="city"))

    assert (number.order, number.sorting) == ("", "number")
    assert (city.order, city.sorting) == ("ascending", "city desc")
    [_, city] = columns(CONTACT, RecordQuery(columns=("city",), orderby="city desc"))
    assert (city.order, city.sorting) == ("descending", "city")


def test_the_options_are_encoded() -> None:
    query = RecordQuery(filter="city eq 'Graz & +'", search='"a b"', orderby="city desc")

    assert query.options(("number",)) == (
        "$filter=city%20eq%20'Graz%20%26%20%2B'&$search=%22a%20b%22"
        "&$orderby=city%20desc&$select=number"
    )


def test_a_new_order_begins_at_the_first_page() -> None:
    query = RecordQuery(filter="a", skiptoken="t", columns=("city", "name2"))

    assert query.sorted_by("city").address() == "filter=a&orderby=city&column=city&column=name2"


def misused(position: int, problem: str, remedy: str) -> Refusal:
    return INVALID_URL.row(problem, remedy)("$filter", position)


def test_the_text_around_a_error() -> None:
    text = "city eqq 'Graz'"

    error = query_error(misused(5, "Unknown operator", "Write eq."), text)

    assert (error.before, error.at, error.after) == ("city ", "e", "qq 'Graz'")
    assert error.message == "Unknown operator at column 6 of $filter. Write eq."


def test_an_error_at_the_end_and_far_inside() -> None:
    end = query_error(misused(5, "The filter ends", "Complete it."), "city ")
    assert (end.before, end.at, end.after) == ("city ", " ", "")

    long = query_error(misused(500, "Wrong", "Correct it."), "x" * 500 + "?" + "y" * 500)
    assert (long.before, long.at, long.after) == (f"…{'x' * 60}", "?", f"{'y' * 60}…")
