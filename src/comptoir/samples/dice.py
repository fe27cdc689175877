"""Chance that can be repeated from any point: each record has dice of its own."""

from collections.abc import Sequence
from hashlib import blake2b
from math import prod
from string import ascii_uppercase, digits
from typing import TypeVar

_T = TypeVar("_T")

_ENOUGH = 1 << 96
_POOLS = {"#": digits, "@": ascii_uppercase}


class Dice:
    """The throws of one record, decided by seed, kind and position alone.

    Made of BLAKE2 (RFC 7693) rather than `random`, which takes ten times as long to seed: every
    record seeds its own, so that any of them can be computed without the ones before it.
    """

    __slots__ = ("_bits", "_digest")

    def __init__(self, seed: int, kind: str, position: int) -> None:
        self._digest = blake2b(f"{seed} {kind} {position}".encode()).digest()
        self._bits = int.from_bytes(self._digest, "big")

    def below(self, limit: int) -> int:
        """A whole number from 0 to `limit` - 1; the limit is at most 2**48."""
        if self._bits < _ENOUGH:
            self._digest = blake2b(self._digest).digest()
            self._bits = int.from_bytes(self._digest, "big")
        self._bits, thrown = divmod(self._bits, limit)
        return thrown

    def between(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def chance(self, percent: int) -> bool:
        """True in so many of a hundred cases."""
        return self.below(100) < percent

    def pick(self, choices: Sequence[_T]) -> _T:
        """One of the choices; what stands there twice comes twice as often."""
        return choices[self.below(len(choices))]


class Form:
    """A text to fill: each `#` becomes a digit, each `@` a capital letter; 10 marks at most."""

    __slots__ = ("_pools", "_template", "_ways")

    def __init__(self, text: str) -> None:
        self._pools = [_POOLS[mark] for mark in text if mark in _POOLS]
        self._template = "".join(
            "%s" if mark in _POOLS else mark for mark in text.replace("%", "%%")
        )
        self._ways = prod(map(len, self._pools))

    def fill(self, dice: Dice) -> str:
        """The text with every mark thrown."""
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
