"""`/$count`: the number of matching records."""

import pytest

from conftest import stock
from support.companies import Company
from support.samples import ITEM
from support.service import Service

NUMBERS = ("A", "B", "C", "D")


@pytest.fixture(scope="module")
def items(service: Service) -> Company:
    company = service.new_company()
    stock(company)
    company.load("itemsExt", *({"number": number} for number in NUMBERS))
    return company


@pytest.mark.parametrize(
    "query",
    [
        "$top=1",
        "$top=0",
        "$skip=2",
        "$skip=99",
        "$orderby=number desc",
        "$orderby=length(displayName) mul 2,number",
        "$orderby=1 div (length(displayName) sub length(displayName))",
        "$select=number",
        "$expand=prices",
        "$expand=prices($filter=unitPrice gt 1;$top=1)",
        "top=1&skip=1&orderby=number&select=number&expand=prices",
    ],
)
def test_options_that_sort_page_and_select_do_not_affect_a_count(
    query: str, items: Company
) -> None:
    """OData Protocol 4.01, section 11.2.10."""
    assert items.get("itemsExt/$count", query).text == "5"
    assert items.get("itemsExt/$count", f"{query}&$filter=number in ('A','B')").text == "2"
    assert items.get("itemsExt/$count", f"{query}&$search=zzz").text == "0"
    assert items.get("itemsExt/$count", f"{query}&$apply=filter(number eq 'A')").text == "1"


@pytest.mark.parametrize(
    "query", ["$top=1", "$skip=1", "$orderby=n desc", "$orderby=1 div (n sub n)", "$select=n"]
)
def test_they_do_not_affect_the_count_of_a_result(query: str, items: Company) -> None:
    grouped = "groupby((number),aggregate($count as n))"

    assert items.get("itemsExt/$count", f"$apply={grouped}&{query}").text == "5"


def test_they_do_not_affect_a_count_by_navigation(items: Company) -> None:
    for query in ("$top=0", "$skip=1", "$orderby=unitPrice", "$select=unitPrice", "$expand=*"):
        assert items.get(f"itemsExt({ITEM})/prices/$count", query).text == "1"
