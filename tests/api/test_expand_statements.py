"""One statement reads the related records of all records of a page, and each gets its own."""

from collections.abc import Mapping
from itertools import cycle

import pytest

from support.client import encoded
from support.companies import Company, Row
from support.service import Service
from support.statements import reading, statements_of
from support.together import together

MANY = 300
"""More records than the store expands at once."""
BY_COLUMNS = "application/json;odata.metadata=full"
"""Without $expand, the other formats are read in larger slices."""


@pytest.fixture(scope="module")
def shop(service: Service) -> Company:
    """Items with two prices and a translation each; a firm for each ten persons."""
    company = service.new_company()
    numbers = [f"I{number:03d}" for number in range(MANY)]
    company.load("itemsExt", *({"number": number} for number in numbers))
    prices: list[Row] = [
        {"entryNo": at, "assetType": "Item", "assetNumber": numbers[at % MANY]}
        for at in range(1, 2 * MANY + 1)
    ]
    company.load("salesPricesExt", *prices)
    texts = ({"itemNo": each, "languageCode": "DEU", "description": "x"} for each in numbers)
    company.load("itemTranslationsExt", *texts)
    firms = [f"F{at}" for at in range(MANY // 10)]
    kind = {"type": "Company", "displayName": "Firm", "companyNumber": ""}
    company.load("contactsExt", *({"number": firm, **kind} for firm in firms))
    person = {"type": "Person", "displayName": "Person"}
    of_firms = zip(range(MANY), cycle(firms), strict=False)
    people = ({"number": f"P{at}", "companyNumber": firm, **person} for at, firm in of_firms)
    company.load("contactsExt", *people)
    return company


def reads(company: Company, path: str, options: Mapping[str, str | int]) -> int:
    """The number of statements that read records for a response."""
    query = encoded(options)
    answer, statements = statements_of(lambda: company.get(path, query))
    assert len(answer.json()["value"]) == options["$top"], answer.text
    return reading(statements)


EXPANDED = [
    ("itemsExt", "prices", 1),
    ("itemsExt", "prices,translations", 2),
    ("itemsExt", "prices($filter=unitPrice ge 0;$orderby=unitPrice;$top=1)", 1),
    ("itemsExt", "prices/$count", 1),
    ("itemsExt", "prices($count=true)", 2),
    ("contactsExt", "company($expand=people($expand=company))", 3),
]
"""What is expanded, and the number of statements for it."""


@together("top", [2, 100])
def test_many_records_take_as_many_statements_as_a_few(top: int, shop: Company) -> None:
    # persons come first, since a firm has no company
    plain: dict[str, str | int] = {"$top": top, "$orderby": "number desc", "$format": BY_COLUMNS}
    alone = {path: reads(shop, path, plain) for path in ("itemsExt", "contactsExt")}

    for path, expand, added in EXPANDED:
        assert reads(shop, path, {**plain, "$expand": expand}) == alone[path] + added, expand


def test_each_of_many_records_has_its_own(shop: Company) -> None:
    items = shop.get("itemsExt", "$expand=prices&$select=number&$orderby=number").json()["value"]

    found = [[price["entryNo"] for price in item["prices"]] for item in items]
    assert found == [[MANY, 2 * MANY], *([number, MANY + number] for number in range(1, MANY))]


def test_levels_of_a_star_repeat_all_expansions(shop: Company) -> None:
    firm = shop.get("contactsExt(number='F0')", "$expand=*($levels=2)").json()

    person = next(each for each in firm["people"] if each["number"] == "P0")
    assert (person["people"], person["company"]["number"]) == ([], "F0")
    assert "people" not in person["company"]
    assert firm["company"] is None
