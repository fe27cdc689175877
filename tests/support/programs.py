"""Programs beside Python that some tests need."""

import os
import shutil
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

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


def needed_module(name: str, package: str) -> ModuleType:
    """A module of Python; skips the test where it is missing, but fails it in CI."""
    if find_spec(name) is None:
        message = f"{name} is missing: install the package {package}"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return import_module(name)
