"""Python's rules of case as PL/pgSQL looks them up, for what is not ASCII.

Databases change the case of texts by other rules than Python, and by other versions of Unicode. So
the statements contain the rules of the Python that runs.
"""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import NamedTuple
from unicodedata import category

from comptoir.sql.dialects.postgresql.routines.quoting import quoted

_NONE = frozenset({"Cn", "Co", "Cs"})
"""The categories of code points without a character: unassigned, private, surrogates."""


class Cases(NamedTuple):
    """What changes the case of characters that are not ASCII."""

    others: str
    """A class of the characters that stay as they are."""

    changed: str
    """The replacement of each other character, as JSON."""


def cases(change: Callable[[str], str]) -> Cases:
    """The replacements of characters by `change`, which leaves its own results as they are."""
    characters = [each for each in _assigned() if not each.isascii()]
    made = zip(characters, map(change, characters), strict=True)
    changed = {each: other for each, other in made if other != each}
    others = quoted(f"[^{_members(changed)}]+")
    return Cases(others, quoted(json.dumps(changed, ensure_ascii=False, separators=(",", ":"))))


def cased() -> str:
    """The characters, as within a class, after which Σ is inside or at the end of a word."""
    return _members(filter(_is_cased, _assigned()))


def ignorable() -> str:
    """The characters, as within a class, that are ignored on the way to a cased one."""
    return _members([each for each in _assigned() if _is_passed(each) and not _is_cased(each)])


def _is_cased(character: str) -> bool:
    # after a cased character, a last Σ becomes ς
    return f"{character}Σ".lower()[-1] == "ς"


def _is_passed(character: str) -> bool:
    return f"A{character}Σ".lower()[-1] == "ς"


@cache
def _assigned() -> Sequence[str]:
    """The assigned characters: Unicode has no rules of case for others."""
    return [each for each in map(chr, range(1, sys.maxunicode + 1)) if category(each) not in _NONE]


def _members(characters: Iterable[str]) -> str:
    """Characters as within a class."""
    runs: list[tuple[str, str]] = []
    for each in characters:
        if runs and ord(runs[-1][1]) == ord(each) - 1:
            runs[-1] = (runs[-1][0], each)
        else:
            runs.append((each, each))
    return "".join([first if first == last else f"{first}-{last}" for first, last in runs])
