"""Numbers as SQLite is taught to compute them: exact, in Python's integers, or a fault.

Whole numbers are themselves, Decimals are whole numbers of hundred-thousandths, wide numbers are
texts (`plan/expressions/wide.py`).
"""

from collections.abc import Callable

from comptoir.edm.number import DECIMAL, INT32, INT64, SCALE, decimal_text
from comptoir.edm.primitive import Stored, ValueFault
from comptoir.plan.expressions.kinds import MOST_DECIMAL, MOST_WHOLE
from comptoir.plan.expressions.wide import FINER, LARGEST, WIDE_SCALE, wide_text, wide_units

_UNIT: int = 10**SCALE
_WIDE_UNIT: int = 10**WIDE_SCALE


class ComputingFault(Exception):  # noqa: N818 - says what is wrong with a request's values
    """A value that a query cannot compute. The message is for whoever asked."""


def shown(value: Stored) -> str:
    """A Decimal or wide number as digits."""
    if isinstance(value, int):
        return decimal_text(value)
    units = wide_units(value)
    whole, rest = divmod(abs(units), _WIDE_UNIT)
    digits = f"{whole}.{rest:0{WIDE_SCALE}d}".rstrip("0").rstrip(".")
    return f"-{digits}" if units < 0 else digits


def _units(value: Stored) -> int:
    return value * FINER if isinstance(value, int) else wide_units(value)


def _too_large(what: str) -> ComputingFault:
    return ComputingFault(
        f"{what} has a result of more than 13 digits before the point, which does not fit."
    )


def _by_zero(left: str, operator: str) -> ComputingFault:
    return ComputingFault(f"{left} {operator} 0 has no result: the divisor is zero.")


def _truncated(left: int, right: int) -> int:
    """The quotient towards zero."""
    quotient = abs(left) // abs(right)
    return -quotient if (left < 0) != (right < 0) else quotient


def nearest_even(left: int, right: int) -> int:
    """The quotient to the nearest whole number, halves to the even one."""
    if right < 0:
        left, right = -left, -right
    quotient, rest = divmod(left, right)
    if 2 * rest > right or (2 * rest == right and quotient % 2):
        quotient += 1
    return quotient


def _away(left: int, right: int) -> int:
    """The quotient to the nearest whole number, halves away from zero."""
    quotient, rest = divmod(abs(left), right)
    if 2 * rest >= right:
        quotient += 1
    return -quotient if left < 0 else quotient


def _whole(operator: str, compute: Callable[[int, int], int]) -> Callable[[int, int], int]:
    def run(left: int, right: int) -> int:
        if not right and operator in ("div", "mod"):
            raise _by_zero(str(left), operator)
        result = compute(left, right)
        if abs(result) > MOST_WHOLE:
            raise ComputingFault(
                f"{left} {operator} {right} has a result of more than 64 bits, which does not fit."
            )
        return result

    return run


def _decimal(operator: str, compute: Callable[[int, int], int]) -> Callable[[int, int], int]:
    def run(left: int, right: int) -> int:
        if not right and operator == "mod":
            raise _by_zero(decimal_text(left), operator)
        result = compute(left, right)
        if abs(result) > MOST_DECIMAL:
            second = str(right) if operator == "mul" else decimal_text(right)
            raise _too_large(f"{decimal_text(left)} {operator} {second}")
        return result

    return run


def _wide(operator: str, compute: Callable[[int, int], int]) -> Callable[[Stored, Stored], str]:
    def run(left: Stored, right: Stored) -> str:
        second = _units(right)
        if not second and operator == "mod":
            raise _by_zero(shown(left), operator)
        return _as_wide(compute(_units(left), second), lambda: _said(left, operator, right))

    return run


def _said(left: Stored, operator: str, right: Stored) -> str:
    return f"{shown(left)} {operator} {shown(right)}"


def _as_wide(units: int, said: Callable[[], str]) -> str:
    if abs(units) >= LARGEST:
        raise _too_large(said())
    return wide_text(units)


def _mul_wide(left: Stored, right: Stored) -> str:
    units, rest = divmod(_units(left) * _units(right), _WIDE_UNIT)
    if rest:
        raise ComputingFault(
            f"{_said(left, 'mul', right)} has a result of more than {WIDE_SCALE} decimals, which "
            "does not fit. Round before, with `div 1`."
        )
    return _as_wide(units, lambda: _said(left, "mul", right))


def _div_decimal(left: Stored, right: Stored) -> int:
    divisor = _units(right)
    if not divisor:
        raise _by_zero(shown(left), "div")
    quotient = nearest_even(_units(left) * _UNIT, divisor)
    if abs(quotient) > MOST_DECIMAL:
        raise _too_large(_said(left, "div", right))
    return quotient


def _remainder(left: int, right: int) -> int:
    """What division towards zero leaves: it has the sign of the dividend."""
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def _rounded(compute: Callable[[int, int], int], name: str) -> Callable[[Stored], int]:
    def run(value: Stored) -> int:
        unit = _UNIT if isinstance(value, int) else _WIDE_UNIT
        units = value if isinstance(value, int) else wide_units(value)
        result = compute(units, unit) * _UNIT
        if abs(result) > MOST_DECIMAL:
            raise _too_large(f"{name} of {shown(value)}")
        return result

    return run


def _scale_checked(value: int) -> int:
    if abs(value) > MOST_DECIMAL // _UNIT:
        raise ComputingFault(
            f"{value} has more than 13 digits and does not go with numbers that have decimals."
        )
    return value * _UNIT


def _narrow(value: Stored) -> int:
    stored, rest = divmod(_units(value), FINER)
    if rest:
        raise ComputingFault(
            f"{shown(value)} has more than {SCALE} decimals, which does not fit, and is never "
            "rounded unasked. Round it with `div 1`, or with round, floor or ceiling."
        )
    return stored


def _rounded_decimal(value: str) -> int | None:
    stored = _away(wide_units(value), FINER)
    return stored if abs(stored) <= MOST_DECIMAL else None


def _cast_decimal(least: int, most: int) -> Callable[[Stored], int | None]:
    def run(value: Stored) -> int | None:
        unit = _UNIT if isinstance(value, int) else _WIDE_UNIT
        units = value if isinstance(value, int) else wide_units(value)
        number = _away(units, unit)
        return number if least <= number <= most else None

    return run


def _whole_of_text(least: int, most: int) -> Callable[[str], int | None]:
    def run(text: str) -> int | None:
        try:
            number = int(INT64.from_key(text))
        except ValueFault:
            return None
        return number if least <= number <= most else None

    return run


def _int32_of_whole(value: int) -> int | None:
    return value if INT32.minimum <= value <= INT32.maximum else None


def _decimal_of_text(text: str) -> int | None:
    try:
        return int(DECIMAL.from_text(text))
    except ValueFault:
        return None


Computing = Callable[..., Stored | None]

NUMBERS: dict[str, Computing] = {
    "add_whole": _whole("add", int.__add__),
    "sub_whole": _whole("sub", int.__sub__),
    "mul_whole": _whole("mul", int.__mul__),
    "div_whole": _whole("div", _truncated),
    "mod_whole": _whole("mod", _remainder),
    "add_decimal": _decimal("add", int.__add__),
    "sub_decimal": _decimal("sub", int.__sub__),
    "mul_decimal": _decimal("mul", int.__mul__),
    "mod_decimal": _decimal("mod", _remainder),
    "div_decimal": _div_decimal,
    "add_wide": _wide("add", int.__add__),
    "sub_wide": _wide("sub", int.__sub__),
    "mod_wide": _wide("mod", _remainder),
    "mul_wide": _mul_wide,
    "negate_wide": lambda value: wide_text(-wide_units(value)),
    "round": _rounded(_away, "round"),
    "floor": _rounded(int.__floordiv__, "floor"),
    "ceiling": _rounded(lambda units, unit: -(-units // unit), "ceiling"),
    "scale_checked": _scale_checked,
    "widen": lambda value: wide_text(value * FINER),
    "narrow": _narrow,
    "rounded_decimal": _rounded_decimal,
    "int32_of_whole": _int32_of_whole,
    "int32_of_decimal": _cast_decimal(INT32.minimum, INT32.maximum),
    "int64_of_decimal": _cast_decimal(-MOST_WHOLE, MOST_WHOLE),
    "int32_of_text": _whole_of_text(INT32.minimum, INT32.maximum),
    "int64_of_text": _whole_of_text(-MOST_WHOLE, MOST_WHOLE),
    "decimal_of_text": _decimal_of_text,
    "text_of_decimal": shown,
}
"""Name to what is computed, of arguments that are not null."""
