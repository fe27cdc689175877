"""Expressions over related records: paths, `any`, `all` and `$count`, within one company."""

from collections.abc import Callable
from itertools import product

import pytest

from comptoir.store.store import SLICE
from support.client import Record, page, pages
from support.companies import Company, Row
from support.corpus import FOLDER
from support.databases import ON_SQLITE
from support.refusals import refusal
from support.replay import load_data
from support.service import Service, StartService
from support.specimen import WITH_SPECIMENS
from support.together import together

INVALID = "BadRequest_InvalidRequestUrl"


@pytest.fixture(scope="module")
def people(service: Service) -> Company:
    """Two companies, four persons of whom two have one, and one without number."""
    company = service.new_company()
    load_data(company, FOLDER / "contacts")
    return company


ALL = "C1 C2 P1 P2 P3 P4 "


def test_all_pages_have_the_time_of_the_first(people: Company) -> None:
    """The cursor of a page is computed with the time of the first page."""
    order, past = "now() sub lastModifiedDateTime,number", "now() gt 2024-01-01T00:00:00Z"
    query = {"$orderby": order, "$filter": past}
    read = pages(people, "contactsExt", query, 2)
    found = [str(each["number"]) for records in read for each in records]

    assert sorted(found) == sorted(ALL.split(" "))


FAULTY = {"$filter": "10 div (150 sub attributeId) ge -10", "$orderby": "attributeId"}
"""An expression that cannot be computed for the 150th record."""


@pytest.fixture
def attributes(company: Company) -> Company:
    """A company with attributes 1 to 200."""
    rows: list[Row] = [{"attributeId": n, "name": f"{n}"} for n in range(1, 201)]
    company.load("itemAttributesExt", *rows)
    return company


def test_a_fault_after_the_first_records_is_reported(attributes: Company) -> None:
    """The database decides how many records come before it; all of them are right."""
    answer = attributes.get("itemAttributesExt", FAULTY)
    read: list[Record] = []
    while answer.status_code == 200:
        some = page(answer)
        read += some.value
        assert some.next_link is not None
        answer = attributes.follow(some.next_link)

    assert "divisor is zero" in refusal(answer, INVALID).message
    assert [each["attributeId"] for each in read] == [*range(1, len(read) + 1)]
    assert len(read) < 150


@ON_SQLITE
@together("level", ["minimal", "none"])
def test_a_fault_after_the_first_records_ends_the_page_and_its_link_reports_it(
    level: str, attributes: Company
) -> None:
    """SQLite reads in slices, so the status has already been sent.

    Slices of stored JSON, which are larger, do not end the page earlier.
    """
    accept = {"Accept": f"application/json;odata.metadata={level}"}
    read = page(attributes.get("itemAttributesExt", FAULTY, accept))

    assert 150 - SLICE <= len(read.value) < 150
    assert read.next_link is not None
    error = refusal(attributes.follow(read.next_link), INVALID)
    assert "divisor is zero" in error.message


@pytest.fixture(scope="module")
def deep(share_service: StartService) -> Company:
    """Specimens 0 to 11, which are alternately copies of the first three."""
    service = share_service(WITH_SPECIMENS, url_bytes=1 << 20)
    company = service.new_company()
    rows: list[Row] = [{"code": f"{n}", "series": f"{n % 3}", "rank": n} for n in range(12)]
    company.load("specimensExt", *rows)
    return company


def _nested(depth: int, start: str) -> str:
    """Odd levels are alternatives: the condition is true for 11, and for 0 to 4 if it is deep."""
    text = f"{start}rank eq 11"
    for level in range(depth):
        joined = "or" if level % 2 else "and"
        text = f"{start}rank {'eq' if level % 2 else 'ne'} {level % 5} {joined} ({text})"
    return text


def _meant(depth: int, rank: int) -> bool:
    holds = rank == 11
    for level in range(depth):
        holds = (rank == level % 5 or holds) if level % 2 else (rank != level % 5 and holds)
    return holds


def _copies(code: int) -> list[int]:
    return [rank for rank in range(12) if rank % 3 == code]


def _calls(depth: int, start: str) -> str:
    calls = "".join("toupper(" if level % 2 else "concat(''," for level in range(depth))
    return f"{calls}{start}code{')' * depth} eq '2'"


DEPTHS = (5, 9, 11, 19, 20, 21, 31, 50, 99, 100)
"""Depths at which the parser of a database, or the limit of the service, makes a difference."""


@together(
    ("depth", "levels"), [*product([1, 10, 30, 90], range(4)), *((each, 0) for each in DEPTHS)]
)
def test_deep_conditions_are_right_at_every_place(depth: int, levels: int, deep: Company) -> None:
    """CTEs compute what is too deep for the database, also within `any`."""
    variables = ["", "v/", "w/", "x/"]

    def asked(text: str) -> list[int]:
        for number in range(levels, 0, -1):
            text = f"{variables[number - 1]}copies/any({variables[number][0]}:{text})"
        read = deep.listed("specimensExt", {"$filter": text, "$orderby": "rank"})
        return [int(each["rank"]) for each in read]

    def expected(holds: Callable[[int], bool], rank: int, level: int) -> bool:
        if not level:
            return holds(rank)
        return any(expected(holds, each, level - 1) for each in _copies(rank))

    start = variables[levels]
    for text, holds in (
        (_nested(depth, start), lambda rank: _meant(depth, rank)),
        (_calls(depth, start), lambda rank: rank == 2),
    ):
        assert asked(text) == [rank for rank in range(12) if expected(holds, rank, levels)]
