"""Checks many cases in one test, and reports each that fails."""

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def check_all(
    cases: Iterable[T], check: Callable[[T], None], name: Callable[[T], str] = repr
) -> None:
    """Check each case, whatever comes of the others; raises the failures of all together.

    A case costs a tenth of one that pytest counts, and runs in an order that is always the same.
    """
    failures = []
    for case in cases:
        try:
            check(case)
        except AssertionError as failure:
            failure.add_note(f"in the case {name(case)}")
            failures.append(failure)
    if failures:
        raise ExceptionGroup("cases that fail", failures)
