"""Waiting for what comes about by itself, by looking again and again, never by sleeping."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE_SECONDS = 30


def until(look: Callable[[], T | None], awaited: str) -> T:
    """What `look` finds, once it finds something; fails when it does not come about."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        found = look()
        if found is not None:
            return found
    raise AssertionError(f"after {PATIENCE_SECONDS} s there is still not {awaited}")
