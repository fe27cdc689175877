"""The sessions in the pages print what the pages show, on a service as `make serve` runs it.

The how-tos share the service of a test process, in any order. A page neither needs nor disturbs
what another one creates.
"""

import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from docs.pages import DOCS, ROOT, Step, is_expected, links, run, steps
from support.effort import IN_CI
from support.programs import needed

HOW_TOS = [
    DOCS / link
    for link in links(DOCS / "README.md")
    # that page has a test with a PostgreSQL server
    if link.startswith("how-to/") and link != "how-to/postgresql.md" and steps(DOCS / link)
]
"""The how-tos with sessions, in the order of the index."""
FIRST_STEPS = [ROOT / "README.md", DOCS / "tutorial.md"]
"""These pages use the sample company, in this order."""
PROGRAMS = {"curl": "curl", "sqlite3": "sqlite3", "openssl": "openssl"}
START_SECONDS = 60
INSTALLED = Path(sys.executable).parent
FORK_CLIENT = ROOT / "tests" / "support" / "fork_client.py"


@dataclass(frozen=True)
class Service:
    """A quickstart in a folder, with a `.venv` as `make install` creates it.

    Its `comptoir` is a program that forks, since the pages run the command fifty times.
    """

    folder: Path
    base_url: str

    def companies(self) -> list[tuple[str, str]]:
        """The names and ids of the companies."""
        with closing(sqlite3.connect(self.folder / "data" / "comptoir.db")) as database:
            return sorted(database.execute("SELECT name, company_id FROM companies"))

    def files(self) -> set[str]:
        """The files in the data folder, except those that SQLite and the service write."""
        data = (self.folder / "data").rglob("*")
        found = [each.relative_to(self.folder).as_posix() for each in data]
        return {each for each in found if "comptoir.db-" not in each and "watermarks." not in each}


@contextmanager
def serving(folder: Path) -> Iterator[Service]:
    """What `make serve` runs, on a free port."""
    command = [str(INSTALLED / "comptoir"), "serve", "--quickstart", "--port", "0"]
    (folder / ".venv" / "bin").mkdir(parents=True)
    for program in INSTALLED.iterdir():
        if program.name != "comptoir":
            (folder / ".venv" / "bin" / program.name).symlink_to(program)
    forked = folder / ".venv" / "bin" / "comptoir"
    forked.write_text(f"#!{sys.executable} -IS\n{FORK_CLIENT.read_text()}")
    forked.chmod(0o755)
    with (
        (folder / "greeting").open("w") as greeting,
        subprocess.Popen(command, cwd=folder, stdout=greeting, env=_environment()) as process,
    ):
        try:
            yield Service(folder, _address(folder / "greeting", process))
        finally:
            process.send_signal(signal.SIGTERM)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The service that the how-tos of this test process share."""
    with serving(tmp_path_factory.mktemp("serve")) as service:
        yield service


def _environment(**more: str) -> dict[str, str]:
    """The environment without the settings of the user who runs the suite."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COMPTOIR_")}
    return {**kept, "COMPTOIR_LOG_LEVEL": "warning", **more}


def _address(greeting: Path, process: subprocess.Popen[bytes]) -> str:
    for _ in range(START_SECONDS * 10):
        found = re.search(r"http://\S+/api\b", greeting.read_text())
        if found:
            return found[0]
        try:
            process.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
        break
    pytest.fail(f"the service did not start: {greeting.read_text()}")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("page", HOW_TOS, ids=lambda page: page.stem)
def test_a_how_to_prints_what_it_shows_and_cleans_up(service: Service, page: Path) -> None:
    files, companies = service.files(), service.companies()
    assert_session(page, service)
    assert sorted(service.files() ^ files) == []
    assert service.companies() == companies


@pytest.mark.timeout(600)
@pytest.mark.parametrize("before", [[], HOW_TOS[::-1]] if IN_CI else [[]], ids=len)
def test_the_first_steps_print_what_they_show(tmp_path: Path, before: list[Path]) -> None:
    """With CI=true also after all how-tos, in reverse order."""
    with serving(tmp_path) as service:
        for page in [*before, *FIRST_STEPS]:
            assert_session(page, service)
        assert len(service.companies()) == 1


def assert_session(page: Path, service: Service) -> None:
    """Run the session of a page, and fail with the differences between the page and its output."""
    session = steps(page)
    for program, package in PROGRAMS.items():
        if any(re.search(rf"\b{program} ", step.commands) for step in session):
            needed(program, package)
    printed = run(session, service.folder, _environment(BASE=service.base_url))
    assert len(printed) == len(session)
    found = [
        _difference(page, step, text)
        for step, text in zip(session, printed, strict=True)
        if not is_expected("" if step.expected is None else step.expected, text)
    ]
    assert not found, "\n".join(found)


def _difference(page: Path, step: Step, printed: str) -> str:
    place = f"{page.relative_to(ROOT)}:{step.line}"
    return f"{place}:\n{step.commands}shows:\n{step.expected or ''}\nand prints:\n{printed}"
