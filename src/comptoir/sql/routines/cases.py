"""Python's rules of case as PL/pgSQL looks them up, for what is not ASCII.

Databases change the case of texts by other rules than Python, and by other versions of Unicode. So
the rules are asked of the Python that runs, and put into the statements.
"""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import NamedTuple
from unicodedata import category

from comptoir.sql.routines.quoting import quoted

_NONE = frozenset({"Cn", "Co", "Cs"})
"""The categories of code points that are no characters: unassigned, private, surrogates."""


class Cases(NamedTuple):
    """What changes the case of characters that are not ASCII."""

    others: str
    """A class of characters: those that stay as they are."""

    changed: str
    """What becomes of each of the others, as JSON."""


def cases(change: Callable[[str], str]) -> Cases:
    """What `change` makes of a character, wherever that stands.

    It makes nothing more of what it has made.
    """
    characters = [each for each in _assigned() if not each.isascii()]
    made = zip(characters, map(change, characters), strict=True)
    changed = {each: other for each, other in made if other != each}
    others = quoted(f"[^{_members(changed)}]+")
    return Cases(others, quoted(json.dumps(changed, ensure_ascii=False, separators=(",", ":"))))


def cased() -> str:
    """The characters, as within a class, behind which a word goes on or ends with a Σ."""
    return _members(filter(_is_cased, _assigned()))


def ignorable() -> str:
    """The characters, as within a class, that are passed over to find a cased one."""
    return _members([each for each in _assigned() if _is_passed(each) and not _is_cased(each)])


def _is_cased(character: str) -> bool:
    # behind a cased character a Σ becomes a final one
    return f"{character}Σ".lower()[-1] == "ς"


def _is_passed(character: str) -> bool:
    return f"A{character}Σ".lower()[-1] == "ς"


@cache
def _assigned() -> Sequence[str]:
    """The characters that Unicode has; it says nothing of the case of others."""
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
