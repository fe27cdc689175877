"""Pages have every record once, whatever is written between two of them."""

import pytest

from comptoir.plan.pages import SkipToken, encode_skip
from comptoir.store.store import SLICE
from support.client import Page, Record, page, pages
from support.companies import Company, Row
from support.corpus import FOLDER
from support.databases import ON_SQLITE
from support.refusals import refusal
from support.replay import load_data
from support.service import StartService
from support.together import together
from support.waiting import until

GUID = "{:08x}-0000-4000-8000-000000000000"


@pytest.fixture
def agents(company: Company) -> Company:
    """23 shipping agents."""
    company.load("shippingAgentsExt", *({"code": f"A{number:02}"} for number in range(23)))
    return company


def test_pages_have_1000_records_by_default_and_up_to_20000(company: Company) -> None:
    company.load("shippingAgentsExt", *({"code": f"{n}"} for n in range(20_002)))

    plain = page(company.get("shippingAgentsExt"))
    preferred = company.get("shippingAgentsExt", headers={"Prefer": "maxpagesize=" + "9" * 5_000})
    largest = page(preferred)

    assert (len(plain.value), len(largest.value)) == (1_000, 20_000)
    assert preferred.headers["preference-applied"] == "maxpagesize=20000"
    assert plain.next_link is not None
    assert largest.next_link is not None
    assert len(page(company.follow(largest.next_link)).value) == 2


def test_a_token_that_the_service_has_not_returned_is_400(
    agents: Company, stocked: Company
) -> None:
    """The checksum has no secret, so the values of a token are checked like any other input."""
    first = page(agents.get("shippingAgentsExt", headers={"Prefer": "maxpagesize=5"}))
    assert first.next_link is not None
    token = first.next_link.partition("$skiptoken=")[2]
    changed = token[:20] + ("A" if token[20] != "A" else "B") + token[21:]
    query = ("shippingAgentsExt", agents.id, "", "")
    values: list[tuple[int, str | int]] = [(-1, "A05"), (5, 10**30), (2**70, "A05")]
    forged = [encode_skip(query, SkipToken(earlier, (value,))) for earlier, value in values]

    for each in (token[:-2], changed, "", *forged):
        answer = agents.get("shippingAgentsExt", {"$skiptoken": each})
        refusal(answer, "BadRequest_InvalidRequestUrl", "$skiptoken")
    elsewhere = stocked.follow(first.next_link.replace(agents.id, stocked.id))
    refusal(elsewhere, "BadRequest_InvalidRequestUrl", "$skiptoken")


def test_a_link_with_long_values_can_be_followed(company: Company) -> None:
    company.load(
        "shippingAgentsExt",
        *({"code": f"{number}", "name": chr(0x1F600 + number) * 4_000} for number in range(3)),
    )

    read = pages(company, "shippingAgentsExt", "$orderby=name", 1)
    assert [each["code"] for records in read for each in records] == ["0", "1", "2"]


@ON_SQLITE
def test_a_page_that_becomes_slow_ends_early_with_a_link_to_the_rest(
    start_service: StartService,
) -> None:
    """Its status has been sent by then. No record is lost, and the next request gets the error.

    SQLite reads in slices, and the first ones take no long time; PostgreSQL refuses at once.
    """
    hurried = start_service(scan_seconds=0.000_001)
    company = hurried.new_company()
    company.load(
        "shippingAgentsExt",
        *(
            {"id": GUID.format(n), "code": f"{n}", "name": "hit" if n < 100 else "miss"}
            for n in range(5_000)
        ),
    )

    # every record costs so much that the scan of all of them cannot end in time
    name = "toupper(" * 40 + "name" + ")" * 40
    query = {"$filter": f"contains({name},'HIT')"}

    def quick_at_first() -> Page | None:
        answer = company.get("shippingAgentsExt", query)
        return page(answer) if answer.is_success else None

    # on a busy machine, even a first slice may take long
    first = until(quick_at_first, "a page of the first slices")
    assert first.next_link is not None
    assert 0 < len(first.value) <= 100
    refusal(company.follow(first.next_link), "Internal_Unavailable")


def test_a_large_page_that_is_sorted_by_no_index_is_whole(company: Company) -> None:
    """The store fetches it in portions, each after the keyset of the one before."""
    names = {f"{number:04}": f"{number % 7}" for number in range(1_500)}
    company.load(
        "contactsExt",
        *(
            {"number": number, "displayName": "x" * 4_000, "name2": name}
            for number, name in names.items()
        ),
    )
    query = {"$orderby": "name2 desc,number", "$skip": "3", "$top": "1490"}

    answer = company.get("contactsExt", query, {"Prefer": "odata.maxpagesize=2000"}).json()

    expected = sorted(names, key=lambda number: (-int(names[number]), number))
    assert [each["number"] for each in answer["value"]] == expected[3:1_493]
    assert "@odata.nextLink" not in answer


def test_all_pages_have_the_time_of_the_first(company: Company) -> None:
    """The cursor of a page is computed with the time of the first page."""
    load_data(company, FOLDER / "contacts")
    order, past = "now() sub lastModifiedDateTime,number", "now() gt 2024-01-01T00:00:00Z"
    query = {"$orderby": order, "$filter": past}
    read = pages(company, "contactsExt", query, 2)
    found = [str(each["number"]) for records in read for each in records]

    assert sorted(found) == ["", "C1", "C2", "P1", "P2", "P3", "P4"]


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

    assert "divisor is zero" in refusal(answer, "BadRequest_InvalidRequestUrl").message
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
    error = refusal(attributes.follow(read.next_link), "BadRequest_InvalidRequestUrl")
    assert "divisor is zero" in error.message
