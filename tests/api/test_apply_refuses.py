"""Refusals of `$apply`: 400 for invalid transformations, 501 for unsupported ones."""

from support.companies import Company
from support.refusals import refusal
from support.together import together

BAD = "BadRequest_InvalidRequestUrl"


@together(
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
