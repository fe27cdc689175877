"""The name that was probably meant by one that nothing has."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

LONGEST = 40
"""The longest name, in characters, for which a nearest one is looked for."""

MOST_KNOWN = 100
"""How many names one is compared with: a client may compute any number of its own."""

_SUFFIX = "ext"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like a name in any case, with or without the suffix `Ext`."""
    if len(name) > LONGEST:
        return None
    sought = name.lower()
    by_lower = {each.lower(): each for each in islice(known, MOST_KNOWN)}
    for form in (sought, sought + _SUFFIX):
        if form in by_lower:
            return by_lower[form]
    found = get_close_matches(sought, by_lower, n=1)
    return by_lower[found[0]] if found else None


def suggestion(name: str, known: Iterable[str]) -> str:
    """A question that names the nearest known name; empty where there is none."""
    found = nearest(name, known)
    return "" if found is None else f"Did you mean {found}?"
