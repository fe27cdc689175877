"""A command imports only what it uses, and checks a database once.

Help and `token` need no database and no HTTP.
"""

from pathlib import Path

import pytest

from support.command import Command
from support.databases import migrated
from support.postgres import Databases
from support.postgres_proxy import StatementProxy

SERVING = {
    *("sqlalchemy", "asyncpg", "starlette", "uvicorn", "mimesis"),
    *("pyarrow", "offapi", "asyncio"),
}
"""Packages that the service uses."""


def imported(command: Command, *arguments: str) -> set[str]:
    """The packages that a command has imported at its end."""
    ended = command.run(*arguments, through=["env", "PYTHONPROFILEIMPORTTIME=1"])
    assert ended.status == 0, ended.err
    lines = [line for line in ended.err.splitlines() if line.startswith("import time:")]
    return {line.split()[-1].partition(".")[0] for line in lines}


@pytest.mark.parametrize("arguments", ["--help", "--version", "token --help", "token"])
def test_a_command_that_needs_no_database_imports_none(arguments: str, command: Command) -> None:
    found = imported(command, *arguments.split())
    assert "click" in found
    assert SERVING & found == set()


def test_a_token_for_a_company_imports_the_store(command: Command) -> None:
    found = imported(command, "token", "--company", "c0ffee00-0000-4000-8000-000000000001")
    assert {"joserfc", "sqlalchemy"} <= found


def test_a_command_checks_a_server_once(postgres_server: Databases, tmp_path: Path) -> None:
    with StatementProxy(migrated(postgres_server)) as proxy:
        Command(tmp_path, proxy.url).done("company", "list")
    (checks,) = [each for text, each in proxy.statements.items() if "server_version_num" in text]
    assert len(checks) == 1
