"""Primitive types: valid values round-trip, and invalid ones are refused."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comptoir.edm.numbers import DECIMAL, DIGITS, INT32
from comptoir.edm.times import DATE, INSTANT
from comptoir.edm.types import (
    BASE64_TEXT,
    BOOLEAN,
    CODE,
    GUID,
    TEXT,
    EdmError,
    PrimitiveType,
    Stored,
)
from comptoir.jsonvalue import Json
from comptoir.request.payload import parse_object
from support.together import together

ALL = (TEXT, CODE, BASE64_TEXT, GUID, BOOLEAN, INT32, DIGITS, DECIMAL, DATE, INSTANT)

whole_texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
stored_decimals = st.integers(-(10**18) + 1, 10**18 - 1)


def wire(edm_type: PrimitiveType, stored: Stored) -> Json:
    """The decoded wire form of a stored value, with exact numbers."""
    encoded = msgspec.json.encode(stored if edm_type.to_wire is None else edm_type.to_wire(stored))
    return parse_object(b'{"value":' + encoded + b"}")["value"]


def test_the_empty_value_reads_back_as_itself() -> None:
    for edm_type in ALL:
        assert edm_type.from_json(wire(edm_type, edm_type.default)) == edm_type.default
        assert edm_type.from_texts([""]) == [edm_type.default]


@together("edm_type", ALL)
def test_null_is_refused_with_the_value_that_clears(edm_type: PrimitiveType) -> None:
    with pytest.raises(EdmError) as refused:
        edm_type.from_json(None)
    assert edm_type.empty_json in str(refused.value)


@given(whole_texts.filter(lambda text: len(text) <= 100))
def test_text_is_stored_as_sent(text: str) -> None:
    assert CODE.from_json(text) == text
    assert CODE.from_texts([text, text]) == [text, text]


@together("text", ["a\0b", "half a \ud83d pair", "x" * 101])
def test_invalid_text_is_refused_as_a_value_and_in_a_column(text: str) -> None:
    with pytest.raises(EdmError):
        CODE.from_json(text)
    with pytest.raises(EdmError):
        CODE.from_texts(["fine", text])


@given(stored_decimals)
def test_a_decimal_that_fits_round_trips(stored: int) -> None:
    assert DECIMAL.from_json(wire(DECIMAL, stored)) == stored
    assert DECIMAL.from_text(DECIMAL.to_text(stored)) == stored
    printed = DECIMAL.to_text(stored)
    assert "e" not in printed.lower()
    assert "." not in printed or printed[-1] not in "0."


def test_trailing_zeros_and_exponents_do_not_matter() -> None:
    numbers = {"2.290000": 229000, "1e3": 100_000_000, "-0.00001": -1, "0e999": 0, "1E-5": 1}
    assert {each: DECIMAL.from_json(Decimal(each)) for each in numbers} == numbers


def test_digits_are_accepted_as_text_or_number() -> None:
    for value, stored in (("007", 7), (7, 7), (Decimal("7.0"), 7)):
        assert DIGITS.from_json(value) == stored


@given(st.dates())
def test_every_date_is_stored_as_sent(day: date) -> None:
    assert DATE.from_json(day.isoformat()) == day.isoformat()


@given(
    st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31)),  # noqa: DTZ001 - the offset is drawn
    st.integers(-1_439, 1_439),
)
def test_an_instant_is_stored_in_utc_with_milliseconds(local: datetime, minutes: int) -> None:
    moment = local.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    utc = moment.astimezone(UTC)
    expected = f"{utc:%H:%M:%S}.{utc.microsecond // 1_000:03d}Z"
    stored = str(INSTANT.from_json(moment.isoformat(timespec="microseconds")))
    assert stored.endswith(expected)
    assert INSTANT.from_text(stored) == stored


@given(st.uuids())
def test_a_guid_is_stored_in_lower_case(guid: object) -> None:
    assert GUID.from_json(str(guid).upper()) == str(guid)
