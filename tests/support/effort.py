"""The effort of the suite: few random examples by default, and more for `EXAMPLES=10 make test`."""

import os
from typing import NoReturn

import pytest

IN_CI = os.environ.get("CI") == "true"

TIMES = int(os.environ.get("EXAMPLES", "1"))
"""How many times the usual number of random examples each test tries."""


def examples(usual: int) -> int:
    """The number of random examples of a test, which usually take a second or less."""
    return usual * TIMES


def go_without(message: str) -> NoReturn:
    """Skip the test because a program is missing; in CI, fail it."""
    if IN_CI:
        pytest.fail(message)
    # without the program, all other tests can still run
    pytest.skip(message)
