"""Pages of aggregated results have every group once; the corpus has their other options."""

import pytest

from support.client import page, pages
from support.companies import Cell, Company
from support.refusals import refusal
from support.service import Service, StartService
from support.together import together

GROUPS = 23
BARE = {"$format": "application/json;odata.metadata=none"}
"""Without the null ids that groups have."""


def _price(number: int) -> dict[str, int | str]:
    group = number % GROUPS
    return {
        "entryNo": number,
        "assetNumber": f"A{group:02}",
        "unitOfMeasure": "PCS" if group % 2 else "BOX",
        "quantity": group % 3,
    }


@pytest.fixture(scope="module")
def prices(service: Service) -> Company:
    """23 assets, A00 to A22, of 2 or 3 prices."""
    company = service.new_company()
    company.load("salesPricesExt", *(_price(number) for number in range(60)))
    return company


@together("order", ["", "quantity", "quantity desc,unitPrice", "unitPrice desc"])
def test_pages_follow_aliases_that_are_named_like_properties(order: str, prices: Company) -> None:
    """The skip token has the values of the aliases, whose types differ from the properties'."""
    apply = (
        "groupby((assetNumber),aggregate($count as quantity,unitOfMeasure with max as unitPrice))"
    )
    query = {**BARE, "$apply": apply, **({"$orderby": order} if order else {})}
    whole = page(prices.get("salesPricesExt", query)).value

    read = [row for rows in pages(prices, "salesPricesExt", query, 5) for row in rows]

    assert read == whole
    assert len(read) == GROUPS


APPLY = "groupby((assetNumber,quantity),aggregate($count as n,entryNo with sum as s))"


@together("size", [1, 5, 22, 23, 24])
@together(
    "order", ["", "assetNumber desc", "n,quantity desc", "n mul 2 desc", "quantity,s desc", "n"]
)
def test_pages_have_every_group_once(size: int, order: str, prices: Company) -> None:
    query = {**BARE, "$apply": APPLY, **({"$orderby": order} if order else {})}
    whole = page(prices.get("salesPricesExt", query)).value

    read = [row for rows in pages(prices, "salesPricesExt", query, size) for row in rows]

    assert read == whole
    assert len({str(row["assetNumber"]) for row in read}) == GROUPS


def test_groups_created_or_deleted_between_pages_do_not_affect_the_others(company: Company) -> None:
    company.load("salesPricesExt", *(_price(number) for number in range(0, 60, 2)))
    query = {**BARE, "$apply": "groupby((assetNumber))"}
    read = pages(company, "salesPricesExt", query, 4)
    stay = [row["assetNumber"] for row in page(company.get("salesPricesExt", query)).value]

    found = [row["assetNumber"] for row in next(read)]
    for number, rows in enumerate(read):
        found += [row["assetNumber"] for row in rows]
        company.load(
            "salesPricesExt",
            {"entryNo": 1000 + number, "assetNumber": f"0{number}"},
            {"entryNo": 2000 + number, "assetNumber": f"A99{number}"},
        )

    assert [each for each in found if each in stay] == stay
    assert len(found) == len(set(found))


def test_one_page_has_thousands_of_groups(company: Company) -> None:
    codes = [f"{number:05}" for number in range(3_000)]
    entries: list[dict[str, Cell]] = [
        {"entryNo": number, "assetNumber": code} for number, code in enumerate(codes)
    ]
    company.load("salesPricesExt", *entries)

    apply = {**BARE, "$apply": "groupby((assetNumber),aggregate($count as n))"}
    first = page(company.get("salesPricesExt", apply))
    whole = page(company.get("salesPricesExt", apply, {"Prefer": "odata.maxpagesize=20000"}))

    assert [row["assetNumber"] for row in whole.value] == [
        f"{number:05}" for number in range(3_000)
    ]
    assert first.value == whole.value[:1_000]
    assert whole.next_link is None


def test_a_result_that_takes_too_long_is_503(start_service: StartService) -> None:
    hurried = start_service(scan_seconds=0.000_001)
    company = hurried.new_company()
    company.load("salesPricesExt", *(_price(number) for number in range(5_000)))

    # every record costs so much that the scan of all of them cannot end in time
    unit = "toupper(" * 40 + "unitOfMeasure" + ")" * 40
    answer = company.get("salesPricesExt", {**BARE, "$apply": f"compute({unit} as u)/groupby((u))"})

    refusal(answer, "Internal_Unavailable")
    assert answer.headers["retry-after"]


def test_all_pages_use_the_time_of_the_first(prices: Company) -> None:
    apply = "compute(now() as at)/groupby((at,assetNumber))"

    read = [
        row
        for rows in pages(prices, "salesPricesExt", {**BARE, "$apply": apply}, 5)
        for row in rows
    ]

    assert len({str(row["at"]) for row in read}) == 1
    assert len(read) == GROUPS
