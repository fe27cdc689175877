"""How much is tried: what is quick while one works, and all of it in continuous integration."""

import os
from typing import NoReturn

import pytest

IN_CI = os.environ.get("CI") == "true"


def examples(thorough: int) -> int:
    """How many random examples are drawn: in CI as many as given, otherwise a third."""
    return thorough if IN_CI else -(-thorough // 3)


def go_without(message: str) -> NoReturn:
    """Skip the test, since something that it needs is missing; in CI, fail it."""
    if IN_CI:
        pytest.fail(message)
    # whoever lacks a program can still run everything else
    pytest.skip(message)
