"""Checks many cases in one test, and reports each that fails."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import TypeVar

T = TypeVar("T")
Test = Callable[..., None]

LONGEST_NAME = 200
"""The characters of a case that the report of its failure has."""


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


def together(names: str | Sequence[str], cases: Iterable[object]) -> Callable[[Test], Test]:
    """Run a test once for all cases, as `parametrize` would for each: with the same fixtures.

    A case is the value of one argument, or a tuple of the values of several. No case may disturb
    a later one.
    """
    listed = list(cases)
    arguments = (names,) if isinstance(names, str) else names

    def with_cases(test: Test) -> Test:
        def check(case: object, fixtures: Mapping[str, object]) -> None:
            given = (case,) if isinstance(names, str) else case
            assert isinstance(given, tuple)
            test(**dict(zip(arguments, given, strict=True)), **fixtures)

        @wraps(test)
        def run(**fixtures: object) -> None:
            check_all(
                listed, lambda case: check(case, fixtures), lambda case: repr(case)[:LONGEST_NAME]
            )

        signature = inspect.signature(test)
        others = [each for name, each in signature.parameters.items() if name not in arguments]
        vars(run)["__signature__"] = signature.replace(parameters=others)
        return run

    return with_cases
