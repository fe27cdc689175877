"""The wheel and the sdist, as a release builds them."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Built:
    """The files of one build."""

    wheel: Path
    sdist: Path


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The packages of this source tree, built with the locked tools."""
    target = tmp_path_factory.mktemp("dist")
    command: list[str | Path] = [sys.executable, "-m", "hatchling", "build", "-d", target]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = target.glob("*.whl")
    (sdist,) = target.glob("*.tar.gz")
    return Built(wheel, sdist)
