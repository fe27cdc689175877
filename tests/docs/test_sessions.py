"""The sessions in the pages print what the pages show, on a service as `make serve` runs it.

The how-tos share the service of a test process, in any order. A page neither needs nor disturbs
what another one creates.
"""

import os
import re
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import apsw
import pytest
import yaml  # type: ignore[import-untyped]

from docs.pages import DOCS, ROOT, install, is_expected, links, run, steps
from support.effort import go_without
from support.postgres import ADMINISTRATOR, ROLE, Postgres
from support.processes import Process
from support.programs import needed, node
from support.quickstart import ready_lines

pytestmark = pytest.mark.timeout(600)

LIBRARIES = DOCS / "how-to" / "client-libraries.md"
"""This page needs HTTPS."""
REHEARSAL = DOCS / "how-to" / "rehearse-in-ci.md"
"""This page needs faults, and the profile of Business Central."""
API_V2 = DOCS / "how-to" / "api-v2.md"
"""This page needs the catalog of the API v2.0, and the profile of Business Central."""
POSTGRESQL = DOCS / "how-to" / "postgresql.md"
WITH_THEIR_OWN = (LIBRARIES, REHEARSAL, API_V2, POSTGRESQL)
"""The pages with a service or a server of their own."""
HOW_TOS = [
    DOCS / link
    for link in links(DOCS / "README.md")
    if link.startswith("how-to/") and DOCS / link not in WITH_THEIR_OWN and steps(DOCS / link)
]
"""The how-tos with sessions, in the order of the index."""
FIRST_STEPS = [ROOT / "README.md", DOCS / "tutorial.md"]
"""These pages use the sample company, in this order."""
RUN = [each for each in (DOCS / "how-to").glob("*.md") if steps(each)]
"""All how-tos with sessions."""
IN_CONTROL = {
    **dict.fromkeys(("companies", "clients", "roles", "issuers"), "name"),
    "subscriptions": "id",
}
"""The tables with what a page may create besides records, and the column that names it."""
CREATED = re.compile(r"comptoir (?:company create|sample --company-name) '([^']+)'")
PROGRAMS = {"curl": "curl", "sqlite3": "sqlite3", "openssl": "openssl"}
PYTEST = {"PYTEST_ADDOPTS": "-p no:schemathesis -p no:hypothesispytest"}
"""Without two plugins that take longer to import than the rest."""


@dataclass(frozen=True)
class Service:
    """A quickstart in a folder, with the command as `make install` creates it."""

    folder: Path
    base_url: str
    greeting: str

    def created(self) -> set[tuple[str, str]]:
        """The companies, clients, roles, issuers and subscriptions."""
        with closing(apsw.Connection(str(self.folder / "data" / "comptoir.db"))) as database:
            return {
                (table, name)
                for table, column in IN_CONTROL.items()
                for (name,) in database.execute(f"SELECT {column} FROM {table}")
            }

    def files(self) -> set[str]:
        """The files in the data folder, except those that SQLite and the service write."""
        data = (self.folder / "data").rglob("*")
        found = [each.relative_to(self.folder).as_posix() for each in data]
        return {each for each in found if "comptoir.db-" not in each and "watermarks." not in each}


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[Service]:
    """What `make serve` runs, on a free port."""
    install(folder)
    command = ("serve", "--quickstart", "--port", "0", *options)
    with (
        (folder / "service.log").open("wb") as log,
        Process(command, _environment(), folder, errors=log) as process,
    ):
        greeting = "\n".join(ready_lines(process))
        try:
            address = re.search(r"https?://\S+/api\b", greeting)
            assert address is not None, (folder / "service.log").read_text()
            yield Service(folder, address[0], greeting)
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


@pytest.mark.parametrize("page", HOW_TOS, ids=lambda page: page.stem)
def test_a_how_to_prints_what_it_shows_and_cleans_up(service: Service, page: Path) -> None:
    assert_session(page, service)


def test_a_how_to_uses_a_company_of_its_own() -> None:
    """It does not depend on pages that were read before, nor on the sample of the quickstart."""
    for page in RUN:
        commands = "\n".join(step.commands for step in steps(page))
        assert "Comptoir Sample" not in commands, page
        before, used, _ = commands.partition("$COMPANY")
        assert not used or CREATED.search(before), f"{page}: create a company before its first use"


def test_no_two_how_tos_use_the_same_company() -> None:
    pages = [page for page in RUN for _ in set(CREATED.findall(page.read_text("utf-8")))]
    names = {name for page in RUN for name in CREATED.findall(page.read_text("utf-8"))}
    assert len(names) == len(pages) > 10


def test_the_first_steps_print_what_they_show(tmp_path: Path) -> None:
    with serving(tmp_path) as service:
        for page in FIRST_STEPS:
            assert_shown(page, tmp_path, BASE=service.base_url)
        assert [table for table, _ in service.created()] == ["companies"]


def test_client_libraries_print_what_their_page_shows(tmp_path: Path) -> None:
    """With the variables that the service prints, so that clients trust it."""
    (tmp_path / "node_modules").symlink_to(node().packages, target_is_directory=True)
    with serving(tmp_path, "--https") as service:
        trusting = dict(re.findall(r"^export (\w+)=(/.+)$", service.greeting, re.MULTILINE))
        assert_session(LIBRARIES, service, **trusting)


def test_a_rehearsal_prints_what_its_page_shows(tmp_path: Path, cache_folder: Path) -> None:
    """The job in the page consists of commands that run here."""
    workflow = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", REHEARSAL.read_text(), re.DOTALL)[0])
    (job,) = workflow["jobs"].values()
    lines = [line for step in job["steps"] for line in step.get("run", "").splitlines()]
    session = [line for step in steps(REHEARSAL) for line in step.commands.splitlines()]
    others = [line for line in lines if line not in session]
    assert [line.split(" ")[:2] for line in others] == [
        ["pip", "install"],
        ["comptoir", "serve"],
        ["curl", "-sS"],
    ]
    options = ("--profile", "business-central", "--faults")
    assert f"--quickstart {' '.join(options)}" in others[1]
    assert job["env"]["BASE"] == "http://127.0.0.1:8080/api"
    with serving(tmp_path, *options) as service:
        assert_session(REHEARSAL, service, XDG_CACHE_HOME=str(cache_folder), **PYTEST)


def test_the_api_v2_prints_what_its_page_shows(tmp_path: Path) -> None:
    options = ("--catalog", "business-central-v2", "--profile", "business-central")
    assert f"serve --quickstart {' '.join(options)}\n" in API_V2.read_text("utf-8")
    with serving(tmp_path, *options) as service:
        assert_session(API_V2, service)


def test_the_page_on_postgresql_prints_what_it_shows(tmp_path: Path) -> None:
    """It begins on a server without databases, and without the role of the service."""
    install(tmp_path)
    with Postgres() as server:
        if not server.programs.has("psql"):
            go_without("psql is missing: install the package postgresql")
        server.administer(f"DROP ROLE {ROLE}")
        assert_shown(
            POSTGRESQL,
            tmp_path,
            PATH=f"{server.programs.folder}{os.pathsep}{os.environ['PATH']}",
            PGHOST=str(server.place.folder),
            PGPORT=str(server.port),
            PGUSER=ADMINISTRATOR,
        )
        # the page has dropped its role
        server.administer(f"CREATE ROLE {ROLE}")


def assert_session(page: Path, service: Service, **variables: str) -> None:
    """Run the session of a page, which must show what it prints, and leave nothing."""
    files, created = service.files(), service.created()
    assert_shown(page, service.folder, BASE=service.base_url, **variables)
    assert sorted(service.files() ^ files) == []
    assert sorted(service.created() ^ created) == []


def assert_shown(page: Path, folder: Path, **variables: str) -> None:
    """Run the session of a page, and fail with the differences between the page and its output."""
    session = steps(page)
    assert session, page
    for program, package in PROGRAMS.items():
        if any(re.search(rf"\b{program} ", step.commands) for step in session):
            needed(program, package)
    printed = run(session, folder, _environment(**variables))
    found = []
    for step, text in zip(session, printed, strict=True):
        # the page on PostgreSQL says that the extension may be missing, which migrate reports
        lines = [line for line in text.splitlines() if "pg_trgm cannot be had" not in line]
        if not is_expected(step.expected or "", "\n".join(lines)):
            place = f"{page.relative_to(ROOT)}:{step.line}"
            shown = f"{step.commands}shows:\n{step.expected or ''}\nand prints:\n{text}"
            found.append(f"{place}:\n{shown}")
    assert not found, "\n".join(found)
