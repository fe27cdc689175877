"""Waits for a condition by checking it repeatedly, not for a time."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE_SECONDS = 100
"""The time limit of each step of a test.

Only what never ends reaches it, on a slow machine too. pytest ends a test that has several such
steps.
"""

PAUSES = (0.002, 0.1)
"""The shortest and the longest seconds between two checks, for which others have the processor."""


def until(look: Callable[[], T | None], awaited: str) -> T:
    """The first result of `look` that is not None; fails after a time limit."""
    began = time.monotonic()
    shortest, longest = PAUSES
    while (waited := time.monotonic() - began) < PATIENCE_SECONDS:
        found = look()
        if found is not None:
            return found
        # a look may cost more than the pause, and takes the processor from what is awaited
        time.sleep(min(max(shortest, waited / 10), longest))
    raise AssertionError(f"after {PATIENCE_SECONDS} s there is still not {awaited}")
