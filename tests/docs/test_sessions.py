"""The sessions in the pages do what the pages promise, on a service as `make serve` runs it."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.pages import DOCS, ROOT, Step, keeps_promise, links, run, steps
from support.effort import IN_CI
from support.programs import needed

HOW_TOS = [
    DOCS / link
    for link in links(DOCS / "README.md")
    # that one runs on a server of its own
    if link.startswith("how-to/") and link != "how-to/postgresql.md" and steps(DOCS / link)
]
"""The how-tos that have sessions, as the index lists them."""
FIRST_STEPS = [ROOT / "README.md", DOCS / "tutorial.md"]
"""These work on the one sample company, in this order."""
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


@pytest.mark.timeout(600)
@pytest.mark.parametrize("backwards", [False, True] if IN_CI else [False])
def test_the_sessions_do_what_their_pages_promise_in_any_order(
    folder: Path, base_url: str, backwards: bool
) -> None:
    """On one service: a page neither needs nor disturbs what another one has made."""
    broken = []
    how_tos = HOW_TOS[::-1] if backwards else HOW_TOS
    for page in [*how_tos, *FIRST_STEPS]:
        before = _files(folder)
        broken += _broken(page, folder, base_url)
        if page in how_tos:
            left = sorted(_files(folder) ^ before)
            broken += [f"{page.name} does not clean up {each}" for each in left]
    assert not broken, "\n".join(broken)


def _files(folder: Path) -> set[str]:
    """The files in the data folder, except those that SQLite and the service write."""
    found = [each.relative_to(folder).as_posix() for each in (folder / "data").rglob("*")]
    return {each for each in found if "comptoir.db-" not in each and "watermarks." not in each}


def _broken(page: Path, folder: Path, base_url: str) -> list[str]:
    """What a session does otherwise than its page promises."""
    session = steps(page)
    for program, package in PROGRAMS.items():
        if any(re.search(rf"\b{program} ", step.commands) for step in session):
            needed(program, package)
    printed = run(session, folder, _environment(BASE=base_url))
    assert len(printed) == len(session)
    return [
        _told(page, step, text)
        for step, text in zip(session, printed, strict=True)
        if not keeps_promise("" if step.promised is None else step.promised, text)
    ]


def _told(page: Path, step: Step, printed: str) -> str:
    place = f"{page.relative_to(ROOT)}:{step.line}"
    return f"{place}:\n{step.commands}promises:\n{step.promised or ''}\nand prints:\n{printed}"
