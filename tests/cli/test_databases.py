"""SQLite files that cannot be used: an error in one line, and no new file."""

import os
import resource
import shutil
import sqlite3
import stat
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from comptoir.errors.refusal import OperatorError, Refusal
from comptoir.store.sqlite.connection import database_path
from support.command import COMPANY, Command
from support.databases import ON_SQLITE
from support.effort import go_without
from support.load_target import LoadTarget

IN_NEED = (
    ("load", "--company", COMPANY, "itemsExt.csv"),
    ("dump", "--company", COMPANY, "out"),
    ("changes", "--company", COMPANY),
    ("company", "list"),
)
MAKING = (("migrate",), ("company", "create", "Acme"), ("sample",))

DENIED = "Permission denied. Check its path and its permissions."


@pytest.fixture
def item(command: Command) -> None:
    (command.folder / "itemsExt.csv").write_text("number\nI1\n", encoding="utf-8")


def test_migrate_creates_a_database_and_can_be_repeated(command: Command) -> None:
    first = command.done("migrate")
    assert command.database.is_file()
    assert command.done("migrate").out == first.out
    assert first.out.startswith(f"sqlite:///{command.database} has schema ")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_only_its_owner_can_read_a_new_database(command: Command) -> None:
    database = command.folder / "data" / "new.db"
    command.done("migrate", "--database", f"sqlite:///{database}")
    assert (mode(database), mode(database.parent)) == (0o600, 0o700)
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE more (it)")
        beside = [mode(path) for path in database.parent.iterdir() if path != database]
    assert set(beside) == {0o600}


def test_the_modes_of_existing_files_do_not_change(command: Command) -> None:
    folder = command.folder / "data"
    folder.mkdir(mode=0o755)
    database = folder / "old.db"
    database.touch(mode=0o644)
    command.done("migrate", "--database", f"sqlite:///{database}")
    assert (mode(database), mode(folder)) == (0o644, 0o755)


@pytest.mark.usefixtures("item")
def test_a_misspelled_name_creates_no_database(command: Command) -> None:
    for arguments in IN_NEED:
        error = command.error(*arguments)
        assert error.startswith("comptoir: the database ")
        assert "does not exist" in error
        assert "comptoir migrate" in error
        assert not command.database.exists()


@pytest.mark.usefixtures("item")
@pytest.mark.parametrize("arguments", IN_NEED, ids=lambda arguments: arguments[0])
def test_an_older_schema_is_brought_up_to_date(
    command: Command, arguments: tuple[str, ...]
) -> None:
    command.database.touch()
    result = command.here(*arguments)
    assert "does not exist. List the companies" in result.err or arguments[0] == "company"
    assert command.done("company", "list").out == ""


@ON_SQLITE
@pytest.mark.usefixtures("item")
def test_a_newer_schema_is_left_alone(ready: Command) -> None:
    with closing(sqlite3.connect(ready.database)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
    for arguments in (*IN_NEED, *MAKING):
        assert "has schema 9999, which is newer than that of this program" in ready.error(
            *arguments
        )


@pytest.mark.usefixtures("item")
def test_a_file_that_is_not_a_database_is_left_unchanged(command: Command) -> None:
    command.database.write_bytes(b"These are my notes. " * 100)
    before = command.database.read_bytes()
    for arguments in (*IN_NEED, *MAKING):
        assert "is not an SQLite database" in command.error(*arguments)
        assert command.database.read_bytes() == before


@pytest.mark.parametrize("url", ["comptoir.db", "mysql://x/y", "sqlite:///"])
def test_an_unsupported_url_is_reported(command: Command, url: str) -> None:
    for arguments in (("migrate",), ("company", "list")):
        error = command.error(*arguments, "--database", url)
        assert "invalid database '" in error


def obeying_modes() -> list[str]:
    """The program that runs the command without root's right to ignore the modes of files."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        go_without("install the package util-linux, for setpriv")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


@pytest.fixture
def closed(ready: Command) -> Iterator[Command]:
    """The command in a folder, and with a database, that are not writable."""
    ready.done("token")
    ready.database.chmod(0o444)
    ready.folder.chmod(0o555)
    try:
        yield ready
    finally:
        ready.folder.chmod(0o755)


@ON_SQLITE
@pytest.mark.usefixtures("item")
def test_a_read_only_folder_is_reported(closed: Command) -> None:
    for arguments in (IN_NEED[0], IN_NEED[-1], *MAKING[:2]):
        assert "read-only" in closed.run(*arguments, through=obeying_modes()).error()


@ON_SQLITE
def test_a_folder_that_cannot_be_written_gets_no_dump(ready: Command) -> None:
    (ready.folder / "itemsExt.csv").write_text("number\nI1\n", encoding="utf-8")
    ready.done("load", "--company", COMPANY, "itemsExt.csv")
    out = ready.folder / "out"
    out.mkdir(mode=0o555)
    error = ready.run("dump", "--company", COMPANY, out, through=obeying_modes()).error()
    assert "cannot be written" in error
    assert "Permission denied" in error


@ON_SQLITE
def test_a_file_that_cannot_be_read_is_reported(ready: Command) -> None:
    folder = ready.folder / "in"
    folder.mkdir()
    path = folder / "itemsExt.csv"
    path.write_text("number\nI1\n", encoding="utf-8")
    path.chmod(0o200)
    result = ready.run("load", "--company", COMPANY, folder, through=obeying_modes())
    assert result.err == f"{path}: the file cannot be read: {DENIED}\n"
    assert result.status == 1


def limited_run(command: Command, limit: int, *arguments: str | Path) -> tuple[int, str]:
    """Run with a limit on the size of files, which acts like a full disk."""
    ended = subprocess.run(
        command.arguments(*arguments),
        env=command.environment,
        cwd=command.folder,
        capture_output=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    return ended.returncode, ended.stderr.decode()


@ON_SQLITE
def test_a_full_disk_of_the_records_is_an_error_in_one_line(ready: Command) -> None:
    path = ready.folder / "itemsExt.csv"
    path.write_text("number\n" + "".join(f"I{at}\n" for at in range(20_000)), encoding="utf-8")
    status, said = limited_run(ready, 1 << 20, "load", "--company", COMPANY, path)
    assert status == 1
    assert len(said.splitlines()) == 1, said
    assert said.startswith("comptoir: ")
    ready.done("load", "--company", COMPANY, path)


@ON_SQLITE
def test_a_full_temporary_folder_is_an_error_in_one_line(ready: Command) -> None:
    path = ready.folder / "ItemProductTextLongContentsExt.csv"
    rows = [f"00000000-0000-4000-8000-{at:012},{'A' * 500_000}\n" for at in range(1, 25)]
    path.write_text("systemId,base64Text\n" + "".join(rows), encoding="utf-8")
    status, said = limited_run(ready, 1 << 16, "load", "--company", COMPANY, path)
    assert status == 1
    assert "cannot be written to the temporary folder" in said
    assert len(said.splitlines()) == 1, said


@ON_SQLITE
def test_a_full_disk_of_a_dump_is_an_error_in_one_line(ready: Command) -> None:
    path = ready.folder / "itemsExt.csv"
    path.write_text("number\n" + "".join(f"I{at}\n" for at in range(5_000)), encoding="utf-8")
    ready.done("load", "--company", COMPANY, path)
    connection = sqlite3.connect(ready.database)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    out = ready.folder / "out"
    status, said = limited_run(ready, 1 << 16, "dump", "--company", COMPANY, out)
    assert status == 1
    assert "cannot be written" in said
    assert len(said.splitlines()) == 1, said
    assert list(out.iterdir()) == []


@ON_SQLITE
def test_a_full_temporary_folder_is_reported_as_such(
    load_target: LoadTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(name: str, **options: object) -> sqlite3.Connection:
        if not name:
            raise sqlite3.OperationalError("unable to open database file")
        return real(name, **options)  # type: ignore[call-overload,no-any-return]

    real = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", connect)
    with pytest.raises(OperatorError, match="temporary folder: unable to open"):
        load_target.load("itemsExt.csv", "number\nI1\n")


@ON_SQLITE
def test_a_failing_database_is_not_reported_as_the_temporary_folder(
    load_target: LoadTarget,
) -> None:
    load_target.load("contactsExt.csv", "number,displayName\nK1,One\n")
    path = database_path(load_target.url)
    with closing(sqlite3.connect(path)) as connection:
        # a record is still found by its key, but by nothing else
        roots = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name GLOB '?x_contactsExt_*'"
        ).fetchall()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    with path.open("r+b") as file:
        for (root,) in roots:
            file.seek((root - 1) * size)
            file.write(b"\xff" * size)
    with pytest.raises(Refusal, match="The database failed"):
        load_target.load("contactsExt.csv", "number,city\nK1,Bonn\n")
