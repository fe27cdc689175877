"""`$apply`: its limits, and pages that have every group once; the corpus has what it returns."""

import pytest

from support.client import page, pages
from support.companies import Company, Row
from support.refusals import refusal
from support.service import Service, StartService
from support.together import together


def _nested(depth: int, innermost: str) -> str:
    return "(" * depth + innermost + " add 1)" * depth


_DEEP = _nested(60, "quantity")


@together(
    ("apply", "status"),
    [
        ("/".join(f"compute({_nested(5, 'quantity')} as a{n})" for n in range(40)), 200),
        ("/".join(f"compute({_nested(90, 'quantity')} as a{n})" for n in range(12)), 501),
        (f"aggregate({','.join(f'{_DEEP} with sum as a{n}' for n in range(15))})", 200),
        ("/".join(["groupby((assetNumber,quantity))"] * 40), 200),
        ("/".join(["top(5)/skip(1)"] * 20), 200),
        (f"groupby(({','.join(['assetNumber'] * 900)}))", 200),
        (f"aggregate({','.join(f'$count as n{n}' for n in range(900))})", 200),
        ("/".join(["search(a OR b AND NOT c)"] * 40), 200),
        ("identity/" * 1_500 + "identity", 400),
        ("groupby((a)," * 101 + "identity" + ")" * 101, 400),
        ("top(99999999999999999999999)/skip(99999999999999999999999)", 200),
    ],
)
def test_hostile_sizes_get_a_response(apply: str, status: int, stocked: Company) -> None:
    answer = stocked.get("salesPricesExt", f"$apply={apply}".replace(" ", "+"))

    assert answer.status_code == status, answer.text


def test_the_size_of_repeated_aliases_is_limited(stocked: Company) -> None:
    apply = "/".join(f"compute(@p as a{number})" for number in range(40))
    query = {"$apply": apply, "@p": _nested(80, "quantity")}

    error = refusal(stocked.get("salesPricesExt", query), "BadRequest_InvalidRequestUrl", "$apply")

    assert "limit of 2500 parts" in error.message


def test_the_length_of_joined_texts_is_limited(company: Company) -> None:
    """Each transformation doubles the text of the one before, under another name."""
    doubled = "/".join(f"compute(concat(t{n},t{n}) as t{n + 1})" for n in range(1, 8))
    aggregated = "aggregate(displayName with max as t1)"

    for first in ("compute(displayName as t1)", aggregated):
        answer = company.get("itemsExt", {"$apply": f"{first}/{doubled}"})

        error = refusal(answer, "BadRequest_MethodNotImplemented", "$apply")
        assert "more than 64000 characters" in error.message


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


WITH_NUMBERS = "groupby((assetNumber,quantity),aggregate($count as n,entryNo with sum as s))"
LIKE_PROPERTIES = (
    "groupby((assetNumber),aggregate($count as quantity,unitOfMeasure with max as unitPrice))"
)
"""Aliases whose types differ from those of the properties that have the same names."""
ORDERS = {
    WITH_NUMBERS: (
        "",
        "assetNumber desc",
        "n,quantity desc",
        "n mul 2 desc",
        "quantity,s desc",
        "n",
    ),
    LIKE_PROPERTIES: ("", "quantity", "quantity desc,unitPrice", "unitPrice desc"),
}


@together("size", [1, 5, 22, 23, 24])
@together(("apply", "order"), [(apply, order) for apply in ORDERS for order in ORDERS[apply]])
def test_pages_have_every_group_once(apply: str, order: str, size: int, prices: Company) -> None:
    """The skip token has the values of the aliases."""
    query = {**BARE, "$apply": apply, **({"$orderby": order} if order else {})}
    whole = page(prices.get("salesPricesExt", query)).value

    read = [row for rows in pages(prices, "salesPricesExt", query, size) for row in rows]

    assert read == whole
    assert len({str(row["assetNumber"]) for row in read}) == len(read) == GROUPS


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
    prices: list[Row] = [{"entryNo": int(code), "assetNumber": code} for code in codes]
    company.load("salesPricesExt", *prices)

    apply = {**BARE, "$apply": "groupby((assetNumber),aggregate($count as n))"}
    first = page(company.get("salesPricesExt", apply))
    whole = page(company.get("salesPricesExt", apply, {"Prefer": "odata.maxpagesize=20000"}))

    assert [row["assetNumber"] for row in whole.value] == codes
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

    each_page = pages(prices, "salesPricesExt", {**BARE, "$apply": apply}, 5)
    read = [row for rows in each_page for row in rows]

    assert len({str(row["at"]) for row in read}) == 1
    assert len(read) == GROUPS
