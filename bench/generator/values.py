"""Repeatable random values, and cells in the text form of a load."""

from collections.abc import Sequence
from datetime import date
from hashlib import blake2b
from math import prod
from string import ascii_uppercase, digits
from typing import TypeVar

_T = TypeVar("_T")

Row = tuple[str, ...]
"""A record: its cells, in the order of the table's columns."""

NO_GUID = "00000000-0000-0000-0000-000000000000"
NO_DATE = "0001-01-01"

AS_OF = date(2026, 7, 1)
"""The current day of a sample company; no record has a later change."""

_LATEST_CHANGE = AS_OF.toordinal() - 1
_SCALE = 100_000
_ENOUGH = 1 << 96
_POOLS = {"#": digits, "@": ascii_uppercase}


class Dice:
    """A pseudo-random number generator for one record, seeded by seed, kind and position.

    It uses BLAKE2 (RFC 7693), since `random` takes ten times as long to seed. Every record has its
    own generator, so any record can be computed without the ones before it.
    """

    __slots__ = ("_bits", "_digest")

    def __init__(self, seed: int, kind: str, position: int) -> None:
        self._digest = blake2b(f"{seed} {kind} {position}".encode()).digest()
        self._bits = int.from_bytes(self._digest, "big")

    def below(self, limit: int) -> int:
        """An integer from 0 to `limit` - 1; the limit is at most 2**48."""
        if self._bits < _ENOUGH:
            self._digest = blake2b(self._digest).digest()
            self._bits = int.from_bytes(self._digest, "big")
        self._bits, drawn = divmod(self._bits, limit)
        return drawn

    def between(self, low: int, high: int) -> int:
        """An integer from `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def chance(self, percent: int) -> bool:
        """True with a probability of `percent`."""
        return self.below(100) < percent

    def pick(self, choices: Sequence[_T]) -> _T:
        """One of the choices; a choice that is listed twice is picked twice as often."""
        return choices[self.below(len(choices))]


class Form:
    """A template: each `#` becomes a digit, each `@` a capital letter; at most 10 of them."""

    __slots__ = ("_pools", "_template", "_ways")

    def __init__(self, text: str) -> None:
        self._pools = [_POOLS[mark] for mark in text if mark in _POOLS]
        self._template = "".join(
            "%s" if mark in _POOLS else mark for mark in text.replace("%", "%%")
        )
        self._ways = prod(map(len, self._pools))

    def fill(self, dice: Dice) -> str:
        """Fill the template with random digits and letters."""
        rest = dice.below(self._ways)
        marks = []
        for pool in self._pools:
            rest, at = divmod(rest, len(pool))
            marks.append(pool[at])
        return self._template % tuple(marks)


def guid(seed: int, kind: str, name: object) -> str:
    """The Guid of a record, from its seed, kind and name or position (RFC 9562, version 8)."""
    found = blake2b(f"{seed} {kind} {name}".encode(), digest_size=16, person=b"guid").hexdigest()
    return f"{found[:8]}-{found[8:12]}-8{found[13:16]}-9{found[17:20]}-{found[20:]}"


def flag(value: bool) -> str:
    """A Boolean as `true` or `false`."""
    return "true" if value else "false"


def amount(hundred_thousandths: int) -> str:
    """A non-negative amount without trailing zeros: 3364420 is `33.6442`."""
    whole, rest = divmod(hundred_thousandths, _SCALE)
    return f"{whole}.{rest:05d}".rstrip("0") if rest else str(whole)


def past_day(dice: Dice, days: int) -> str:
    """One of the last `days` days before `AS_OF`."""
    return date.fromordinal(_LATEST_CHANGE - dice.below(days)).isoformat()


def past_instant(dice: Dice) -> str:
    """A time in the working hours of the last two years before `AS_OF`."""
    second = 7 * 3600 + dice.below(11 * 3600)
    minutes, seconds = divmod(second, 60)
    return f"{past_day(dice, 730)}T{minutes // 60:02d}:{minutes % 60:02d}:{seconds:02d}.000Z"
