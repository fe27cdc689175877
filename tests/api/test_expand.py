"""`$expand`: related records are within a record, as in a list of their own."""

from collections.abc import Iterable

import pytest

from support.client import Query, Record, encoded
from support.companies import Company
from support.contract import without_control
from support.refusals import refusal
from support.service import Service
from support.together import together

ITEMS = {f"I{number}": f"{number:08d}-0000-4000-8000-000000000001" for number in range(3)}
PRICES = 3
FIRM, ANN, BOB, LONE = (f"{number:08d}-0000-4000-8000-000000000002" for number in range(4))


@pytest.fixture(scope="module")
def shop(service: Service) -> Company:
    """Items with none, some and several prices and translations; a firm with two persons."""
    company = service.new_company()
    items: list[Record] = [{"id": key, "number": name} for name, key in ITEMS.items()]
    company.load("itemsExt", *items)
    company.load("itemsExt", {"id": "99999999-0000-4000-8000-000000000001", "number": "blank"})
    company.load(
        "salesPricesExt",
        *_rows(
            {
                "entryNo": 10 * item + number,
                "assetType": "Item",
                "assetNumber": f"I{item}",
                "unitPrice": number,
            }
            for item in range(1, 3)
            for number in range(PRICES * item)
        ),
        {"entryNo": 90, "assetType": "Resource", "assetNumber": "I1", "unitPrice": 1},
        {"entryNo": 91, "assetType": "Item", "assetNumber": "", "unitPrice": 1},
    )
    company.load(
        "itemTranslationsExt",
        {"itemNo": "I1", "languageCode": "DEU", "description": "Tisch"},
        {"itemNo": "I1", "languageCode": "FRA", "description": "table"},
    )
    company.load(
        "contactsExt",
        {"id": FIRM, "number": "F", "type": "Company", "displayName": "Firm", "companyNumber": ""},
        {"id": ANN, "number": "A", "type": "Person", "displayName": "Ann", "companyNumber": "F"},
        {"id": BOB, "number": "B", "type": "Person", "displayName": "Bob", "companyNumber": "F"},
        {"id": LONE, "number": "", "type": "Person", "displayName": "Lone", "companyNumber": ""},
    )
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


def test_related_records_are_complete_within_a_record(shop: Company) -> None:
    items = listed(shop, "itemsExt", "$expand=prices&$orderby=number")

    by_number = {item["number"]: item for item in items}
    assert entries(by_number["I0"]["prices"]) == []
    assert entries(by_number["I1"]["prices"]) == [10, 11, 12]
    assert entries(by_number["I2"]["prices"]) == [20, 21, 22, 23, 24, 25]
    prices = by_number["I1"]["prices"]
    assert isinstance(prices, list)
    alone = shop.record("salesPricesExt(10)")
    assert {name: value for name, value in alone.items() if name != "@odata.context"} == prices[0]


def test_a_single_record_is_expanded_like_a_list(shop: Company) -> None:
    one = shop.get(f"itemsExt({ITEMS['I1']})", "$expand=prices,translations").json()
    many = listed(shop, "itemsExt", "$filter=number eq 'I1'&$expand=prices,translations")

    assert one.pop("@odata.context").endswith("/itemsExt(prices(),translations())/$entity")
    assert [one] == many


def test_a_single_related_record_is_an_object_or_null(shop: Company) -> None:
    people = listed(shop, "contactsExt", "$expand=company&$orderby=displayName")

    shown = {
        each["displayName"]: isinstance(each["company"], dict) and each["company"]["displayName"]
        for each in people
    }
    assert shown == {"Ann": "Firm", "Bob": "Firm", "Firm": False, "Lone": False}
    assert people[2]["company"] is None


@together(
    ("options", "found"),
    [
        ("$filter=unitPrice gt 3", [24, 25]),
        ("$filter=unitPrice eq 99", []),
        ("$orderby=unitPrice desc", [25, 24, 23, 22, 21, 20]),
        ("$top=2", [20, 21]),
        ("$top=0", []),
        ("$top=99", [20, 21, 22, 23, 24, 25]),
        ("$skip=4", [24, 25]),
        ("$skip=99", []),
        ("$orderby=unitPrice desc;$skip=1;$top=2", [24, 23]),
        ("filter=contains(assetNumber,';');orderby=entryNo", []),
        ("filter=contains(assetNumber,'I2');orderby=entryNo;top=1", [20]),
    ],
)
def test_nested_options_select_related_records(
    options: str, found: list[int], shop: Company
) -> None:
    items = listed(shop, "itemsExt", {"$filter": "number eq 'I2'", "$expand": f"prices({options})"})

    assert entries(items[0]["prices"]) == found


def test_nested_options_use_the_aliases_of_the_request(shop: Company) -> None:
    expand = {"$expand": "prices($filter=unitPrice gt @least;$orderby=@by desc)"}
    values = {"@least": "@low add 1", "@low": "2", "@by": "unitPrice"}

    items = listed(shop, "itemsExt", {"$filter": "number eq 'I2'", **expand, **values})

    assert entries(items[0]["prices"]) == [25, 24]


def test_top_and_skip_apply_to_each_record(shop: Company) -> None:
    items = listed(shop, "itemsExt", "$orderby=number&$expand=prices($skip=1;$top=1)")

    found = {item["number"]: entries(item["prices"]) for item in items}
    assert found == {"I0": [], "I1": [11], "I2": [21], "blank": []}


def test_select_applies_within_expand_and_outside_it(shop: Company) -> None:
    query = "$filter=number eq 'I1'&$select=number&$expand=prices($select=entryNo,unitPrice;$top=1)"
    answer = shop.get("itemsExt", query).json()

    assert answer["@odata.context"].endswith("itemsExt(number,prices(entryNo,unitPrice))")
    item = answer["value"][0]
    assert list(without_control(item)) == ["number", "prices"]
    assert without_control(item["prices"][0]) == {"entryNo": 10, "unitPrice": 0}


def test_a_count_is_beside_the_related_records(shop: Company) -> None:
    query = "$orderby=number&$expand=prices($count=true;$filter=unitPrice gt 0;$top=1)"
    items = listed(shop, "itemsExt", query)

    assert [item["prices@odata.count"] for item in items] == [0, 2, 5, 0]
    assert [entries(item["prices"]) for item in items] == [[], [11], [21], []]


def test_a_count_alone_replaces_the_related_records(shop: Company) -> None:
    items = listed(
        shop, "itemsExt", "$orderby=number&$expand=prices/$count($filter=unitPrice gt 0)"
    )

    assert [item["prices@odata.count"] for item in items] == [0, 2, 5, 0]
    assert "prices" not in items[1]


def test_references_replace_the_related_records(shop: Company) -> None:
    items = listed(shop, "itemsExt", "$filter=number eq 'I1'&$expand=prices/$ref($top=1)")

    assert items[0]["prices"] == [{"@odata.id": f"{shop.root}/salesPricesExt(10)"}]


def test_a_star_expands_all(shop: Company) -> None:
    item = listed(shop, "itemsExt", "$filter=number eq 'I1'&$expand=*")[0]

    assert entries(item["prices"]) == [10, 11, 12]
    assert all(isinstance(item[name], list) for name in ("references", "attributes"))


def test_expansions_nest(shop: Company) -> None:
    query = "$expand=people($orderby=number;$select=number;$expand=company($select=number))"
    firm = shop.get(f"contactsExt({FIRM})", query).json()

    assert [each["number"] for each in firm["people"]] == ["A", "B"]
    assert all(without_control(each["company"]) == {"number": "F"} for each in firm["people"])


def test_levels_repeat_the_same_expansion(shop: Company) -> None:
    ann = shop.get(f"contactsExt({ANN})", "$expand=company($levels=2)").json()

    assert ann["company"]["number"] == "F"
    assert ann["company"]["company"] is None


def test_a_link_leads_to_records_that_do_not_fit(service: Service, shop: Company) -> None:
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

    expected = [n for rest in (6, 5, 4, 2, 1, 0) for n in range(2_345) if n % 7 == rest]
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


def test_pages_are_expanded_on_every_page(shop: Company) -> None:
    found: dict[object, int] = {}
    answer = shop.get(
        "itemsExt", "$expand=prices&$orderby=number", {"Prefer": "odata.maxpagesize=1"}
    )
    while True:
        body = answer.json()
        found |= {each["number"]: len(each["prices"]) for each in body["value"]}
        if "@odata.nextLink" not in body:
            break
        answer = shop.follow(body["@odata.nextLink"])

    assert found == {"I0": 0, "I1": 3, "I2": 6, "blank": 0}


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


def test_a_fault_in_a_nested_option_has_its_column(shop: Company) -> None:
    error = refusal(
        shop.get("itemsExt", {"$expand": "translations,prices($filter=unitPrise gt 1)"}),
        "BadRequest_InvalidRequestUrl",
    )

    assert "unitPrise" in error.message
    assert "at column 29 of $expand" in error.message
    assert "Did you mean unitPrice?" in error.message


def test_levels_of_a_star_repeat_all_expansions(shop: Company) -> None:
    firm = shop.get(f"contactsExt({FIRM})", "$expand=*($levels=2)").json()

    ann = next(each for each in firm["people"] if each["number"] == "A")
    assert (ann["people"], ann["company"]["number"]) == ([], "F")
    assert "people" not in ann["company"]
    assert firm["company"] is None


def test_max_levels_are_the_remaining_ones(shop: Company) -> None:
    query = "$expand=company($select=number;$expand=people($levels=max;$select=number))"
    ann = shop.get(f"contactsExt({ANN})", query).json()

    assert [each["number"] for each in ann["company"]["people"]] == ["A", "B"]
    assert ann["company"]["people"][0]["people"] == []
