"""`$apply`: the results of transformations, and their form in a response."""

from collections.abc import Mapping
from decimal import Decimal

import httpx
import msgspec
import pytest

from support.client import Record
from support.companies import Cell, Company
from support.samples import ITEM
from support.service import Service
from support.together import together

FIRM = "11111111-1111-4111-8111-111111111111"
Row = Mapping[str, object]


class Result(msgspec.Struct):
    value: list[dict[str, object]]
    context: str = msgspec.field(default="", name="@odata.context")
    count: int | None = msgspec.field(default=None, name="@odata.count")
    next_link: str | None = msgspec.field(default=None, name="@odata.nextLink")


def result(response: httpx.Response) -> Result:
    assert response.status_code == 200, response.text
    return msgspec.json.decode(response.content, type=Result)


def rows(company: Company, apply: str, path: str = "salesPricesExt", **others: str) -> list[Row]:
    """The rows of a result without their `@odata.id`, which is null."""
    query = {"$apply": apply, **{f"${name}": text for name, text in others.items()}}
    found = result(company.get(path, query))
    assert found.next_link is None
    assert all(row.pop("@odata.id", "none") is None for row in found.value)
    return list(found.value)


PRICES: list[Record] = [
    {"entryNo": 1, "assetNumber": "A", "unitOfMeasure": "PCS", "quantity": 1, "unitPrice": 0.1},
    {"entryNo": 2, "assetNumber": "A", "unitOfMeasure": "BOX", "quantity": 10, "unitPrice": 0.2},
    {"entryNo": 3, "assetNumber": "B", "unitOfMeasure": "PCS", "quantity": 1, "unitPrice": 5},
    {"entryNo": 4, "assetNumber": "B", "unitOfMeasure": "PCS", "quantity": 2, "unitPrice": 7},
    {"entryNo": 5, "assetNumber": "é", "unitOfMeasure": "BOX", "quantity": 0, "unitPrice": -3},
]


@pytest.fixture(scope="module")
def prices(service: Service) -> Company:
    company = service.new_company()
    company.load("salesPricesExt", *PRICES)
    return company


def test_an_alias_named_like_a_text_without_limit_has_the_type_of_its_aggregate(
    company: Company,
) -> None:
    texts = [
        {"systemId": key, "languageCode": code, "base64Text": "eA=="}
        for key, code in ((ITEM, "A"), (FIRM, "B"))
    ]
    company.load("ItemProductTextLongContentsExt", *texts)
    apply = (
        "groupby((languageCode),aggregate(base64Text with countdistinct as base64Text))"
        "/compute(concat(cast(base64Text,Edm.String),languageCode) as text)"
        "/orderby(base64Text,languageCode desc)"
    )

    assert rows(company, apply, "ItemProductTextLongContentsExt") == [
        {
            "languageCode": code,
            "base64Text@odata.type": "#Decimal",
            "base64Text": 1,
            "text": f"1{code}",
        }
        for code in ("B", "A")
    ]


def test_rows_have_no_address_and_no_tag(prices: Company) -> None:
    answer = prices.get("salesPricesExt", {"$apply": "aggregate($count as n)"})

    assert answer.json() == {
        "@odata.context": f"{prices.root.rpartition('/')[0]}/$metadata#companies({prices.id})"
        "/salesPricesExt(n)",
        "value": [{"@odata.id": None, "n": 5}],
    }
    assert answer.headers["odata-version"] == "4.0"
    assert "etag" not in answer.headers


TYPED = (
    "groupby((assetNumber,pricesIncludeTax),aggregate($count as n,unitPrice with sum as s,"
    "entryNo with sum as e,entryNo with max as last))"
)


def test_numbers_beyond_a_double_are_texts_with_ieee754_compatible(own_stock: Company) -> None:
    exact = {"Accept": "application/json;IEEE754Compatible=true"}
    query = {"$apply": TYPED, "$count": "true"}

    body = own_stock.get("salesPricesExt", query, exact).json()

    (row,) = body["value"]
    assert (row["n"], row["s"], row["e"], row["last"]) == ("1", "33.6442", "17", 17)
    assert body["@odata.count"] == "1"


def test_grouping_along_navigation_nests_the_properties(company: Company) -> None:
    company.load(
        "contactsExt",
        *(
            {"number": number, "type": kind, "displayName": name, "companyNumber": firm}
            for number, kind, name, firm in (
                ("F", "Company", "Firm", ""),
                ("A", "Person", "Ann", "F"),
                ("B", "Person", "Bob", "F"),
                ("C", "Person", "Cid", ""),
            )
        ),
    )
    apply = "groupby((company/number,type,company/displayName),aggregate($count as n))"

    assert rows(company, apply, "contactsExt") == [
        {"company": None, "type": "Company", "n": 1},
        {"company": None, "type": "Person", "n": 1},
        {"company": {"number": "F", "displayName": "Firm"}, "type": "Person", "n": 2},
    ]
    query = {"$apply": apply, "$filter": "company/number eq 'F'", "$select": "company,n"}
    answer = result(company.get("contactsExt", query))
    assert answer.context.endswith("/contactsExt(company(number,displayName),n)")
    assert answer.value[0]["company"] == {"number": "F", "displayName": "Firm"}
    apply = "aggregate(company with countdistinct as firms,company/number with max as last)"
    assert rows(company, apply, "contactsExt") == [{"firms": 1, "last": "F"}]
    assert rows(company, "aggregate($count as company)", "contactsExt") == [{"company": 4}]


def test_rows_that_are_not_aggregated_are_records(prices: Company) -> None:
    apply = "filter(unitPrice gt 0)/compute(unitPrice mul 2 as twice)/orderby(twice desc)/top(3)"
    query = {"$apply": apply, "$select": "entryNo,twice", "$filter": "entryNo ne 4"}

    answer = prices.get("salesPricesExt", query)

    found = result(answer)
    assert found.context.endswith("/salesPricesExt(entryNo,twice)")
    assert [(row["entryNo"], row["twice"]) for row in found.value] == [(3, 10), (2, 0.4)]
    tag = prices.get("salesPricesExt(3)").headers["etag"]
    assert found.value[0]["@odata.etag"] == tag


@together("apply", ["identity", "filter(true)", "top(9)", "skip(0)/identity"])
def test_pipelines_without_effect_return_the_collection(apply: str, prices: Company) -> None:
    plain, applied = (prices.get("salesPricesExt", query) for query in ("", {"$apply": apply}))
    named = {"OData-Version": "4.0"}

    assert applied.json() == prices.get("salesPricesExt", "", named).json() == plain.json()


def test_a_pipeline_reads_the_records_of_the_path(company: Company) -> None:
    company.load("itemsExt", {"id": ITEM, "number": "A"}, {"id": FIRM, "number": "B"})
    company.load("salesPricesExt", *({**each, "assetType": "Item"} for each in PRICES))

    apply = "groupby((unitOfMeasure),aggregate($count as n))"
    assert rows(company, apply, f"itemsExt({FIRM})/prices") == [{"unitOfMeasure": "PCS", "n": 2}]
    assert company.get(f"itemsExt({ITEM})/prices/$count", {"$apply": apply}).text == "2"


def test_only_companies_of_the_token_are_aggregated(service: Service) -> None:
    company = service.new_company("Aggregated")
    own = service.client.using(service.tokens.issue(companies=[company.id]))

    answer = own.get("companies", {"$apply": "groupby((name),aggregate($count as n))"})

    assert result(answer).value == [{"@odata.id": None, "name": "Aggregated", "n": 1}]


def test_sums_are_exact_beyond_64_bits(company: Company) -> None:
    """Eleven of the largest Decimals exceed 64 bits; ten negative ones leave one of them."""
    signs = [1] * 11 + [-1] * 10
    company.load(
        "salesPricesExt",
        *(
            {"entryNo": number - 2**31, "unitPrice": sign * 9_999_999_999_999, "quantity": 1}
            for number, sign in enumerate(signs)
        ),
    )

    items = "unitPrice with sum as s,unitPrice mul 1.0 with sum as w,entryNo with sum as e"
    (row,) = rows(company, f"aggregate({items})")

    assert row == {"s": 9_999_999_999_999, "w": 9_999_999_999_999, "e": 210 - 21 * 2**31}


def _price(number: int, price: Decimal) -> dict[str, Cell]:
    return {"entryNo": number, "unitPrice": price}


@together(
    ("units", "mean"),
    [((1, 2), "0.00002"), ((1, 4), "0.00002"), ((-1, -2), "-0.00002"), ((1, 1, 2), "0.00001")],
)
@together("of", ["unitPrice", "unitPrice mul 1.0"])
def test_averages_are_rounded_half_even(
    of: str, units: tuple[int, ...], mean: str, company: Company
) -> None:
    company.load(
        "salesPricesExt",
        *(_price(number, Decimal(unit).scaleb(-5)) for number, unit in enumerate(units)),
    )
    exact = {"Accept": "application/json;IEEE754Compatible=true"}

    answer = company.get("salesPricesExt", {"$apply": f"aggregate({of} with average as a)"}, exact)

    assert result(answer).value[0]["a"] == mean


def test_text_is_grouped_and_sorted_by_code_point(company: Company) -> None:
    texts = ["a", "A", "ä", "ß", "ss", "\uffff", "😀", "a "]
    company.load(
        "shippingAgentsExt",
        *({"code": f"{number}", "name": name} for number, name in enumerate(texts * 2)),
    )

    found = rows(company, "groupby((name),aggregate($count as n))", "shippingAgentsExt")
    assert found == [{"name": name, "n": 2} for name in sorted(texts)]
    apply = "aggregate(name with countdistinct as d,name with max as last)"
    assert rows(company, apply, "shippingAgentsExt") == [{"d": len(texts), "last": "😀"}]


def test_the_metadata_lists_aggregation_methods(service: Service) -> None:
    accept = {"Accept": "application/json"}
    document = service.client.get("$metadata", headers=accept).json()

    def find(node: object) -> list[dict[str, object]]:
        if not isinstance(node, dict):
            return []
        own = (
            [node["@Org.OData.Aggregation.V1.ApplySupported"]]
            if "@Org.OData.Aggregation.V1.ApplySupported" in node
            else []
        )
        return own + [each for held in node.values() for each in find(held)]

    supported = find(document)
    assert supported
    for each in supported:
        assert each["From"] is False
        transformations = each["Transformations"]
        assert isinstance(transformations, list)
        assert {"filter", "groupby", "aggregate", "compute"} <= set(transformations)
        assert "concat" not in transformations
