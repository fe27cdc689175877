"""`$expand`: related records are within a record, as in a list of their own."""

from collections.abc import Iterable

import pytest

from support.client import Query, Record, encoded
from support.companies import Company
from support.corpus import FOLDER
from support.replay import load_data
from support.service import Service

FIRM = "00000000-0000-4000-8000-000000000002"


@pytest.fixture(scope="module")
def shop(service: Service) -> Company:
    """Items with none, some and several prices and translations; a firm with two persons."""
    company = service.new_company()
    load_data(company, FOLDER / "shop")
    return company


def listed(company: Company, path: str, query: Query) -> list[dict[str, object]]:
    answer = company.get(path, query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, object]] = answer.json()["value"]
    return found


def _rows(rows: Iterable[Record]) -> list[Record]:
    return list(rows)


def entries(of: object) -> list[object]:
    assert isinstance(of, list)
    return [each["entryNo"] for each in of]


def test_a_link_leads_to_records_that_do_not_fit(service: Service) -> None:
    company = service.new_company()
    company.load("itemsExt", {"number": "big"})
    company.load(
        "salesPricesExt",
        *_rows(
            {"entryNo": number, "assetType": "Item", "assetNumber": "big", "unitPrice": number % 7}
            for number in range(2_345)
        ),
    )
    expand = "prices($orderby=unitPrice desc;$filter=unitPrice ne @but)"
    query = encoded({"$expand": expand, "@but": "3"})
    item = listed(company, "itemsExt", query)[0]

    found = entries(item["prices"])
    link = item["prices@odata.nextLink"]
    while link is not None:
        page = company.follow(str(link)).json()
        found += entries(page["value"])
        link = page.get("@odata.nextLink")

    expected = [n for rest in (6, 5, 4, 2, 1, 0) for n in range(2_344, -1, -1) if n % 7 == rest]
    assert found == expected


def test_the_links_of_references_lead_to_references(service: Service) -> None:
    company = service.new_company()
    count = service.settings.page_size + 1
    company.load("itemsExt", {"number": "big"})
    company.load(
        "salesPricesExt",
        *_rows(
            {"entryNo": number, "assetType": "Item", "assetNumber": "big"}
            for number in range(count)
        ),
    )

    [item] = listed(company, "itemsExt", "$expand=prices/$ref")
    rest = company.follow(str(item["prices@odata.nextLink"])).json()

    assert rest["value"] == [{"@odata.id": f"{company.root}/salesPricesExt({count - 1})"}]


def test_many_records_are_expanded(service: Service) -> None:
    company = service.new_company()
    count = 333
    company.load("itemsExt", *_rows({"number": f"{number}"} for number in range(count)))
    company.load(
        "salesPricesExt",
        *_rows(
            {"entryNo": number, "assetType": "Item", "assetNumber": f"{number % count}"}
            for number in range(3 * count)
        ),
    )

    items = listed(company, "itemsExt", "$expand=prices&$select=number")

    expected = {
        str(number): [number, number + count, number + 2 * count] for number in range(count)
    }
    assert {item["number"]: entries(item["prices"]) for item in items} == expected


def test_levels_of_a_star_repeat_all_expansions(shop: Company) -> None:
    firm = shop.get(f"contactsExt({FIRM})", "$expand=*($levels=2)").json()

    ann = next(each for each in firm["people"] if each["number"] == "A")
    assert (ann["people"], ann["company"]["number"]) == ([], "F")
    assert "people" not in ann["company"]
    assert firm["company"] is None
