"""What texts mean is kept for those who ask again: of short texts much, of long ones little.

What a text means is some twenty times as large as the text, so it is the long ones that count.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from comptoir.plan.expressions.binding_context import BindingContext

LONG = 2_000
"""How many characters a text has that is long."""

LONG_KEPT = 32
"""How many long texts of a sort are kept with what they mean."""

T = TypeVar("T")


def kept(
    count: int,
) -> Callable[[Callable[[BindingContext, str], T]], Callable[[BindingContext, str], T]]:
    """Lets a reader of texts keep what `count` short ones and some long ones mean."""

    def keeping(read: Callable[[BindingContext, str], T]) -> Callable[[BindingContext, str], T]:
        of_short, of_long = lru_cache(count)(read), lru_cache(LONG_KEPT)(read)

        def reading(binding: BindingContext, text: str) -> T:
            return of_long(binding, text) if len(text) > LONG else of_short(binding, text)

        return reading

    return keeping
