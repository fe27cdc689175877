"""`comptoir serve --read-database`: an unsuitable replica is refused before the service starts."""

import signal
import socket
from pathlib import Path

import pytest

from postgres.replication import Pair
from support.command import Command
from support.ports import LOOPBACK
from support.postgres import Databases, name_of

ELSEWHERE = f"postgresql://me:hush@{LOOPBACK}/x"


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command.without_database(tmp_path)


def refused(command: Command, database: str, replica: str) -> str:
    """The message of a service that does not start."""
    given = ("--database", database, "--read-database", replica)
    line = command.error("serve", "--port", "0", *given)
    assert "hush" not in line
    return line


def test_a_file_with_a_replica_is_refused(command: Command) -> None:
    assert "has no replicas" in refused(command, f"sqlite:///{command.database}", ELSEWHERE)
    assert not command.database.exists()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("sqlite:///copy.db", "does not begin with postgresql://"),
        ("postgresql://me:hu@sh@host/x", "%40"),
        ("postgresql://me:hush@host:abc/x", "a port must be"),
    ],
)
def test_an_invalid_url_of_a_replica_is_refused(command: Command, url: str, said: str) -> None:
    line = refused(command, ELSEWHERE, url)
    assert line.startswith("comptoir: invalid read_database: ")
    assert said in line


def test_a_malformed_url_of_the_database_is_reported_first(command: Command) -> None:
    line = refused(command, "postgresql://me:hush@[::1/x", ELSEWHERE)
    assert "the URL of the database is malformed" in line
    assert "read_database" not in line


def test_what_is_no_replica_of_the_database_is_refused(
    command: Command, pair: Pair, postgres_server: Databases
) -> None:
    """A primary, a standby of another server, another database, and one that denies access."""
    own, other = (each.url("postgres") for each in (pair.primary, postgres_server))
    standby, url = pair.standby.url("postgres"), pair.primary.new_database()
    denied = pair.standby.url("postgres", password="hush")
    for database, replica, said in (
        (own, own, "is not a standby"),
        (own, other, "is not a standby"),
        (other, standby, "is a standby of a different primary"),
        (url, standby, f"is the database postgres, and the primary's is {name_of(url)}"),
        (own, denied, "password authentication failed"),
    ):
        assert said in refused(command, database, replica)


def test_an_unreachable_replica_is_a_warning(command: Command, pair: Pair) -> None:
    url = pair.primary.new_database()
    command.done("migrate", "--database", url)
    with socket.socket() as reserved:
        reserved.bind((LOOPBACK, 0))
        replica = f"postgresql://me:hush@{LOOPBACK}:{reserved.getsockname()[1]}/x"
        given = ("--database", url, "--read-database", replica)
        with command.started("serve", "--port", "0", *given) as process:
            warning = process.stderr.readline().decode()
            greeting = process.stdout.readline().decode()
            process.send_signal(signal.SIGTERM)
    assert warning.startswith("WARNING: cannot use the database postgresql://me:***@")
    assert "all reads go to the primary" in warning
    assert greeting.startswith("Serving ")
