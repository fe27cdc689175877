"""Values of every type: those that fit are returned exactly, and others are refused."""

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
        ("amount", "0", "0"),
        ("amount", "-0", "0"),
        ("amount", "-0.0", "0"),
        ("amount", "0e999999999", "0"),
        ("amount", "1", "1"),
        ("amount", "1.0", "1"),
        ("amount", "100", "100"),
        ("amount", "1e2", "100"),
        ("amount", "2.290000", "2.29"),
        ("amount", "2.2900000000000000000000000000000000000000000", "2.29"),
        ("amount", "33.6442", "33.6442"),
        ("amount", "0.1", "0.1"),
        ("amount", "0.00001", "0.00001"),
        ("amount", "1e-5", "0.00001"),
        ("amount", "-0.00001", "-0.00001"),
        ("amount", "1234567890.0e-5", "12345.6789"),
        ("amount", "9999999999999.99999", "9999999999999.99999"),
        ("amount", "-9999999999999.99999", "-9999999999999.99999"),
        ("rank", "2147483647", "2147483647"),
        ("rank", "-2147483648", "-2147483648"),
        ("rank", "12.0", "12"),
        ("rank", "1.2e1", "12"),
        ("rank", "120e-1", "12"),
        ("active", "true", "true"),
        ("active", "false", "false"),
        ("day", '"2024-02-29"', '"2024-02-29"'),
        ("day", '"0001-01-01"', '"0001-01-01"'),
        ("day", '"9999-12-31"', '"9999-12-31"'),
        ("moment", '"2024-01-31T12:30:00Z"', '"2024-01-31T12:30:00.000Z"'),
        ("moment", '"2024-01-31t12:30:00z"', '"2024-01-31T12:30:00.000Z"'),
        ("moment", '"2024-01-31T12:30:00.1Z"', '"2024-01-31T12:30:00.100Z"'),
        ("moment", '"2024-01-31T12:30:00.1239999Z"', '"2024-01-31T12:30:00.123Z"'),
        ("moment", '"2024-01-31T23:59:59.9999999999Z"', '"2024-01-31T23:59:59.999Z"'),
        ("moment", '"2024-01-01T00:30:00+01:00"', '"2023-12-31T23:30:00.000Z"'),
        ("moment", '"2023-12-31T23:30:00-01:30"', '"2024-01-01T01:00:00.000Z"'),
        ("moment", '"2024-01-01T00:00:00-00:00"', '"2024-01-01T00:00:00.000Z"'),
        ("moment", '"0001-01-01T00:00:00Z"', '"0001-01-01T00:00:00.000Z"'),
        ("moment", '"9999-12-31T23:59:59.999Z"', '"9999-12-31T23:59:59.999Z"'),
        (
            "reference",
            '"ABCDEF01-2345-6789-ABCD-EF0123456789"',
            '"abcdef01-2345-6789-abcd-ef0123456789"',
        ),
        ("content", '""', '""'),
        ("content", '"aGVsbG8="', '"aGVsbG8="'),
        ("content", '"' + "AAAA" * 200_000 + '"', '"' + "AAAA" * 200_000 + '"'),
        ("text", '"' + "x" * 4_000 + '"', '"' + "x" * 4_000 + '"'),
        ("text", '"' + "😀" * 4_000 + '"', '"' + "😀" * 4_000 + '"'),
        ("text", '"' + "😀" * 4_001 + '"', None),
        ("text", r'"\ud83d\ude00"', '"😀"'),
        ("series", '"' + "😀" * 100 + '"', '"' + "😀" * 100 + '"'),
    ],
)
def test_a_value_fits_exactly_or_is_refused(
    name: str, json: str, back: str | None, specimens: Company
) -> None:
    """Numbers are never rounded, and instants are returned in UTC."""
    if back is not None:
        assert sent(specimens, name, json) == back
        return
    body = f'{{"code": "x", "{name}": {json}}}'.encode()
    refusal(specimens.post("specimensExt", body), "BadRequest", name)
    assert specimens.listed("specimensExt") == []
    assert specimens.changes() == []


def test_decimals_are_equal_by_value(specimens: Company) -> None:
    """An update with 1.50 for a stored 1.5 changes nothing."""
    created = record(specimens.post("specimensExt", b'{"code": "a", "amount": 1.5}'), 201)
    path = f"specimensExt({created['id']})"

    answer = specimens.patch(path, b'{"amount": 150e-2}', if_match="*")

    assert record(answer) == created
    assert len(specimens.changes()) == 1
