"""Numbers: `Edm.Int32`, `Edm.Int64` and `Edm.Decimal`, always exact, never binary floats."""

import re
from collections.abc import Callable
from decimal import Context, Decimal, Inexact
from functools import lru_cache
from types import MappingProxyType

import msgspec
from typing_extensions import override

from comptoir.edm.types import JsonSchema, PrimitiveType, Stored, ValueFault, Wire
from comptoir.jsonvalue import Json

MOST_WHOLE = 2**63 - 1
"""The largest whole number."""

SCALE = 5
"""How many digits a Decimal has after the decimal point."""

UNIT: int = 10**SCALE
"""The number 1 as a stored Decimal."""

PRECISION = 18
"""How many digits a Decimal has."""

WHOLE_DIGITS = PRECISION - SCALE
"""How many digits a Decimal has before the decimal point."""

MOST_DECIMAL = 10**PRECISION - 1
"""The largest Decimal, as it is stored."""

_NUMBER = re.compile(r"[+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,4})?", re.ASCII)
_DIGITS_ALONE = re.compile(r"-?\d{1,20}", re.ASCII)


def _exact(text: str, expected: str) -> Decimal:
    if _NUMBER.fullmatch(text) is None:
        raise ValueFault(f"must be {expected}, but {text[:40]!r} was sent.")
    return Decimal(text)


class _Number(PrimitiveType):
    default = 0
    no_value = "0"

    def from_json(self, value: Json) -> Stored:
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise self.wrong_kind(value)
        return self.from_number(Decimal(value) if isinstance(value, int) else value)

    def from_text(self, text: str) -> Stored:
        return self.from_number(_exact(text, self.expected))

    def from_number(self, number: Decimal) -> Stored:
        """An exact number to stored form; raises `ValueFault` when it does not fit."""
        raise NotImplementedError


class Int32(_Number):
    """A whole number of 32 bits; `digits` also takes a JSON text of digits (operation 11)."""

    edm_name = "Edm.Int32"
    expected = "a whole number"
    minimum = -(2**31)
    maximum = 2**31 - 1

    def __init__(self, *, digits: bool = False) -> None:
        self.digits = digits

    @property
    @override
    def json_schema(self) -> JsonSchema:
        bounds = {"minimum": self.minimum, "maximum": self.maximum}
        return {"type": "integer", "format": "int32", **bounds}

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
                raise ValueFault(
                    f"must be a whole number or a text of digits, but {value[:40]!r} was sent."
                )
            return self.from_text(value)
        return super().from_json(value)

    @override
    def from_key(self, text: str) -> Stored:
        if _DIGITS_ALONE.fullmatch(text) is None:
            raise ValueFault(f"must be {self.expected} in digits, but {text[:40]!r} was sent.")
        return self.from_text(text)

    @override
    def from_number(self, number: Decimal) -> Stored:
        if not self.minimum <= number <= self.maximum:
            raise ValueFault(f"must be between {self.minimum} and {self.maximum}.")
        if number != number.to_integral_value():
            raise ValueFault(f"must be a whole number, but {number} was sent.")
        return int(number)


class Int64(Int32):
    """A whole number of 64 bits: what counting and whole arithmetic in a query give."""

    edm_name = "Edm.Int64"
    minimum = -MOST_WHOLE - 1
    maximum = MOST_WHOLE

    @property
    @override
    def json_schema(self) -> JsonSchema:
        return {**super().json_schema, "format": "int64"}

    @property
    @override
    def to_ieee754_wire(self) -> Callable[[Stored], Wire]:
        return str


class Count(Int64):
    """How many there are: a Decimal without decimals (Data Aggregation 4.0, section 3.1.4)."""

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
    """A number of 18 digits, 5 of them decimals; stored as a whole number of hundred-thousandths.

    Whole numbers compare, sort and add exactly on every database.
    """

    edm_name = "Edm.Decimal"
    expected = "a number"
    precision = PRECISION
    scale = SCALE
    facets = MappingProxyType({"Precision": PRECISION, "Scale": SCALE})

    @property
    @override
    def json_schema(self) -> JsonSchema:
        # no multipleOf: validators divide binary floats, and would find 33.6442 to be no multiple
        bound = 10**WHOLE_DIGITS
        return {"type": "number", "format": "decimal", "minimum": -bound, "maximum": bound}

    @override
    def from_number(self, number: Decimal) -> Stored:
        if not number:
            return 0
        if number.adjusted() >= WHOLE_DIGITS:
            raise ValueFault(
                f"holds up to {WHOLE_DIGITS} digits before the point. Send a smaller number."
            )
        try:
            scaled = _EXACT.scaleb(number, SCALE)
        except Inexact:
            raise self._too_precise() from None
        if number.adjusted() < -SCALE or scaled != scaled.to_integral_value():
            raise self._too_precise()
        return int(scaled)

    @staticmethod
    def _too_precise() -> ValueFault:
        return ValueFault(
            f"holds {SCALE} digits after the point, and is never rounded. Send fewer digits."
        )

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
