"""`$apply`: the results of transformations, and their form in a response."""

from collections.abc import Mapping
from decimal import Decimal

from support.client import Client
from support.companies import Cell, Company
from support.service import Service
from support.together import together

Row = Mapping[str, object]


def rows(
    client: Client, path: str, apply: str, headers: Mapping[str, str] | None = None
) -> list[Row]:
    """The rows of a result without their `@odata.id`, which is null."""
    answer = client.get(path, {"$apply": apply}, headers)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, object]] = answer.json()["value"]
    assert all(row.pop("@odata.id", "none") is None for row in found)
    return list(found)


def test_only_companies_of_the_token_are_aggregated(service: Service) -> None:
    company = service.new_company("Aggregated")
    own = service.client.using(service.tokens.issue(companies=[company.id]))

    found = rows(own, "companies", "groupby((name),aggregate($count as n))")

    assert found == [{"name": "Aggregated", "n": 1}]


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
    (row,) = rows(company, "salesPricesExt", f"aggregate({items})")

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

    assert rows(company, "salesPricesExt", f"aggregate({of} with average as a)", exact) == [
        {"a": mean}
    ]


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
