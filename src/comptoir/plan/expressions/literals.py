"""Literals of an expression as values that go with a property's stored form."""

import re
from decimal import ROUND_FLOOR, Context, Decimal, InvalidOperation

import msgspec

from comptoir.edm.numbers import MOST_WHOLE, PRECISION, SCALE, WHOLE_DIGITS
from comptoir.edm.types import Stored, ValueFault
from comptoir.plan.expressions import types
from comptoir.plan.expressions.wide_decimal import LARGEST, WIDE_SCALE, wide_text
from comptoir.request.expression.lexer import QUOTED_FORMS, duration_text
from comptoir.request.expression.tree import Literal

# beyond every stored number, and within 64 bits, so that columns compare with it
_BEYOND = 4 * 10**PRECISION

_MIDNIGHT = "00:00:00.000Z"

_SPAN = QUOTED_FORMS["duration"][1]

_BEYOND_DIGITS = len(str(MOST_WHOLE)) - 1

_FINER = {
    types.DATE_TIME: re.compile(r"\.\d{3}\d*[1-9]"),
    types.TIME_OF_DAY: re.compile(r"\.\d{3}\d*[1-9]"),
    types.DURATION: re.compile(rf"\.\d{{{SCALE}}}\d*[1-9]"),
}
"""A fraction of a second with digits, other than zeros, behind those that are stored."""


class Bound(msgspec.Struct, frozen=True):
    """A literal's stored form; `exact` is False for one that lies between two that can be stored.

    In that case `stored` is the one below it. None, for NaN, compares with nothing.
    """

    stored: Stored | None
    exact: bool = True


def bind_literal(literal: Literal, wanted: types.ExpressionType) -> Bound | None:
    """A literal as a value of a type; None when it is of another type.

    Raises `ValueFault` for a value of the type that does not exist (30 February).
    """
    if wanted is types.DURATION:
        literal = as_duration(literal)
    elif wanted is types.DATE:
        literal = as_date(literal)
    if literal.type not in wanted.literals:
        return None
    if wanted in types.NUMBERS:
        return _number(literal.text, wanted)
    # a longer text than a property holds equals none of them, and is no fault in a filter
    if wanted is types.TEXT:
        if "\0" in literal.text:
            raise ValueFault("holds a NUL character, which no text holds.")
        return Bound(literal.text)
    finer = _FINER[wanted].search(literal.text) if wanted in _FINER else None
    stored = wanted.edm_type.from_text(literal.text)
    if finer is not None and isinstance(stored, int) and literal.text.startswith("-"):
        stored -= 1
    return Bound(stored, exact=finer is None)


def as_duration(literal: Literal) -> Literal:
    """A text in the form of a duration as that duration, which since 4.01 needs no prefix.

    Any other literal as it is (OData URL Conventions 4.01, section 5.1.1.14.1).
    """
    if literal.type != "string" or _SPAN.fullmatch(literal.text) is None:
        return literal
    return Literal("duration", duration_text(literal.text), literal.position)


def as_date(literal: Literal) -> Literal:
    """A date-time at midnight UTC as its date; any other literal as it is.

    Some clients have one type for both. Raises `ValueFault` for another time of day.
    """
    if literal.type != "datetimeoffset":
        return literal
    moment = str(types.DATE_TIME.edm_type.from_text(literal.text))
    day, _, time = moment.partition("T")
    if time != _MIDNIGHT or _FINER[types.DATE_TIME].search(literal.text):
        raise ValueFault(
            "is compared with a date and has a time other than midnight UTC. Write the date "
            f"alone: {literal.text.partition('T')[0]}."
        )
    return Literal("date", day, literal.position)


def _number(text: str, wanted: types.ExpressionType) -> Bound:
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise ValueFault("has an exponent of too many digits.") from None
    if number.is_nan():
        return Bound(None)
    if wanted is types.WHOLE and number.is_finite() and number.adjusted() >= _BEYOND_DIGITS:
        return _beyond_64_bits(number)
    scale = WIDE_SCALE if wanted is types.WIDE_DECIMAL else SCALE if wanted is types.DECIMAL else 0
    bound = _scaled(
        number,
        scale,
        len(text),
        (WHOLE_DIGITS if wanted is types.WIDE_DECIMAL else PRECISION - scale) - 1,
    )
    if wanted is not types.WIDE_DECIMAL or bound.stored is None:
        return bound
    units = max(-LARGEST, min(LARGEST, int(bound.stored)))
    return Bound(wide_text(units), bound.exact)


def _beyond_64_bits(number: Decimal) -> Bound:
    if number.adjusted() == _BEYOND_DIGITS and abs(number) <= MOST_WHOLE:
        below = int(number.to_integral_value(ROUND_FLOOR))
        return Bound(below, exact=below == number)
    return Bound(MOST_WHOLE if number > 0 else -MOST_WHOLE - 1, exact=False)


def _scaled(number: Decimal, scale: int, digits: int, most: int) -> Bound:
    if not number:
        return Bound(0)
    if number.is_infinite() or number.adjusted() > most:
        if not scale:
            return Bound(MOST_WHOLE if number > 0 else -MOST_WHOLE - 1, exact=False)
        beyond = LARGEST if scale == WIDE_SCALE else _BEYOND
        return Bound(beyond if number > 0 else -beyond)
    if number.adjusted() < -40:
        return Bound(0 if number > 0 else -1, exact=False)
    # as many digits as were sent, so that none is rounded
    scaled = number.scaleb(scale, Context(prec=digits))
    below = int(scaled.to_integral_value(rounding=ROUND_FLOOR))
    return Bound(below, exact=below == scaled)
