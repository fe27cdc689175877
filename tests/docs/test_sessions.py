"""The sessions in the pages do what the pages promise, on a service as `make serve` runs it."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.pages import DOCS, ROOT, Step, keeps_promise, run, steps
from support.programs import needed

SESSIONS = [
    ROOT / "README.md",
    DOCS / "tutorial.md",
    *(
        DOCS / "how-to" / f"{name}.md"
        for name in (
            "load",
            "tokens",
            "back-up",
            "copy",
            "change-log",
            "retry",
            "replicas",
            "track-changes",
            "batch",
            "aggregate",
        )
    ),
]
PROGRAMS = {"curl": "curl", "sqlite3": "sqlite3", "openssl": "openssl"}
START_SECONDS = 60


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the service in `.venv`, as `make install` leaves it."""
    (tmp_path / ".venv").symlink_to(Path(sys.executable).parents[1])
    return tmp_path


@pytest.fixture
def base_url(folder: Path) -> Iterator[str]:
    """The base URL of what `make serve` runs, on a free port."""
    command = [".venv/bin/comptoir", "serve", "--quickstart", "--port", "0"]
    with (
        (folder / "greeting").open("w") as greeting,
        subprocess.Popen(command, cwd=folder, stdout=greeting, env=_environment()) as serving,
    ):
        try:
            yield _address(folder / "greeting", serving)
        finally:
            serving.send_signal(signal.SIGTERM)


def _environment(**more: str) -> dict[str, str]:
    """The environment without settings of whoever runs the suite."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COMPTOIR_")}
    return {**kept, "COMPTOIR_LOG_LEVEL": "warning", **more}


def _address(greeting: Path, serving: subprocess.Popen[bytes]) -> str:
    for _ in range(START_SECONDS * 10):
        found = re.search(r"http://\S+/api\b", greeting.read_text())
        if found:
            return found[0]
        try:
            serving.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
        break
    pytest.fail(f"the service did not start: {greeting.read_text()}")


@pytest.mark.parametrize("page", SESSIONS, ids=lambda page: page.name)
def test_a_session_does_what_its_page_promises(page: Path, folder: Path, base_url: str) -> None:
    session = steps(page)
    for program, package in PROGRAMS.items():
        if any(re.search(rf"\b{program} ", step.commands) for step in session):
            needed(program, package)
    printed = run(session, folder, _environment(BASE=base_url))
    assert len(printed) == len(session)
    broken = [
        _told(page, step, text)
        for step, text in zip(session, printed, strict=True)
        if not keeps_promise("" if step.promised is None else step.promised, text)
    ]
    assert not broken, "\n".join(broken)


def _told(page: Path, step: Step, printed: str) -> str:
    place = f"{page.relative_to(ROOT)}:{step.line}"
    return f"{place}:\n{step.commands}promises:\n{step.promised or ''}\nand prints:\n{printed}"
