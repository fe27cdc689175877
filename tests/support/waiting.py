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

PAUSE_SECONDS = 0.002
"""Between two checks, the processor is left to what the test waits for."""


def until(look: Callable[[], T | None], awaited: str) -> T:
    """The first result of `look` that is not None; fails after a time limit."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        found = look()
        if found is not None:
            return found
        time.sleep(PAUSE_SECONDS)
    raise AssertionError(f"after {PATIENCE_SECONDS} s there is still not {awaited}")
