"""Numbers: `Edm.Int32`, `Edm.Int64` and `Edm.Decimal`, exact and without binary floats."""

import re
from collections.abc import Callable
from decimal import Context, Decimal, Inexact
from functools import lru_cache
from types import MappingProxyType

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


class _Number(PrimitiveType):
    default = 0
    empty_json = "0"

    def from_json(self, value: Json) -> Stored:
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise self.wrong_type(value)
        return self.from_number(Decimal(value) if isinstance(value, int) else value)

    def from_text(self, text: str) -> Stored:
        if _NUMBER.fullmatch(text) is None:
            raise self.malformed(text)
        return self.from_number(Decimal(text))

    def from_number(self, number: Decimal) -> Stored:
        """Convert an exact number to the stored form; raises `EdmError` if it does not fit."""
        raise NotImplementedError


class Int32(_Number):
    """A whole number of 32 bits; `digits` also accepts a string of digits (operation 11)."""

    edm_name = "Edm.Int32"
    expected = "a whole number"
    example = "42"
    format = "int32"
    minimum = -(2**31)
    maximum = 2**31 - 1

    def __init__(self, *, digits: bool = False) -> None:
        self.digits = digits
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
        if not self.minimum <= number <= self.maximum:
            raise EdmError(rows.OUT_OF_RANGE, minimum=self.minimum, maximum=self.maximum)
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


class DecimalNumber(_Number):
    """A number of up to 18 digits, 5 after the decimal point, stored in hundred-thousandths.

    The stored form is a whole number: databases compare, sort and add it exactly.
    """

    edm_name = "Edm.Decimal"
    expected = "a number"
    example = "12.5"
    precision = PRECISION
    scale = SCALE
    facets = MappingProxyType({"Precision": PRECISION, "Scale": SCALE})
    # validators compute with binary floats: multipleOf would refuse 33.6442, and exclusive bounds
    # the largest Decimal
    json_schema = MappingProxyType(
        {
            "type": "number",
            "format": "decimal",
            "minimum": -(10**WHOLE_DIGITS),
            "maximum": 10**WHOLE_DIGITS,
        }
    )

    @override
    def from_number(self, number: Decimal) -> Stored:
        if not number:
            return 0
        if number.adjusted() >= WHOLE_DIGITS:
            raise EdmError(rows.LARGE_NUMBER, most=WHOLE_DIGITS)
        try:
            scaled = _EXACT.scaleb(number, SCALE)
        except Inexact:
            raise self._too_precise() from None
        if number.adjusted() < -SCALE or scaled != scaled.to_integral_value():
            raise self._too_precise()
        return int(scaled)

    @staticmethod
    def _too_precise() -> EdmError:
        return EdmError(rows.PRECISE_NUMBER, most=SCALE)

    to_wire = staticmethod(_decimal_wire)

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
