"""Refusals of `$apply`: 400 for invalid transformations, 501 for unsupported ones."""

import pytest

from support.companies import Company
from support.refusals import refusal

BAD, UNSUPPORTED = "BadRequest_InvalidRequestUrl", "BadRequest_MethodNotImplemented"


@pytest.mark.parametrize(
    ("apply", "words"),
    [
        ("groupby((nothing))", "salesPrice has no property 'nothing' at column 10"),
        ("groupby((unitPrise))", "Did you mean unitPrice?"),
        ("aggregate(nothing with sum as s)", "has no property 'nothing' at column 11"),
        ("filter(nothing eq 1)", "column 8"),
        ("aggregate(assetNumber with sum as s)", "sum requires a number, and assetNumber is text"),
        ("aggregate(assetNumber with average as s)", "average requires a number"),
        ("aggregate(pricesIncludeTax with sum as s)", "pricesIncludeTax is true or false"),
        ("aggregate(null with sum as s)", "null"),
        ("aggregate(unitPrice add assetNumber with sum as s)", "add does not apply"),
        (
            "groupby((quantity),aggregate(unitPrice with sum as quantity))",
            "a property 'quantity'",
        ),
        ("aggregate(unitPrice with sum as s,$count as s)", "'s' is given twice"),
        ("groupby((assetNumber),aggregate($count as assetNumber))", "a property 'assetNumber'"),
        ("compute(1 as a)/groupby((a),aggregate($count as a))", "a property 'a'"),
        ("compute(1 as a)/compute(2 as a)", "a property 'a'"),
        ("compute(1 as unitPrice)", "a property 'unitPrice'"),
        ("aggregate($count as n)/compute(1 as n)", "a property 'n'"),
        ("groupby((assetNumber))/compute(1 as assetNumber)", "a property 'assetNumber'"),
        (
            "groupby((assetNumber),compute(1 as unitPrice)/aggregate($count as n))",
            "a property 'unitPrice'",
        ),
        (
            "groupby((assetNumber))/filter(unitPrice gt 1)",
            "unitPrice is not in the aggregated result: assetNumber",
        ),
        (
            "aggregate($count as n)/groupby((assetNumber))",
            "assetNumber is not in the aggregated result",
        ),
        (
            "aggregate($count as n)/compute(unitPrice as p)",
            "unitPrice is not in the aggregated result",
        ),
        ("groupby((assetNumber))/orderby(entryNo)", "entryNo is not in the aggregated result"),
        ("aggregate($count as number)/filter(numbr gt 1)", "Did you mean number?"),
        ("aggregate($count as n)/filter($it/m gt 1)", "The aggregated result has no property"),
        ("compute(1 as a)/groupby((b))", "has no property 'b'"),
        ("filter(unitPrice)", "not a condition"),
        ("aggregate(unitPrice with max as m)/filter(m eq 'x')", "is compared with a number"),
        ("groupby(())", "a property to group by"),
        ("groupby(assetNumber)", "grouping properties in parentheses"),
        ("aggregate(unitPrice)", "is not supported"),
        ("aggregate(unitPrice with total as s)", "no method 'total'"),
        ("top(x)", "Invalid value 'x' for top"),
        ("nonsense(1)", "no transformation 'nonsense'"),
        ("identity/", "a transformation"),
        ("aggregate($count as n", "')'"),
        (" ", "$apply is empty"),
        ("aggregate(entryNo div 0 with sum as s)", "The divisor of div is zero"),
        ("/".join(["identity"] * 41), "limit of 40 transformations"),
    ],
)
def test_invalid_transformations_are_400_with_a_column(
    apply: str, words: str, stocked: Company
) -> None:
    code = UNSUPPORTED if words == "is not supported" else BAD
    error = refusal(stocked.get("salesPricesExt", {"$apply": apply}), code, "$apply")

    assert words in error.message


@pytest.mark.parametrize(
    "apply",
    [
        "compute(1 as company)",
        "groupby((company/number),aggregate($count as company))",
        "groupby((company/number))/compute(1 as company)",
    ],
)
def test_an_alias_cannot_be_the_name_of_a_navigation_property(apply: str, stocked: Company) -> None:
    error = refusal(stocked.get("contactsExt", {"$apply": apply}), BAD, "$apply")

    assert "a property 'company'" in error.message


@pytest.mark.parametrize(
    ("apply", "name"),
    [
        ("concat(identity,identity)", "concat"),
        ("topcount(2,unitPrice)", "topcount"),
        ("bottomsum(2,unitPrice)", "bottomsum"),
        ("toppercent(2,unitPrice)", "toppercent"),
        ("join(prices as p)", "join"),
        ("groupby((rollup(assetNumber,unitOfMeasure)),aggregate($count as n))", "rollup"),
        ("aggregate(unitPrice with Custom.median as m)", "Custom.median"),
        ("aggregate(forecast)", "custom aggregate 'forecast'"),
        ("aggregate(unitPrice with sum from assetNumber with max as s)", "from"),
        ("Custom.transformation()", "Custom.transformation"),
        ("groupby((assetNumber),groupby((unitOfMeasure)))", "groupby at this position"),
        (
            "groupby((assetNumber),filter(unitPrice gt 1)/aggregate($count as n))",
            "filter at this position",
        ),
        ("groupby((assetNumber),top(1))", "top at this position"),
        ("groupby((assetNumber),identity)", "identity at this position"),
        ("groupby((assetNumber),aggregate($count as n)/top(1))", "top at this position"),
        ("aggregate($count as n)/search(x)", "search of an aggregated result"),
    ],
)
def test_unsupported_transformations_are_501_with_their_name(
    apply: str, name: str, stocked: Company
) -> None:
    error = refusal(stocked.get("salesPricesExt", {"$apply": apply}), UNSUPPORTED, "$apply")

    assert name in error.message


@pytest.mark.parametrize(
    ("path", "apply", "name"),
    [
        ("itemsExt", "aggregate(prices/unitPrice with sum as s)", "prices/unitPrice"),
        ("itemsExt", "groupby((prices/unitPrice))", "prices/unitPrice"),
        ("itemsExt", "aggregate(prices/$count as n)", "$count after a path"),
        ("contactsExt", "groupby((company))", "the record company"),
        ("contactsExt", "aggregate(company with max as m)", "the record company"),
        ("contactsExt", "compute(company as c)", "A record as"),
        ("ItemProductTextLongContentsExt", "groupby((base64Text))", "base64Text"),
        ("ItemProductTextLongContentsExt", "orderby(base64Text)", "base64Text"),
        ("ItemProductTextLongContentsExt", "aggregate(base64Text with max as m)", "base64Text"),
        (
            "ItemProductTextLongContentsExt",
            "compute(base64Text as b)/groupby((b))",
            "by b",
        ),
    ],
)
def test_unsupported_expressions_are_501_with_their_name(
    path: str, apply: str, name: str, stocked: Company
) -> None:
    error = refusal(stocked.get(path, {"$apply": apply}), UNSUPPORTED, "$apply")

    assert name in error.message


@pytest.mark.parametrize(
    "apply",
    [
        "groupby((onlinePassword))",
        "filter(onlinePassword eq 'x')/aggregate($count as n)",
        "aggregate(onlinePassword with max as m)",
        "aggregate(onlinePassword with countdistinct as m)",
        "aggregate(length(onlinePassword) with sum as m)",
        "compute(onlinePassword as m)",
        "orderby(onlinePassword)",
        "groupby((company/onlinePassword))",
    ],
)
def test_a_secret_is_not_aggregated(apply: str, stocked: Company) -> None:
    error = refusal(stocked.get("contactsExt", {"$apply": apply}), BAD, "$apply")

    assert "onlinePassword is secret" in error.message


@pytest.mark.parametrize(
    ("option", "text", "code"),
    [
        ("$filter", "unitPrice gt 1", BAD),
        ("$orderby", "unitPrice", BAD),
        ("$select", "unitPrice", BAD),
        ("$compute", "unitPrice as p", BAD),
        ("$compute", "1 as n", BAD),
        ("$search", "x", UNSUPPORTED),
        ("$expand", "prices", UNSUPPORTED),
        ("$deltatoken", "x", BAD),
    ],
)
def test_options_that_do_not_fit_the_result_are_refused_by_name(
    option: str, text: str, code: str, stocked: Company
) -> None:
    query = {"$apply": "groupby((number),aggregate($count as n))", option: text}

    refusal(stocked.get("itemsExt", query), code, option)


@pytest.mark.parametrize(
    "path", ["itemsExt/$ref", "salesPricesExt(17)", "salesPricesExt(17)/unitPrice"]
)
def test_apply_is_an_option_of_collections_only(path: str, stocked: Company) -> None:
    refusal(stocked.get(path, {"$apply": "identity"}), BAD, "$apply")


@pytest.mark.parametrize(
    ("apply", "words"),
    [
        ("aggregate(unitPrice with sum as s)", "a sum has a result of more than 13 digits"),
        ("aggregate(unitPrice mul 1.0 with sum as s)", "a sum has a result of more than 13 digits"),
        ("aggregate(unitPrice div quantity with sum as s)", "the divisor is zero"),
        ("aggregate(lineDiscount mul lineDiscount with max as m)", "more than 5 decimals"),
        (
            "aggregate(entryNo add 9223372036854775800 with sum as s)",
            "a sum has a result of more than 64 bits",
        ),
        (
            "aggregate(entryNo add 9223372036854775800 with average as s)",
            "an average has a result of more than 13 digits",
        ),
    ],
)
def test_numbers_that_do_not_fit_are_never_rounded_or_wrapped(
    apply: str, words: str, company: Company
) -> None:
    company.load(
        "salesPricesExt",
        *(
            {
                "entryNo": number,
                "unitPrice": 9_999_999_999_999,
                "quantity": 0,
                "lineDiscount": 0.00001,
            }
            for number in (1, 2)
        ),
    )

    error = refusal(company.get("salesPricesExt", {"$apply": apply}), BAD)

    assert words in error.message


def _nested(depth: int, innermost: str) -> str:
    return "(" * depth + innermost + " add 1)" * depth


_DEEP = _nested(60, "quantity")


@pytest.mark.parametrize(
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

    error = refusal(stocked.get("salesPricesExt", query), BAD, "$apply")

    assert "limit of 2500 parts" in error.message


def test_the_length_of_joined_texts_is_limited(company: Company) -> None:
    """Each transformation doubles the text of the one before, under another name."""
    doubled = "/".join(f"compute(concat(t{n},t{n}) as t{n + 1})" for n in range(1, 8))
    aggregated = "aggregate(displayName with max as t1)"

    for first in ("compute(displayName as t1)", aggregated):
        answer = company.get("itemsExt", {"$apply": f"{first}/{doubled}"})

        error = refusal(answer, "BadRequest_MethodNotImplemented", "$apply")
        assert "more than 64000 characters" in error.message
