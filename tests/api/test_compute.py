"""`$compute`: properties that a request adds to records."""

from support.client import encoded
from support.companies import Company
from support.refusals import refusal
from support.samples import PATHS

PRICE = PATHS["salesPricesExt"]


def test_without_a_selection_it_follows_all_properties(stocked: Company) -> None:
    read = stocked.get(PRICE, {"$compute": "unitPrice mul 2 as twice,1 as one"}).json()

    assert list(read)[-3:] == ["campaignNumber", "twice", "one"]
    assert (read["twice"], read["one"]) == (67.2884, 1)


def test_a_computed_value_filters_and_sorts(company: Company) -> None:
    company.load(
        "salesPricesExt",
        *({"entryNo": number, "quantity": number % 3, "unitPrice": number} for number in range(9)),
    )
    query = {
        "$compute": "unitPrice mul quantity as amount",
        "$filter": "amount gt 0",
        "$orderby": "amount desc,entryNo",
        "$select": "entryNo,amount",
    }

    found: list[tuple[int, int]] = []
    answer = company.get("salesPricesExt", query, {"Prefer": "odata.maxpagesize=2"})
    while True:
        body = answer.json()
        found += [(each["entryNo"], each["amount"]) for each in body["value"]]
        if "@odata.nextLink" not in body:
            break
        answer = company.follow(body["@odata.nextLink"])

    expected = [(n, n * (n % 3)) for n in range(9) if n % 3]
    assert found == sorted(expected, key=lambda pair: (-pair[1], pair[0]))


def test_decimals_are_texts_with_ieee754_compatible(stocked: Company) -> None:
    accept = {"Accept": "application/json;IEEE754Compatible=true"}

    read = stocked.get(PRICE, {"$compute": "unitPrice mul 2 as twice"}, accept).json()

    assert read["twice"] == "67.2884"


def test_full_metadata_names_the_type(stocked: Company) -> None:
    accept = {"Accept": "application/json;odata.metadata=full"}

    read = stocked.get(PRICE, {"$compute": "unitPrice mul 2 as twice"}, accept).json()

    assert read["twice@odata.type"] == "#Decimal"


def test_the_length_of_computed_texts_is_limited(stocked: Company) -> None:
    """The greatest possible length of all texts of a record counts, not the actual one."""
    fits = "@a"
    for _ in range(15):
        fits = f"concat(variantCode,{fits})"
    many = ",".join(f"{fits} as x{number}" for number in range(5))
    text = {"@a": "'" + "x" * 4_000 + "'"}

    for compute in (f"{fits} as x", f"substring(concat({fits},''),0,9) as x"):
        found = stocked.get(PRICE, {"$compute": compute, "$select": "x", **text}).json()["x"]
        assert ("RED" * 15 + "x" * 4_000).startswith(found[:9])
    for compute in (f"concat('x',{fits}) as x", many, f"length(concat('x',{fits})) as x"):
        answer = stocked.get(PRICE, {"$compute": compute, **text})
        refusal(answer, "BadRequest_MethodNotImplemented", "$compute")
    for condition in (f"contains({fits},concat({fits},'x'))", f"concat('x',{fits}) eq 'x'"):
        answer = stocked.get("salesPricesExt", {"$filter": condition, **text})
        refusal(answer, "BadRequest_MethodNotImplemented", "$filter")
    long = stocked.get("ItemProductTextLongContentsExt", {"$compute": "concat(base64Text,'') as x"})
    refusal(long, "BadRequest_MethodNotImplemented", "$compute")


def test_a_skip_token_does_not_work_with_another_alias(company: Company) -> None:
    company.load("itemsExt", *({"number": f"{number}"} for number in range(4)))
    first = company.get(
        "itemsExt", encoded({"$filter": "number ne @n", "@n": "'3'"}), {"Prefer": "maxpagesize=2"}
    ).json()["@odata.nextLink"]

    assert len(company.follow(first).json()["value"]) == 1
    stolen = first.replace("%273%27", "%272%27")
    assert stolen != first
    refusal(company.follow(stolen), "BadRequest_InvalidRequestUrl")
