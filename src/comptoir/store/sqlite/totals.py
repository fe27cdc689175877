"""Sums and averages as SQLite is taught to make them: exact, or a fault.

Whole numbers and Decimals are summed by the database, in two parts that do not overflow
(`sql/functions.py`), and put together here. Wide numbers, which are texts, are summed here.
"""

from collections.abc import Callable

from comptoir.edm.number import SCALE
from comptoir.edm.primitive import Stored
from comptoir.plan.expressions.kinds import MOST_DECIMAL, MOST_WHOLE
from comptoir.plan.expressions.wide import FINER, LARGEST, wide_text, wide_units
from comptoir.sql.functions import PARTED_AT
from comptoir.store.sqlite.computing import Computing, ComputingFault, nearest_even

_UNIT: int = 10**SCALE


def _total(most: int, fitting: str) -> Callable[[int, int], int]:
    def run(upper: int, lower: int) -> int:
        total = (upper << PARTED_AT) + lower
        if abs(total) > most:
            raise ComputingFault(f"a sum has a result of more than {fitting}, which does not fit.")
        return total

    return run


def _mean(total: int, count: int) -> int:
    mean = nearest_even(total, count)
    if abs(mean) > MOST_DECIMAL:
        raise ComputingFault(f"an average has a result of more than {_POINT}, which does not fit.")
    return mean


def _mean_decimal(upper: int, lower: int, count: int) -> int:
    return _mean((upper << PARTED_AT) + lower, count)


def _mean_whole(upper: int, lower: int, count: int) -> int:
    return _mean(((upper << PARTED_AT) + lower) * _UNIT, count)


_POINT = "13 digits before the point"

TOTALS: dict[str, Computing] = {
    "total_whole": _total(MOST_WHOLE, "64 bits"),
    "total_decimal": _total(MOST_DECIMAL, _POINT),
    "mean_whole": _mean_whole,
    "mean_decimal": _mean_decimal,
}
"""Name to what puts parts together."""


class WideTotal:
    """Sums wide numbers, null aside."""

    def __init__(self) -> None:
        self._total = 0
        self._count = 0

    def step(self, value: str | None) -> None:
        """Take a number in."""
        if value is not None:
            self._total += wide_units(value)
            self._count += 1

    def sum(self) -> Stored | None:
        """The sum, a wide number; null of none."""
        if not self._count:
            return None
        if abs(self._total) >= LARGEST:
            raise ComputingFault(f"a sum has a result of more than {_POINT}, which does not fit.")
        return wide_text(self._total)

    def average(self) -> Stored | None:
        """The average as a Decimal, the nearest one with 5 decimals; null of none."""
        if not self._count:
            return None
        return _mean(self._total, self._count * FINER)


WIDE_TOTALS: dict[str, Callable[[WideTotal], Stored | None]] = {
    "sum_wide": WideTotal.sum,
    "average_wide": WideTotal.average,
}
"""Name to what becomes of the numbers that were taken in."""
