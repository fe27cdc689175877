"""Pages have every record once, whatever is written between two of them."""

import pytest

from comptoir.plan.pages import SkipToken, encode_skip
from support.client import Page, page, pages
from support.companies import Company
from support.databases import ON_SQLITE
from support.refusals import refusal
from support.service import StartService
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
