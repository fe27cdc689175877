"""What texts mean is kept for those who ask again: of short texts much, of long ones little.

What a text means is some twenty times as large as the text, so it is the long ones that count.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from comptoir.plan.expressions.grounds import Grounds

LONG = 2_000
"""How many characters a text has that is long."""

LONG_KEPT = 32
"""How many long texts of a sort are kept with what they mean."""

T = TypeVar("T")


def kept(count: int) -> Callable[[Callable[[Grounds, str], T]], Callable[[Grounds, str], T]]:
    """Lets a reader of texts keep what `count` short ones and some long ones mean."""

    def keeping(read: Callable[[Grounds, str], T]) -> Callable[[Grounds, str], T]:
        of_short, of_long = lru_cache(count)(read), lru_cache(LONG_KEPT)(read)

        def reading(grounds: Grounds, text: str) -> T:
            return of_long(grounds, text) if len(text) > LONG else of_short(grounds, text)

        return reading

    return keeping
