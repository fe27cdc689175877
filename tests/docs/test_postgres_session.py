"""The session in the page on PostgreSQL prints what the page shows, on a server of its own."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.pages import DOCS, install, is_expected, run, steps
from support.effort import go_without
from support.postgres import ADMINISTRATOR, ROLE, Postgres

PAGE = DOCS / "how-to" / "postgresql.md"


@pytest.fixture
def server() -> Iterator[Postgres]:
    """A server without databases and without the role of the service."""
    with Postgres() as server:
        if not server.programs.has("psql"):
            go_without("psql is missing: install the package postgresql")
        server.administer(f"DROP ROLE {ROLE}")
        yield server


def test_the_session_prints_what_the_page_shows(server: Postgres, tmp_path: Path) -> None:
    install(tmp_path)
    kept = {name: value for name, value in os.environ.items() if "COMPTOIR" not in name}
    session = steps(PAGE)
    printed = run(
        session,
        tmp_path,
        {
            **kept,
            "PATH": f"{server.programs.folder}{os.pathsep}{kept['PATH']}",
            "PGHOST": str(server.place.folder),
            "PGPORT": str(server.port),
            "PGUSER": ADMINISTRATOR,
        },
    )
    assert len(printed) == len(session)
    for step, text in zip(session, printed, strict=True):
        # the page says that the extension may be missing, which migrate reports
        lines = [line for line in text.splitlines() if "pg_trgm cannot be had" not in line]
        said = "\n".join(lines)
        assert is_expected(step.expected or "", said), f"{PAGE.name}:{step.line}: {text}"
    # the page has dropped its role
    server.administer(f"CREATE ROLE {ROLE}")
