"""Tests that are coroutines, and work beside an event loop."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def in_event_loop(test: Callable[P, Coroutine[object, object, None]]) -> Callable[P, None]:
    """Run a test in an event loop of its own, with the same fixtures."""

    @wraps(test)
    def run(*given: P.args, **named: P.kwargs) -> None:
        asyncio.run(test(*given, **named))

    return run


def in_thread(work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """Do something in another thread, where it may run an event loop of its own."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work, *given, **named).result()
