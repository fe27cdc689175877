"""The job of GitHub Actions: its tests pass, and its report says what they have met."""

import shutil
import sys
from pathlib import Path

import msgspec
import yaml  # type: ignore[import-untyped]

from examples.conftest import EXAMPLES
from support.programs import finished


def test_the_job_runs_the_tests_of_the_sync(tmp_path: Path, cache_folder: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(EXAMPLES, tmp_path / "examples", ignore=ignored)
    # as in a checkout, whose own tests have other settings
    shutil.copy(EXAMPLES.parent / "pyproject.toml", tmp_path)
    workflow = yaml.safe_load((EXAMPLES / "ci" / "rehearsal.yml").read_text())
    commands = [step["run"] for step in workflow["jobs"]["bad-days"]["steps"] if "run" in step]
    install, test = commands
    assert install.startswith("pip install .")
    program, *arguments = test.split()
    assert program == "python3"
    finished(
        ["env", "-C", str(tmp_path), sys.executable, *arguments],
        # without a plugin that takes longer to import than the rest
        {"XDG_CACHE_HOME": str(cache_folder), "PYTEST_ADDOPTS": "-p no:hypothesispytest"},
    )
    report = msgspec.json.decode((tmp_path / "report.json").read_bytes())
    assert {name for name, line in report.items() if line["recovered"] == "yes"} == {
        "stale-tag",
        "throttling",
        "lost-answer",
    }


def test_the_index_lists_every_example() -> None:
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    programs = [*EXAMPLES.rglob("*.py"), *EXAMPLES.rglob("*.mjs"), *EXAMPLES.rglob("*.yml")]
    names = {each.relative_to(EXAMPLES).as_posix() for each in programs}
    assert names - {"ci/conftest.py"} == {name for name in names if f"]({name})" in page}
