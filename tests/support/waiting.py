"""Waits for a condition by checking it repeatedly, without sleeping."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE_SECONDS = 30


def until(look: Callable[[], T | None], awaited: str) -> T:
    """The first result of `look` that is not None; fails after a time limit."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        found = look()
        if found is not None:
            return found
    raise AssertionError(f"after {PATIENCE_SECONDS} s there is still not {awaited}")
