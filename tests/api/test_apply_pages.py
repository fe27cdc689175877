"""Pages of aggregated results have every group once."""

from collections.abc import Iterator

import httpx
import msgspec
import pytest

from support.companies import Cell, Company
from support.refusals import refusal
from support.service import Service, StartService
from support.together import together

Row = dict[str, object]
GROUPS = 23


class Page(msgspec.Struct):
    value: list[Row]
    next_link: str | None = msgspec.field(default=None, name="@odata.nextLink")
    count: int | None = msgspec.field(default=None, name="@odata.count")


def page(response: httpx.Response) -> Page:
    assert response.status_code == 200, response.text
    return msgspec.json.decode(response.content, type=Page)


def pages(company: Company, query: dict[str, str], size: int, path: str) -> Iterator[list[Row]]:
    headers = {"Prefer": f"odata.maxpagesize={size}"}
    response = company.get(path, query, headers)
    assert response.headers["preference-applied"] == f"odata.maxpagesize={size}"
    read = page(response)
    while read.next_link is not None:
        assert len(read.value) == size
        yield read.value
        read = page(company.follow(read.next_link, headers))
    yield read.value


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
    query = {"$apply": apply, **({"$orderby": order} if order else {})}
    whole = page(prices.get("salesPricesExt", query)).value

    read = [row for rows in pages(prices, query, 5, "salesPricesExt") for row in rows]

    assert read == whole
    assert len(read) == GROUPS


APPLY = "groupby((assetNumber,quantity),aggregate($count as n,entryNo with sum as s))"


@together("size", [1, 5, 22, 23, 24])
@together(
    "order", ["", "assetNumber desc", "n,quantity desc", "n mul 2 desc", "quantity,s desc", "n"]
)
def test_pages_have_every_group_once(size: int, order: str, prices: Company) -> None:
    query = {"$apply": APPLY, **({"$orderby": order} if order else {})}
    whole = page(prices.get("salesPricesExt", query)).value

    read = [row for rows in pages(prices, query, size, "salesPricesExt") for row in rows]

    assert read == whole
    assert len({str(row["assetNumber"]) for row in read}) == GROUPS


@together("descending", ["", " desc"])
def test_a_group_with_a_null_key_is_on_one_page(descending: str, company: Company) -> None:
    company.load(
        "contactsExt",
        *(
            {"number": f"C{number}", "type": "Company", "displayName": "x", "companyNumber": firm}
            for number, firm in enumerate(["", "C0", "C1", "C9", "C0", ""])
        ),
    )
    query = {
        "$apply": "groupby((company/number,number))",
        "$orderby": f"company/number{descending}",
    }

    read = [row for rows in pages(company, query, 1, "contactsExt") for row in rows]

    assert read == page(company.get("contactsExt", query)).value
    firms = [msgspec.convert(row["company"], dict[str, str] | None) for row in read]
    numbers = [None if firm is None else firm["number"] for firm in firms]
    expected = [None, None, None, "C0", "C0", "C1"]
    assert numbers == (expected[::-1] if descending else expected)


def test_groups_created_or_deleted_between_pages_do_not_affect_the_others(company: Company) -> None:
    company.load("salesPricesExt", *(_price(number) for number in range(0, 60, 2)))
    query = {"$apply": "groupby((assetNumber))"}
    read = pages(company, query, 4, "salesPricesExt")
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


@together(("top", "skip", "expected"), [(7, 0, 7), (7, 10, 7), (7, 20, 3), (0, 0, 0), (99, 22, 1)])
def test_top_and_skip_apply_to_the_whole_result(
    top: int, skip: int, expected: int, prices: Company
) -> None:
    query = {"$apply": APPLY, "$top": f"{top}", "$skip": f"{skip}", "$count": "true"}
    whole = page(prices.get("salesPricesExt", {"$apply": APPLY})).value

    read = [row for rows in pages(prices, query, 3, "salesPricesExt") for row in rows]

    assert read == whole[skip : skip + top]
    assert len(read) == expected
    assert page(prices.get("salesPricesExt", query)).count == GROUPS


def test_records_that_are_not_aggregated_are_paged_too(prices: Company) -> None:
    query = {
        "$apply": "filter(quantity gt 0)/orderby(quantity desc,assetNumber)",
        "$select": "entryNo",
    }

    read = [row["entryNo"] for rows in pages(prices, query, 7, "salesPricesExt") for row in rows]

    records = [_price(number) for number in range(60)]
    expected = sorted(
        [each for each in records if int(each["quantity"]) > 0],
        key=lambda each: (-int(each["quantity"]), each["assetNumber"], each["entryNo"]),
    )
    assert read == [each["entryNo"] for each in expected]


def test_one_page_has_thousands_of_groups(company: Company) -> None:
    codes = [f"{number:05}" for number in range(3_000)]
    entries: list[dict[str, Cell]] = [
        {"entryNo": number, "assetNumber": code} for number, code in enumerate(codes)
    ]
    company.load("salesPricesExt", *entries)

    apply = {"$apply": "groupby((assetNumber),aggregate($count as n))"}
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
    company.load("salesPricesExt", *(_price(number) for number in range(20_000)))

    # every record costs so much that the scan of all of them cannot end in time
    unit = "toupper(" * 40 + "unitOfMeasure" + ")" * 40
    answer = company.get("salesPricesExt", {"$apply": f"compute({unit} as u)/groupby((u))"})

    refusal(answer, "Internal_Unavailable")
    assert answer.headers["retry-after"]


def test_all_pages_use_the_time_of_the_first(prices: Company) -> None:
    apply = "compute(now() as at)/groupby((at,assetNumber))"

    read = [row for rows in pages(prices, {"$apply": apply}, 5, "salesPricesExt") for row in rows]

    assert len({str(row["at"]) for row in read}) == 1
    assert len(read) == GROUPS
