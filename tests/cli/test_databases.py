"""SQLite files that cannot be used: an error in one line, and no new file."""

import ctypes
import os
import resource
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace

import apsw
import pytest

from comptoir.errors.refusal import OperatorError, Refusal
from comptoir.features.transfer import load
from comptoir.store.sqlite.connection import database_path
from support.command import COMPANY, Command
from support.databases import ON_SQLITE
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
def item(command: Command) -> Path:
    """A file with an item."""
    return items(command.folder, 1)


def items(folder: Path, number: int) -> Path:
    path = folder / "itemsExt.csv"
    path.write_text("number\n" + "".join(f"I{at}\n" for at in range(number)), encoding="utf-8")
    return path


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
    with closing(apsw.Connection(str(database))) as connection:
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
    with closing(apsw.Connection(str(ready.database))) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
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
    for arguments in (("migrate",), ("company", "list"), ("serve", "--port", "0")):
        error = command.error(*arguments, "--database", url)
        assert "invalid database '" in error


@contextmanager
def obeying_modes() -> Iterator[None]:
    """Do without root's rights to ignore the modes of files, which only Linux can take away."""
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None)
    # version 3 of the structures, and this thread, from which others inherit
    header, rights = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, rights) == 0
    override_and_read_search = 0b110
    fewer = (ctypes.c_uint32 * 6)(rights[0] & ~override_and_read_search, *rights[1:])
    assert libc.capset(header, fewer) == 0
    try:
        yield
    finally:
        assert libc.capset(header, rights) == 0


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
    with obeying_modes():
        for arguments in (IN_NEED[0], IN_NEED[-1], *MAKING[:2]):
            assert "read-only" in closed.error(*arguments)


@ON_SQLITE
def test_a_folder_that_cannot_be_written_gets_no_dump(ready: Command) -> None:
    ready.done("load", "--company", COMPANY, items(ready.folder, 1))
    out = ready.folder / "out"
    out.mkdir(mode=0o555)
    with obeying_modes():
        error = ready.error("dump", "--company", COMPANY, out)
    assert "cannot be written" in error
    assert "Permission denied" in error


@ON_SQLITE
def test_a_file_that_cannot_be_read_is_reported(ready: Command) -> None:
    folder = ready.folder / "in"
    folder.mkdir()
    path = items(folder, 1)
    path.chmod(0o200)
    with obeying_modes():
        result = ready.here("load", "--company", COMPANY, folder)
    assert result.err == f"{path}: the file cannot be read: {DENIED}\n"
    assert result.status == 1


def error_on_full_disk(command: Command, limit: int, *arguments: str | Path) -> str:
    """The error of a command with a limit on the size of files, which acts like a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        result = command.here(*arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert result.status == 1
    return result.error()


@ON_SQLITE
def test_a_full_disk_of_the_records_is_an_error_in_one_line(ready: Command) -> None:
    path = items(ready.folder, 4_000)
    error = error_on_full_disk(ready, 1 << 18, "load", "--company", COMPANY, path)
    assert error.startswith("comptoir: ")
    ready.done("load", "--company", COMPANY, path)


@ON_SQLITE
def test_a_full_temporary_folder_is_an_error_in_one_line(ready: Command) -> None:
    path = ready.folder / "ItemProductTextLongContentsExt.csv"
    rows = [f"00000000-0000-4000-8000-{at:012},{'A' * 500_000}\n" for at in range(1, 81)]
    path.write_text("systemId,base64Text\n" + "".join(rows), encoding="utf-8")
    error = error_on_full_disk(ready, 1 << 16, "load", "--company", COMPANY, path)
    assert "cannot be written to the temporary folder" in error


@ON_SQLITE
def test_a_full_disk_of_a_dump_is_an_error_in_one_line(ready: Command) -> None:
    ready.done("load", "--company", COMPANY, items(ready.folder, 5_000))
    with closing(apsw.Connection(str(ready.database))) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    out = ready.folder / "out"
    error = error_on_full_disk(ready, 1 << 16, "dump", "--company", COMPANY, out)
    assert "cannot be written" in error
    assert list(out.iterdir()) == []


@ON_SQLITE
def test_a_full_temporary_folder_is_reported_as_such(
    load_target: LoadTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(_: str) -> apsw.Connection:
        raise apsw.CantOpenError("unable to open database file")

    monkeypatch.setattr(load, "apsw", SimpleNamespace(Connection=connect, Error=apsw.Error))
    with pytest.raises(OperatorError, match="temporary folder: unable to open"):
        load_target.load("itemsExt.csv", "number\nI1\n")


@ON_SQLITE
def test_a_failing_database_is_not_reported_as_the_temporary_folder(
    load_target: LoadTarget,
) -> None:
    load_target.load("contactsExt.csv", "number,displayName\nK1,One\n")
    path = database_path(load_target.url)
    with closing(apsw.Connection(str(path))) as connection:
        # a record is still found by its key, but by nothing else
        roots = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name GLOB '?x_contactsExt_*'"
        ).fetchall()
        size = connection.pragma("page_size")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    with path.open("r+b") as file:
        for (root,) in roots:
            file.seek((int(str(root)) - 1) * size)
            file.write(b"\xff" * size)
    with pytest.raises(Refusal, match="The database failed"):
        load_target.load("contactsExt.csv", "number,city\nK1,Bonn\n")
