"""`comptoir keys`: a key that begins to sign later, and the list of all."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from support.command import Command

DAY = timedelta(days=1)


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """The command with a folder of keys."""
    command = Command.without_database(tmp_path)
    command.done("token")
    return command


def shown(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"


def listed(command: Command) -> list[list[str]]:
    """The name and the use of each key."""
    lines = command.done("keys", "list").out.splitlines()
    return [[name, use] for name, _, use in (line.split(" ", 2) for line in lines)]


def test_a_new_key_signs_in_15_minutes(command: Command) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    done = command.done("keys", "rotate")
    (name, _), (added, use) = listed(command)
    time = datetime.strptime(added, "signing-key.%Y%m%dT%H%M%SZ.pem").replace(tzinfo=UTC)
    assert before <= time - timedelta(minutes=15) <= datetime.now(UTC)
    assert done.last == str(command.folder / "keys" / added)
    assert (command.folder / "keys" / added).stat().st_mode & 0o777 == 0o600
    assert f"signs from {shown(time)} on" in done.out
    assert f"end at {shown(time + DAY)}" in done.out
    assert (name, use) == ("signing-key.pem", f"signs from {shown(time)}")


def test_a_new_key_belongs_to_the_owner_of_the_folder(command: Command) -> None:
    """Also if root rotates the keys of the service's user."""
    folder = command.folder / "keys"
    owner = os.geteuid() or 65_534
    os.chown(folder, owner, -1)
    assert Path(command.done("keys", "rotate").last).stat().st_uid == owner


def test_the_list_says_what_each_key_is_used_for(command: Command) -> None:
    soon = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=2)
    command.done("keys", "rotate", "--at", "2020-01-01T00:00:00+01:00")
    command.done("keys", "rotate", "--at", shown(soon))
    (first, trusted), (second, signs), (third, later) = listed(command)
    assert first == "signing-key.pem"
    assert trusted.startswith("trusted until ")
    assert signs == f"signs until {shown(soon)}"
    assert later == f"signs from {shown(soon)}"
    assert second < third


def test_the_command_shown_keeps_longer_tokens_valid(command: Command) -> None:
    """Each former key gets a file of its own, also if two are replaced on one day."""
    start = datetime.now(UTC).replace(hour=22, minute=0, second=0, microsecond=0) + DAY
    copies = []
    for hour in range(2):
        done = command.done("keys", "rotate", "--at", shown(start + timedelta(hours=hour)))
        *_, former, _, _, copy = done.out.splitlines()[-2].split()
        assert former == str(command.folder / "keys" / listed(command)[hour][0])
        assert Path(copy).parent == command.folder / "keys"
        assert copy.endswith(".pub.pem")
        copies.append(copy)
    assert len(set(copies)) == 2


def test_a_time_needs_an_offset_and_is_after_the_last_one(command: Command) -> None:
    for time in ("tomorrow", "2027-01-31", "2027-01-31T22:00:00", "9999-12-31T23:59:59Z", ""):
        assert "invalid --at" in command.error("keys", "rotate", "--at", time)
    command.done("keys", "rotate")
    assert "Choose a later --at" in command.error("keys", "rotate", "--at", "2026-01-01T00:00:00Z")


@pytest.mark.parametrize("act", ["rotate", "list"])
def test_a_misspelled_directory_gets_no_keys(tmp_path: Path, act: str) -> None:
    command = Command.without_database(tmp_path)
    assert "does not exist. Name the service's with --keys" in command.error("keys", act)
    assert not (tmp_path / "keys").exists()
