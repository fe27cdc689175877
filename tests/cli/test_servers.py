"""PostgreSQL databases that cannot be used: an error in one line, without the password."""

import re
import signal
import socket
from pathlib import Path
from urllib.parse import urljoin, urlsplit
from uuid import uuid4

import pytest

from comptoir.store.postgres import connection as postgres_connection
from support.command import Command
from support.ports import LOOPBACK
from support.postgres import Databases, name_of
from support.sockets import http_client
from support.together import together

COMMANDS = (("migrate",), ("company", "list"))


def error(command: Command, url: str) -> str:
    """The error of commands on a database, which is the same line for all of them."""
    lines = {command.error(*each, "--database", url) for each in COMMANDS}
    assert len(lines) == 1, lines
    line = lines.pop()
    assert "hush" not in line
    return line


def test_a_wrong_place_is_reported(
    command: Command, postgres_server: Databases, tmp_path: Path
) -> None:
    """A host, a port, a socket, a password, and a database."""
    assert "check host and port" in error(command, "postgresql://me:hush@none.invalid/x").lower()
    with socket.socket() as reserved:
        reserved.bind((LOOPBACK, 0))
        port = reserved.getsockname()[1]
        line = error(command, f"postgresql://me:hush@{LOOPBACK}:{port}/x")
    assert f"postgresql://me:***@{LOOPBACK}:{port}/x" in line
    assert "Check host and port" in line
    line = error(command, f"postgresql://me:hush@/x?host={tmp_path}")
    assert "No such file or directory" in line
    line = error(command, postgres_server.url("postgres", password="hush"))
    assert "password authentication failed" in line
    assert "PGPASSWORD" in line
    line = error(command, postgres_server.url("nosuch"))
    assert 'database "nosuch" does not exist' in line
    assert "CREATE DATABASE" in line


def test_parameters_that_the_server_does_not_have_are_reported(
    command: Command, postgres_url: str
) -> None:
    assert "Check sslmode" in error(command, f"{postgres_url}?sslmode=require")
    line = error(command, f"{postgres_url}?sslmod=require")
    assert 'unrecognized configuration parameter "sslmod"' in line
    line = error(command, f"{postgres_url}?target_session_attrs=standby")
    assert "None of the hosts match" in line
    assert "correct target_session_attrs" in line


@together(
    ("url", "said"),
    [
        ("postgresql://me:hu@sh@host/x", "%40"),
        ("postgresql://me:hu#sh@host/x", "%23"),
        ("postgresql://me:hu/sh@host/x", "%2F"),
        ("postgresql://me:12/sh@host/x", "%2F"),
        ("postgresql://me:hu?sh@host/x", "%3F"),
        ("postgresql://me:hush@[::1/x", "host"),
        ("postgresql://me:hu://sh@host/x", "%2F"),
        ("postgresql://me:hush@host:99999/x", "a port must be"),
        ("postgresql://me:hush@host:abc/x", "a port must be"),
        ("postgresql://me:hush@host/x?port=0", "a port must be"),
        ("postgresql://me:hush@one,,two/x", "a host is empty"),
        ("postgresql://me:hush@host/x?sslmode=on", "sslmode must be one of disable, allow"),
        ("postgresql://me:hush@host/x?target_session_attrs=rw", "must be one of any, primary"),
        ("postgresql://me:hush@host/x?sslrootcert=none.pem", "none.pem, which cannot be read"),
        ("postgresql://me:hush@host/x?service=none", "declares no service none"),
        ("postgresql://me:hush@host/x?loose", "its host or its parameters are ambiguous"),
        ("postgres:me:hush@host/x", "invalid database '"),
        ("mysql://me:hush@host/x", "invalid database '"),
        ("postgresql://host/x?password=hush&port=x", "a port must be"),
    ],
)
def test_a_malformed_url_is_reported_without_the_password(
    command: Command, url: str, said: str
) -> None:
    line = error(command, url)
    assert said in line
    assert not re.search("hu|sh@|12", line.partition(" Write ")[0])


@pytest.mark.parametrize(
    ("name", "value"), [("PGPORT", "abc"), ("PGHOST", "one,,two"), ("PGSSLMODE", "on")]
)
def test_a_malformed_variable_is_reported(
    command: Command, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    assert "environment variable" in error(command, "postgresql:///x?user=me")


def test_variables_complete_a_url(
    command: Command, postgres_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    parts = urlsplit(postgres_url)
    monkeypatch.setenv("PGHOST", parts.hostname or "")
    monkeypatch.setenv("PGPORT", str(parts.port))
    services = tmp_path / "services"
    services.write_text(f"[erp]\ndbname={name_of(postgres_url)}\nuser={parts.username}\n")
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    passwords = tmp_path / "passwords"
    passwords.write_text(f"*:*:*:*:{parts.password}\n")
    passwords.chmod(0o600)
    url = f"postgresql://?service=erp&passfile={passwords}"
    assert command.done("migrate", "--database", url).out.startswith(url)


def hasty(command: Command, seconds: float) -> tuple[str, Path]:
    return "--config", command.config(f"connect_seconds = {seconds}\nlock_seconds = {seconds}\n")


def test_a_host_that_does_not_respond_is_reported(command: Command, silent: str) -> None:
    url = f"postgresql://me:hush@{silent}/x"
    line = command.error("migrate", "--database", url, *hasty(command, 0.1))
    assert "does not respond in time" in line


def test_a_silent_host_leaves_time_for_the_next(
    command: Command, silent: str, postgres_url: str
) -> None:
    url = postgres_url.replace("@", f"@{silent},")
    # half of the time is for the server that responds
    assert command.done("migrate", "--database", url, *hasty(command, 6)).out


def test_an_old_server_is_reported(
    command: Command, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_connection, "MINIMUM_VERSION", 99)
    assert "99 or later is needed" in error(command, postgres_url)


def test_another_encoding_is_reported(command: Command, postgres_server: Databases) -> None:
    name = f"latin_{uuid4().hex}"
    postgres_server.administer(
        f"CREATE DATABASE {name} ENCODING 'LATIN1' TEMPLATE template0 OWNER comptoir"
    )
    line = error(command, postgres_server.url(name))
    assert "encoding LATIN1, not UTF8" in line


def test_a_role_without_the_right_to_create_is_reported(
    command: Command, postgres_server: Databases, postgres_url: str
) -> None:
    role = f"guest_{uuid4().hex}"
    name = name_of(postgres_url)
    postgres_server.administer(f"CREATE ROLE {role} LOGIN PASSWORD 'hush'")
    postgres_server.administer("REVOKE CREATE ON SCHEMA public FROM public", database=name)
    try:
        url = f"postgresql://{role}:hush@{LOOPBACK}:{postgres_server.port}/{name}"
        line = command.error("migrate", "--database", url)
        assert "permission denied for schema public" in line
        assert "Grant" in line
        command.done("migrate", "--database", postgres_url)
        line = command.error("company", "list", "--database", url)
        assert "permission denied for table alembic_version" in line
    finally:
        postgres_server.administer(f"DROP ROLE {role}")


def test_a_server_that_is_read_only_or_full_is_reported(
    command: Command, postgres_server: Databases, postgres_url: str
) -> None:
    alter = f"ALTER DATABASE {name_of(postgres_url)}"
    postgres_server.administer(f"{alter} SET default_transaction_read_only = on")
    line = command.error("migrate", "--database", postgres_url)
    assert "read-only transaction" in line
    postgres_server.administer(f"{alter} CONNECTION LIMIT 0")
    line = error(command, postgres_url)
    assert "too many connections" in line
    assert "max_connections" in line


def test_a_database_without_schema_is_left_alone(
    command: Command, postgres_server: Databases, postgres_url: str
) -> None:
    for arguments in (("company", "list"), ("company", "create", "Acme")):
        line = command.error(*arguments, "--database", postgres_url)
        assert "has no schema" in line
        assert "Run `comptoir migrate`." in line
    tables = "SELECT FROM pg_tables WHERE schemaname = 'public'"
    assert postgres_server.asked(tables, name_of(postgres_url)) == []


def test_serve_ends_with_errors_that_waiting_does_not_fix(
    command: Command, postgres_server: Databases, postgres_url: str
) -> None:
    wrong = postgres_server.url(name_of(postgres_url), password="hush")
    for url, said in ((postgres_url, "comptoir migrate"), (wrong, "password authentication")):
        ended = command.run("serve", "--port", "0", "--database", url)
        assert said in ended.error()
        assert ended.status == 1


def test_serve_waits_for_a_server_that_is_not_up(command: Command, tmp_path: Path) -> None:
    url = f"postgresql://me:hush@/x?host={tmp_path}"
    with command.started("serve", "--port", "0", "--database", url) as process:
        warning = process.stderr.readline().decode()
        greeting = process.stdout.readline().decode()
        with http_client() as client:
            ready = client.get(urljoin(greeting.removeprefix("Serving ").strip(), "/readyz"))
        process.send_signal(signal.SIGTERM)
    assert warning.startswith("WARNING: cannot use the database postgresql://me:***@/x?host=")
    assert ready.status_code == 503
