"""Cells in text form: flags, amounts, days and moments, and the values that say "none"."""

from datetime import date

from comptoir.samples.dice import Dice

Row = tuple[str, ...]
"""A record: its cells, in the order of the table's columns."""

NO_GUID = "00000000-0000-0000-0000-000000000000"
NO_DATE = "0001-01-01"

AS_OF = date(2026, 7, 1)
"""The day on which the sample company is looked at; nothing has changed after it."""

_LATEST_CHANGE = AS_OF.toordinal() - 1
_SCALE = 100_000


def flag(value: bool) -> str:
    """A Boolean as `true` or `false`."""
    return "true" if value else "false"


def amount(hundred_thousandths: int) -> str:
    """A non-negative amount as digits, without trailing zeros: 3364420 is `33.6442`."""
    whole, rest = divmod(hundred_thousandths, _SCALE)
    return f"{whole}.{rest:05d}".rstrip("0") if rest else str(whole)


def past_day(dice: Dice, days: int) -> str:
    """A day among the last so many before `AS_OF`."""
    return date.fromordinal(_LATEST_CHANGE - dice.below(days)).isoformat()


def past_moment(dice: Dice) -> str:
    """A moment in the working hours of the last two years before `AS_OF`."""
    second = 7 * 3600 + dice.below(11 * 3600)
    minutes, seconds = divmod(second, 60)
    return f"{past_day(dice, 730)}T{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}.000Z"
