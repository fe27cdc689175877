"""Literals of an expression as values that compare with a property's stored form."""

import re
from decimal import ROUND_FLOOR, Context, Decimal, InvalidOperation

import msgspec

from comptoir.edm.number import SCALE, DecimalNumber, Int32
from comptoir.edm.primitive import PrimitiveType, Stored, ValueFault
from comptoir.edm.scalar import Boolean, Guid
from comptoir.edm.temporal import Date, DateTimeOffset
from comptoir.edm.text import Text
from comptoir.request.expression.tree import Literal, LiteralKind

NUMERIC_KINDS: frozenset[LiteralKind] = frozenset({"integer", "decimal", "double"})

# what no stored number reaches: 64-bit columns compare with it all the same
_BEYOND = 4 * 10**18

_KINDS: dict[type[PrimitiveType], LiteralKind] = {
    Boolean: "boolean",
    Guid: "guid",
    Date: "date",
    DateTimeOffset: "datetimeoffset",
}

_FINER = re.compile(r"\.\d{3}\d*[1-9]")
"""A fraction of a second with digits, other than zeros, behind those that are stored."""

FORMS: dict[LiteralKind, str] = {
    "null": "null",
    "boolean": "true or false",
    "integer": "a number",
    "decimal": "a number",
    "double": "a number",
    "string": "a text in single quotes",
    "guid": "a Guid without quotes",
    "date": "a date such as 2026-01-31",
    "datetimeoffset": "a date and time such as 2026-01-31T12:30:00Z",
    "timeofday": "a time of day",
    "duration": "a duration",
    "binary": "binary data",
    "enum": "a member of an enumeration",
}


class Bound(msgspec.Struct, frozen=True):
    """A literal's stored form; `exact` is False for one that lies between two that can be stored.

    In that case `stored` is the one below it. None, for NaN, compares with nothing.
    """

    stored: Stored | None
    exact: bool = True


def literal_kind(kind: PrimitiveType) -> LiteralKind:
    """The kind of literal that a property of this type compares with."""
    if isinstance(kind, Text):
        return "string"
    if isinstance(kind, Int32 | DecimalNumber):
        return "decimal"
    return _KINDS[type(kind)]


def bind_literal(literal: Literal, kind: PrimitiveType) -> Bound | None:
    """A literal as a value of a type; None when its kind does not compare with the type.

    Raises `ValueFault` for a value of the right kind that does not exist (30 February).
    """
    wanted = literal_kind(kind)
    if wanted == "decimal":
        if literal.kind not in NUMERIC_KINDS:
            return None
        return _number(literal.text, SCALE if isinstance(kind, DecimalNumber) else 0)
    if literal.kind != wanted:
        return None
    # a longer text than a property holds equals none of them, and is no fault in a filter
    if isinstance(kind, Text):
        if "\0" in literal.text:
            raise ValueFault("is compared with a NUL character, which no text holds.")
        return Bound(literal.text)
    finer = _FINER.search(literal.text) if isinstance(kind, DateTimeOffset) else None
    return Bound(kind.from_text(literal.text), exact=finer is None)


def _number(text: str, scale: int) -> Bound:
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise ValueFault("has an exponent of too many digits.") from None
    if number.is_nan():
        return Bound(None)
    if not number:
        return Bound(0)
    if number.is_infinite() or number.adjusted() > 17 - scale:
        return Bound(_BEYOND if number > 0 else -_BEYOND)
    if number.adjusted() < -40:
        return Bound(0 if number > 0 else -1, exact=False)
    # as many digits as were sent, so that none is rounded
    scaled = number.scaleb(scale, Context(prec=len(text)))
    below = int(scaled.to_integral_value(rounding=ROUND_FLOOR))
    return Bound(below, exact=below == scaled)
