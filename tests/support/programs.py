"""Programs beside Python that some tests need."""

import os
import shutil

import pytest


def needed(program: str, package: str) -> str:
    """The program's path; skips the test where it is missing, but fails it in CI."""
    path = shutil.which(program)
    if path is None:
        message = f"{program} is missing: install the package {package}"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return path
