"""Wide decimals: exact numbers beyond a column's precision, as text that sorts by value.

The text of a wide decimal has no decimal point. The number is counted in units of 10**-30, the
limit `LARGEST` is added so that none is negative, and zeros pad all texts to one length.
"""

from comptoir.edm.numbers import SCALE, WHOLE_DIGITS

WIDE_SCALE = 30
"""How many digits a wide decimal has after the decimal point."""

WIDE_UNIT: int = 10**WIDE_SCALE
"""The number 1 in the units of a wide decimal."""

LARGEST: int = 10 ** (WHOLE_DIGITS + WIDE_SCALE)
"""The limit that every wide decimal stays below, in its own units."""

_LENGTH = len(str(2 * LARGEST))
FINER: int = 10 ** (WIDE_SCALE - SCALE)
"""How many units of a wide decimal one unit of a stored Decimal has."""


def wide_text(units: int) -> str:
    """The text of a number of units, whose size is at most `LARGEST`."""
    return f"{units + LARGEST:0{_LENGTH}d}"


def wide_units(text: str) -> int:
    """The number of units that a text holds."""
    return int(text) - LARGEST
