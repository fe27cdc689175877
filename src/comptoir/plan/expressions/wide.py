"""Wide numbers: exact decimals beyond what a column holds, as text that sorts by value.

A number of up to 13 digits before the point and 30 behind it is written without its point, raised
by the largest such number so that none is negative, and padded to one length.
"""

from comptoir.edm.number import SCALE

WIDE_SCALE = 30
"""How many decimals a wide number has."""

LARGEST: int = 10 ** (13 + WIDE_SCALE)
"""What no wide number reaches, in its own units."""

_LENGTH = len(str(2 * LARGEST))
FINER: int = 10 ** (WIDE_SCALE - SCALE)
"""How many units of a wide number a stored Decimal's unit has."""


def wide_text(units: int) -> str:
    """The text of a number in units of 10**-30; its size is at most `LARGEST`."""
    return f"{units + LARGEST:0{_LENGTH}d}"


def wide_units(text: str) -> int:
    """The number of units that a text stands for."""
    return int(text) - LARGEST
