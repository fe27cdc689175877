"""Long values, which fit exactly or are refused; the corpus has short ones of every type."""

import pytest

from support.client import record
from support.companies import Company
from support.refusals import refusal


def sent(company: Company, name: str, json: str) -> str:
    """Create a specimen with a value; returns the value in the bytes of the response."""
    code = len(company.listed("specimensExt"))
    answer = company.post("specimensExt", f'{{"code": "{code}", "{name}": {json}}}'.encode())
    path = f"specimensExt({record(answer, 201)['id']})"
    _, _, rest = company.get(path).text.partition(f'"{name}":')
    return rest.partition(',"')[0]


@pytest.mark.parametrize(
    ("name", "json", "back"),
    [
        ("content", '"' + "AAAA" * 200_000 + '"', '"' + "AAAA" * 200_000 + '"'),
        ("text", '"' + "x" * 4_000 + '"', '"' + "x" * 4_000 + '"'),
        ("text", '"' + "😀" * 4_000 + '"', '"' + "😀" * 4_000 + '"'),
        ("text", '"' + "😀" * 4_001 + '"', None),
    ],
)
def test_a_value_fits_exactly_or_is_refused(
    name: str, json: str, back: str | None, specimens: Company
) -> None:
    if back is not None:
        assert sent(specimens, name, json) == back
        return
    body = f'{{"code": "x", "{name}": {json}}}'.encode()
    refusal(specimens.post("specimensExt", body), "BadRequest", name)
    assert specimens.listed("specimensExt") == []
    assert specimens.changes() == []


def test_a_very_long_text_is_not_a_decimal(specimens: Company) -> None:
    body = f'{{"code": "a", "amount": "{"9" * 100_000}"}}'.encode()
    as_texts = {"Content-Type": "application/json;IEEE754Compatible=true"}

    refusal(specimens.post("specimensExt", body, as_texts), "BadRequest", "amount")


def test_a_name_whose_upper_case_form_is_too_long_is_refused(company: Company) -> None:
    """The upper-case form of ß is SS. The record could not be loaded from its own dump."""
    answer = company.post("contactsExt", {"displayName": "ß" * 2_001})

    assert "searchName" in refusal(answer, "BadRequest", "displayName").message
    assert company.changes() == []
