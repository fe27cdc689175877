"""The limits of computed values, in `$compute`, `$filter` and `$orderby`."""

from support.companies import Company
from support.refusals import refusal
from support.samples import PATHS

PRICE = PATHS["salesPricesExt"]


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


def test_the_keys_of_an_order_are_limited(stocked: Company) -> None:
    """32 keys, and 64,000 characters of text in all: the skip token has all of them."""
    keys = [f"entryNo add {number}" for number in range(33)]
    long = "assetNumber"
    for _ in range(16):
        long = f"concat(variantCode,{long})"

    assert stocked.get("salesPricesExt", {"$orderby": ",".join(keys[1:])}).status_code == 200
    again = ",".join([*keys[1:], *keys[1:]])
    assert stocked.get("salesPricesExt", {"$orderby": again}).status_code == 200
    many = stocked.get("salesPricesExt", {"$orderby": ",".join(keys)})
    refusal(many, "BadRequest_InvalidRequestUrl", "$orderby")
    for order in ({"$orderby": long}, {"$orderby": "v", "$compute": f"{long} as v"}):
        refusal(stocked.get("salesPricesExt", order), "BadRequest_MethodNotImplemented")
