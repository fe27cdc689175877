"""Numbers: `Edm.Int32`, `Edm.Int64` and `Edm.Decimal`, exact and without binary floats."""

import re
from collections.abc import Callable
from copy import copy
from decimal import Context, Decimal, Inexact
from functools import lru_cache
from typing import Self

import msgspec
from typing_extensions import override

from comptoir.edm.types import EdmError, JsonSchema, PrimitiveType, Stored, Wire
from comptoir.errors import refusal_rows as rows
from comptoir.jsonvalue import Json

MOST_WHOLE = 2**63 - 1
"""The largest whole number."""

SCALE = 5
"""The most digits of a Decimal after the decimal point."""

UNIT: int = 10**SCALE
"""The number 1 as a stored Decimal."""

PRECISION = 18
"""The most digits of a Decimal."""

WHOLE_DIGITS = PRECISION - SCALE
"""The most digits of a Decimal before the decimal point."""

MOST_DECIMAL = 10**PRECISION - 1
"""The largest Decimal, in stored form."""

_NUMBER = re.compile(r"[+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,4})?", re.ASCII)
_PLAIN_DIGITS = re.compile(r"-?\d{1,20}", re.ASCII)


class Number(PrimitiveType):
    """Numbers, whose stored forms are from `least` to `most`."""

    default = 0
    least: int
    most: int

    def within(self, least: Stored | None, most: Stored | None) -> Self:
        """The same type with bounds, in stored form."""
        bounded = copy(self)
        given = {"Minimum": least, "Maximum": most}
        bounded.bounds = {
            term: self.number(int(each)) for term, each in given.items() if each is not None
        }
        bounded.least = self.least if least is None else int(least)
        bounded.most = self.most if most is None else int(most)
        schema = {term.lower(): each for term, each in bounded.bounds.items()}
        bounded.json_schema = {**self.json_schema, **schema}
        return bounded

    def number(self, stored: int) -> int | Decimal:
        """The number that a stored form means."""
        return stored

    def check_bounds(self, stored: int | Decimal) -> None:
        """Raise `EdmError` for a stored form outside the bounds."""
        if not self.least <= stored <= self.most:
            minimum, maximum = self.to_text(self.least), self.to_text(self.most)
            raise EdmError(rows.OUT_OF_RANGE, minimum=minimum, maximum=maximum)

    @override
    def from_json(self, value: Json) -> Stored:
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise self.wrong_type(value)
        return self.from_number(Decimal(value) if isinstance(value, int) else value)

    @override
    def from_text(self, text: str) -> Stored:
        if _NUMBER.fullmatch(text) is None:
            raise self.malformed(text)
        return self.from_number(Decimal(text))

    def from_number(self, number: Decimal) -> Stored:
        """Convert an exact number to the stored form; raises `EdmError` if it does not fit."""
        raise NotImplementedError


class Int32(Number):
    """A whole number of 32 bits; `digits` also accepts a string of digits (operation 11)."""

    edm_name = "Edm.Int32"
    expected = "a whole number"
    example = "42"
    format = "int32"
    minimum = -(2**31)
    maximum = 2**31 - 1

    def __init__(self, *, digits: bool = False) -> None:
        self.digits = digits
        self.least, self.most = self.minimum, self.maximum
        bounds = {"minimum": self.minimum, "maximum": self.maximum}
        self.json_schema = {"type": "integer", "format": self.format, **bounds}

    @property
    @override
    def accepted_json_schema(self) -> JsonSchema:
        if not self.digits:
            return self.json_schema
        return {"anyOf": [self.json_schema, {"type": "string", "pattern": "^[0-9]{1,9}$"}]}

    @override
    def from_json(self, value: Json) -> Stored:
        if self.digits and isinstance(value, str):
            if not (value.isascii() and value.isdigit()):
                raise self.malformed(value)
            return self.from_text(value)
        return super().from_json(value)

    @override
    def from_key(self, text: str) -> Stored:
        if _PLAIN_DIGITS.fullmatch(text) is None:
            raise self.malformed(text)
        return self.from_text(text)

    @override
    def from_number(self, number: Decimal) -> Stored:
        self.check_bounds(number)
        if number != number.to_integral_value():
            raise self.malformed(str(number))
        return int(number)


class Int64(Int32):
    """A whole number of 64 bits: the result of integer arithmetic in a query."""

    edm_name = "Edm.Int64"
    format = "int64"
    minimum = -MOST_WHOLE - 1
    maximum = MOST_WHOLE

    @property
    @override
    def to_ieee754_wire(self) -> Callable[[Stored], Wire]:
        return str


class Count(Int64):
    """A count, declared as a Decimal (Data Aggregation 4.0, section 3.1.4)."""

    edm_name = "Edm.Decimal"


_EXACT = Context(prec=200, traps=[Inexact])


def decimal_text(stored: int) -> str:
    """A stored Decimal as digits, without trailing zeros or exponent: 3364420 is `33.6442`."""
    whole, rest = divmod(abs(stored), UNIT)
    sign = "-" if stored < 0 else ""
    if not rest:
        return f"{sign}{whole}"
    return f"{sign}{whole}.{rest:0{SCALE}d}".rstrip("0")


@lru_cache(4_096)
def _decimal_wire(stored: Stored) -> Wire:
    return msgspec.Raw(decimal_text(int(stored)).encode())


class DecimalNumber(Number):
    """A number of up to `precision` digits, `scale` after the decimal point.

    There are at most 18, 5 and 13 before the point. The stored form is a whole number of
    hundred-thousandths: databases compare, sort and add it exactly.
    """

    edm_name = "Edm.Decimal"
    expected = "a number"
    example = "12.5"

    def __init__(self, precision: int = PRECISION, scale: int = SCALE) -> None:
        self.precision, self.scale = precision, scale
        self._whole_digits = precision - scale
        self._unit: int = 10 ** (SCALE - scale)
        self.most = (10**precision - 1) * self._unit
        self.least = -self.most
        self.facets = {"Precision": precision, "Scale": scale}
        # validators compute with binary floats: multipleOf would refuse 33.6442, and exclusive
        # bounds the largest Decimal
        largest = 10**self._whole_digits
        bounds = {"minimum": -largest, "maximum": largest}
        self.json_schema = {"type": "number", "format": "decimal", **bounds}

    @override
    def from_number(self, number: Decimal) -> Stored:
        if number and number.adjusted() >= self._whole_digits:
            raise EdmError(rows.LARGE_NUMBER, most=self._whole_digits)
        try:
            scaled = _EXACT.scaleb(number, self.scale)
        except Inexact:
            raise self._too_precise() from None
        is_tiny = number and number.adjusted() < -self.scale
        if is_tiny or scaled != scaled.to_integral_value():
            raise self._too_precise()
        stored = int(scaled) * self._unit
        self.check_bounds(stored)
        return stored

    @override
    def number(self, stored: int) -> int | Decimal:
        return Decimal(decimal_text(stored))

    def _too_precise(self) -> EdmError:
        return EdmError(rows.PRECISE_NUMBER, most=self.scale)

    to_wire = staticmethod(_decimal_wire)

    @override
    def from_wire(self, value: Json) -> Stored:
        # a service with a later catalog may have stored it, with wider bounds
        return DECIMAL.from_json(value)

    @property
    @override
    def to_ieee754_wire(self) -> Callable[[Stored], Wire]:
        return self.to_text

    @override
    def from_ieee754_json(self, value: Json) -> Stored:
        if isinstance(value, str):
            return self.from_text(value)
        return self.from_json(value)

    @override
    def to_text(self, stored: Stored) -> str:
        return decimal_text(int(stored))


INT32 = Int32()
INT64 = Int64()
COUNT = Count()
DIGITS = Int32(digits=True)
DECIMAL = DecimalNumber()
