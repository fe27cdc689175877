"""`$apply`: its limits; the corpus has what it returns."""

from support.companies import Company
from support.refusals import refusal
from support.together import together


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

    error = refusal(stocked.get("salesPricesExt", query), "BadRequest_InvalidRequestUrl", "$apply")

    assert "limit of 2500 parts" in error.message


def test_the_length_of_joined_texts_is_limited(company: Company) -> None:
    """Each transformation doubles the text of the one before, under another name."""
    doubled = "/".join(f"compute(concat(t{n},t{n}) as t{n + 1})" for n in range(1, 8))
    aggregated = "aggregate(displayName with max as t1)"

    for first in ("compute(displayName as t1)", aggregated):
        answer = company.get("itemsExt", {"$apply": f"{first}/{doubled}"})

        error = refusal(answer, "BadRequest_MethodNotImplemented", "$apply")
        assert "more than 64000 characters" in error.message
