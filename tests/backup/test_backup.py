"""`comptoir backup` and `comptoir restore`: what a backup has, and what each refuses."""

import json
import os
import shutil
import stat
import zipfile
from collections.abc import Sequence
from contextlib import closing, nullcontext
from functools import partial
from hashlib import sha256
from pathlib import Path

import apsw
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from cli.test_renew import company_of
from comptoir import __version__
from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.store.migration import migrate
from comptoir.store.schema import SERVES
from comptoir.store.urls import is_postgres
from conftest import two_companies
from postgres.conftest import locks_held
from support.client import Client, record, tag_of
from support.command import COMPANY, OTHER_COMPANY, Command, NewPlace
from support.databases import ON_SQLITE, FreshDatabase, in_database, run_sql
from support.earlier import set_back
from support.mounts import mounted
from support.processes import Process
from support.service import Service
from support.waiting import until

AGENTS = "shippingAgentsExt"
PASSPHRASE = "correct horse battery staple"
NO_PASSPHRASE = "has no passphrase in its first line. Write one of 1 to 1,023 bytes there."


@pytest.fixture
def used(ready: Command) -> Command:
    """The command, with keys, a database and a folder for backups."""
    ready.done("token")
    folder(ready).mkdir(mode=0o700)
    return ready


@pytest.fixture(scope="module")
def first_place(fresh_database: FreshDatabase, tmp_path_factory: pytest.TempPathFactory) -> Command:
    """A place like those of the tests, with its backup."""
    place = tmp_path_factory.mktemp("first")
    first = Command(place, fresh_database(place, MODEL, two_companies))
    first.done("token")
    folder(first).mkdir(mode=0o700)
    first.done("backup", file(first))
    return first


@pytest.fixture
def saved(first_place: Command, ready: Command) -> Command:
    """A place with a backup: a copy of the first, which has the same keys and database."""
    for name in ("keys", "backups"):
        shutil.copytree(first_place.folder / name, ready.folder / name)
    return ready


def folder(command: Command) -> Path:
    return command.folder / "backups"


def file(command: Command) -> Path:
    return folder(command) / "one.zip"


def passphrase(command: Command, text: str = PASSPHRASE) -> Path:
    path = command.folder / "passphrase"
    path.write_text(f"{text}\n")
    path.chmod(0o600)
    return path


def names(command: Command) -> str:
    """What `company list` prints."""
    return command.done("company", "list").out


def keys(command: Command) -> set[str]:
    return {each.name for each in (command.folder / "keys").glob("*.pem")}


def manifest(path: Path) -> dict[str, object]:
    with zipfile.ZipFile(path) as archive:
        found: dict[str, object] = json.loads(archive.read("manifest.json"))
        return found


def rewritten(path: Path, entry: str, content: bytes) -> None:
    """Replace an entry of a backup."""
    with zipfile.ZipFile(path) as archive:
        entries = {each: archive.read(each) for each in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, former in (entries | {entry: content}).items():
            archive.writestr(name, content if name == entry else former)


def redescribed(path: Path, **changed: object) -> None:
    """Replace members of the manifest of a backup."""
    rewritten(path, "manifest.json", json.dumps(manifest(path) | changed).encode())


def test_a_backup_of_a_database_in_use_is_restored_elsewhere(
    used: Command, new_place: NewPlace
) -> None:
    with Service(lambda *_: used.url, used.folder) as service:
        client = company_of(service)
        made = client.post(AGENTS, {"code": "A", "name": "kept"})
        path, old = f"{AGENTS}({record(made, 201)['id']})", tag_of(made)
        printed = used.done("backup", file(used)).out
        record(client.post(AGENTS, {"code": "B"}), 201)
    place = new_place(used)

    restored = place.done("restore", file(used)).out

    assert printed.splitlines()[-1] == str(file(used))
    assert f"Test {COMPANY}: up to change 1\n" in printed
    assert stat.S_IMODE(file(used).stat().st_mode) == 0o600
    assert [each.name for each in folder(used).iterdir()] == ["one.zip"]
    described = manifest(file(used))
    companies, digests = described["companies"], described["digests"]
    assert isinstance(companies, list)
    assert {each["id"] for each in companies} == {COMPANY, OTHER_COMPANY}
    assert described["release"] == __version__
    assert described["engine"] == ("PostgreSQL" if is_postgres(used.url) else "SQLite")
    assert isinstance(digests, dict)
    assert digests.keys() == {"database", "keys/signing-key.pub.pem"}
    assert f"Test {COMPANY}: as after change 1, renewed\n" in restored
    assert names(place) == names(used)
    with Service(lambda *_: place.url, place.folder) as service:
        client = company_of(service)
        assert record(client.get(path))["name"] == "kept"
        assert client.get(f"{AGENTS}/$count").text == "1"
        assert client.patch(path, {"name": "new"}, old).status_code == 412


def test_a_database_is_replaced_only_on_request_and_kept(saved: Command) -> None:
    """It can be replaced again, and a company that the backup lacks is named."""
    new = saved.done("company", "create", "New").last
    with Service(lambda *_: saved.url, saved.folder) as service:
        record(company_of(service).post(AGENTS, {"code": "B"}), 201)

    refused = saved.error("restore", file(saved))
    unasked = saved.here("restore", file(saved), "--replace")
    denied = saved.on_terminal("restore", file(saved), "--replace", typed="no\n")
    done = saved.on_terminal("restore", file(saved), "--replace", typed="replace\n")

    assert "has a database. Name another place, or use --replace" in refused
    assert "Use --yes to replace it without a confirmation." in unasked.err
    assert denied.status == 1
    assert "the answer is not `replace`. Nothing has changed" in denied.err
    assert f"Test {COMPANY}: 1 changes since " in done.out
    assert f"New {new}: is not in the backup\n" in done.out
    assert "The former database is kept as replaced-" in done.out
    assert new not in names(saved)
    with Service(lambda *_: saved.url, saved.folder) as service:
        assert company_of(service).get(f"{AGENTS}/$count").text == "0"

    saved.done("backup", folder(saved) / "two.zip")
    saved.done("company", "delete", OTHER_COMPANY, "--yes")

    printed = saved.done("restore", folder(saved) / "two.zip", "--replace", "--yes").out

    assert f"Other {OTHER_COMPANY}: as after change 0, renewed" in printed
    assert OTHER_COMPANY in names(saved)


def test_a_backup_of_an_earlier_schema_is_brought_to_the_current_one(
    used: Command, new_place: NewPlace
) -> None:
    earlier, head = sorted(SERVES)[-2:]
    place = new_place(used)
    place.done("token")
    migrate(Settings(database=place.url), MODEL)
    in_database(place.url, partial(set_back, revision=earlier))
    place.done("backup", file(used))

    place.done("restore", file(used), "--replace", "--yes")

    assert manifest(file(used))["revision"] == earlier
    assert run_sql(place.url, "SELECT version_num FROM alembic_version") == [(head,)]
    place.done("company", "create", "New")


def test_a_database_in_use_is_not_replaced(saved: Command) -> None:
    with Service(lambda *_: saved.url, saved.folder) as service:
        record(company_of(service).post(AGENTS, {"code": "A"}), 201)

        error = saved.error("restore", file(saved), "--replace", "--yes")

        assert "is in use" in error
        assert "Stop the services and commands that use it." in error
        record(company_of(service).post(AGENTS, {"code": "B"}), 201)


@ON_SQLITE
def test_a_folder_keeps_the_last_backups(used: Command) -> None:
    # backups of one second would have one name
    for year in range(3):
        (folder(used) / f"comptoir-200{year}0101T000000Z.zip").touch()
    others = {"mine.zip", "comptoir-notes.zip"}
    for name in others:
        (folder(used) / name).touch()

    printed = used.done("backup", folder(used), "--keep", "2").out

    kept = {each.name for each in folder(used).iterdir()} - others
    assert kept == {"comptoir-20020101T000000Z.zip", Path(printed.splitlines()[-1]).name}
    assert others <= {each.name for each in folder(used).iterdir()}
    assert printed.count("removed: ") == 2


@ON_SQLITE
def test_the_new_backup_stays_even_if_others_are_from_later(used: Command) -> None:
    (folder(used) / "comptoir-99990101T000000Z.zip").touch()

    printed = used.done("backup", folder(used), "--keep", "1").out

    assert list(folder(used).iterdir()) == [Path(printed.splitlines()[-1])]


@ON_SQLITE
def test_another_key_of_the_same_name_stays_and_is_named(
    used: Command, new_place: NewPlace
) -> None:
    used.done("backup", file(used), "--passphrase-file", passphrase(used))
    place = new_place(used)
    place.done("token")
    folder_of_keys = place.folder / "keys"
    another = generate_private_key(SECP256R1()).public_key()
    (folder_of_keys / "signing-key.pub.pem").write_bytes(
        another.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    former = {each: each.read_bytes() for each in folder_of_keys.iterdir()}

    errors = place.done("restore", file(used), "--passphrase-file", passphrase(used)).err

    assert {each: each.read_bytes() for each in folder_of_keys.iterdir()} == former
    for name in ("signing-key.pem", "signing-key.pub.pem"):
        assert f"{name} differs from the key of that name in the backup, and stays" in errors


@ON_SQLITE
def test_what_is_no_folder_for_keys_is_refused(saved: Command, new_place: NewPlace) -> None:
    place = new_place(saved)
    (place.folder / "keys").touch()

    assert "keys cannot be written: File exists" in place.error("restore", file(saved))
    assert not place.database.exists()


@ON_SQLITE
def test_a_private_key_of_another_form_is_refused(used: Command, new_place: NewPlace) -> None:
    used.done("backup", file(used), "--passphrase-file", passphrase(used))
    entry = "private-keys/signing-key.pem"
    plain = (used.folder / "keys" / "signing-key.pem").read_bytes()
    digests = manifest(file(used))["digests"]
    assert isinstance(digests, dict)
    rewritten(file(used), entry, plain)
    redescribed(file(used), digests=digests | {entry: sha256(plain).hexdigest()})
    place = new_place(used)

    error = place.error("restore", file(used), "--passphrase-file", passphrase(used))

    assert "does not open the keys of the backup" in error
    assert keys(place) == set()


def test_a_service_that_starts_during_a_restore_keeps_its_database(saved: Command) -> None:
    ours, theirs = os.openpty()
    with os.fdopen(ours, "r+b", 0) as terminal:
        with os.fdopen(theirs, "r+b", 0) as given:
            words = ["restore", str(file(saved)), "--replace"]
            process = Process(words, saved.environment, saved.folder, entered=given, errors=given)
        with process:
            asked = b""
            while b"Type replace: " not in asked:
                asked += terminal.read(1 << 16)
            with Service(lambda *_: saved.url, saved.folder) as service:
                record(company_of(service).post(AGENTS, {"code": "A"}), 201)
                terminal.write(b"replace\n")
                process.stdout.read()
                assert process.wait() == 1
                assert company_of(service).get(f"{AGENTS}/$count").text == "1"


@ON_SQLITE
def test_a_link_to_a_database_stays(saved: Command) -> None:
    link = saved.folder / "link.db"
    link.symlink_to(saved.database)
    url = f"sqlite:///{link}"

    saved.done("restore", file(saved), "--replace", "--yes", "--database", url)

    assert link.is_symlink()
    assert list(saved.folder.glob("*.db.replaced-*")) == list(
        saved.folder.glob(f"{saved.database.name}.replaced-*")
    )


@ON_SQLITE
def test_public_keys_are_restored_and_private_ones_on_request(
    used: Command, new_place: NewPlace
) -> None:
    token = used.done("token").last
    used.done("backup", file(used), "--passphrase-file", passphrase(used))
    place = new_place(used)
    other = Command(place.folder / "other", f"sqlite:///{place.folder / 'other.db'}")
    other.folder.mkdir()

    place.done("restore", file(used))
    wrong = other.error("restore", file(used), "--passphrase-file", passphrase(used, "wrong"))
    nothing = (keys(other), other.database.exists())
    other.done("restore", file(used), "--passphrase-file", passphrase(used))

    assert "does not open the keys of the backup" in wrong
    assert nothing == (set(), False)
    assert keys(other) == {"signing-key.pem"}
    assert keys(place) == {"signing-key.pem", "signing-key.pub.pem"}
    first, second = ((each.folder / "keys" / "signing-key.pem") for each in (used, other))
    assert second.read_bytes() == first.read_bytes()
    assert stat.S_IMODE(second.stat().st_mode) == 0o600
    with Service(lambda *_: place.url, place.folder) as service:
        client = company_of(service)
        assert Client(client.carrier, client.root, token).get(AGENTS).status_code == 200


@ON_SQLITE
@pytest.mark.parametrize(
    ("content", "mode", "error"),
    [
        ("p" * 1024, 0o600, NO_PASSPHRASE),
        ("\n", 0o600, NO_PASSPHRASE),
        (PASSPHRASE, 0o644, "`chmod go-rwx "),
        (None, 0o600, "cannot be read: No such file or directory. Name a file with a passphrase"),
    ],
)
def test_a_passphrase_is_needed(content: str | None, mode: int, error: str, used: Command) -> None:
    path = passphrase(used, content or "")
    path.chmod(mode)
    if content is None:
        path.unlink()

    assert error in used.error("backup", file(used), "--passphrase-file", path)
    assert not file(used).exists()


@ON_SQLITE
def test_a_passphrase_needs_private_keys(saved: Command, new_place: NewPlace) -> None:

    error = new_place(saved).error("restore", file(saved), "--passphrase-file", passphrase(saved))

    assert "the backup has no private keys. Leave out --passphrase-file." in error


@ON_SQLITE
def test_what_is_no_whole_backup_is_refused(saved: Command, new_place: NewPlace) -> None:
    whole, place = file(saved).read_bytes(), new_place(saved)
    bad = folder(saved) / "bad.zip"

    def refused() -> str:
        error = place.error("restore", bad)
        assert not place.database.exists()
        assert not keys(place)
        assert list(place.folder.iterdir()) == []
        return error

    assert "is not a whole backup: No such file or directory" in refused()
    for part in (b"", b"a text", whole[: len(whole) // 2], whole[:-1]):
        bad.write_bytes(part)
        assert "is not a whole backup: " in refused()
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with zipfile.ZipFile(bad, "w", method) as archive:
            archive.writestr("manifest.json", b"{}")
        assert "it is compressed in another way" in refused()
    encrypted = bytearray(whole)
    encrypted[whole.rindex(b"PK\1\2") + 8] |= 1
    bad.write_bytes(encrypted)
    assert "is not a whole backup: " in refused()
    bad.write_bytes(whole[:5000] + b"\xff" * 100 + whole[5100:])
    assert "is not a whole backup: " in refused()
    shutil.copy(file(saved), bad)
    rewritten(bad, "database", b"another")
    assert "is not a whole backup: database does not have its digest" in refused()
    changes: Sequence[tuple[dict[str, object], str]] = (
        ({"format": 2}, f"was written by comptoir {__version__}, and this is comptoir"),
        ({"revision": "9999"}, "Restore it with that release or a later one."),
        ({"digests": {}}, "database does not have its digest"),
        ({"companies": 1}, "is not a whole backup: Expected `array`"),
    )
    for changed, error in changes:
        shutil.copy(file(saved), bad)
        redescribed(bad, **changed)
        assert error in refused()
    with zipfile.ZipFile(bad, "w") as archive:
        archive.writestr("readme", b"")
    assert "There is no item named 'manifest.json' in the archive" in refused()


@ON_SQLITE
def test_a_database_of_the_other_kind_is_refused(saved: Command, new_place: NewPlace) -> None:
    redescribed(file(saved), engine="PostgreSQL")

    error = new_place(saved).error("restore", file(saved))

    assert "has a database of PostgreSQL, unlike sqlite:///" in error
    assert "`comptoir copy`" in error


@ON_SQLITE
def test_a_place_for_a_backup_is_checked(saved: Command) -> None:
    former = file(saved).read_bytes()
    open_to_others = saved.folder / "open"
    open_to_others.mkdir()
    open_to_others.chmod(0o777)

    assert "already exists. Name another file" in saved.error("backup", file(saved))
    assert file(saved).read_bytes() == former
    assert "already exists. Name another file" in saved.error("backup", "/")
    assert "File name too long" in saved.error("backup", folder(saved) / f"{'x' * 300}.zip")
    assert "No such file or directory" in saved.error("backup", saved.folder / "no" / "one.zip")
    nowhere = "sqlite:////proc/nowhere/comptoir.db"
    assert "cannot be written" in saved.error("restore", file(saved), "--database", nowhere)
    assert "chmod go-w " in saved.error("backup", open_to_others / "one.zip")
    assert list(open_to_others.iterdir()) == []


@ON_SQLITE
def test_one_backup_writes_to_a_folder_at_a_time(used: Command) -> None:
    with used.started("backup", folder(used) / "slow.zip", "--rate", "0.1"):
        until(lambda: list(folder(used).iterdir()) or None, "a backup that has begun")

        error = used.error("backup", file(used))

    assert "another backup or restore writes to the folder" in error
    assert not file(used).exists()


def test_a_backup_that_is_killed_leaves_no_file(used: Command) -> None:
    with used.started("backup", file(used), "--rate", "0.1") as process:
        until(lambda: list(folder(used).iterdir()) or None, "a backup that has begun")
        process.kill()
        process.wait()
    assert not file(used).exists()

    used.done("backup", file(used))

    assert [each.name for each in folder(used).iterdir()] == ["one.zip"]


@ON_SQLITE
def test_a_full_disk_ends_a_backup_and_a_restore(saved: Command, tmp_path: Path) -> None:
    with mounted(tmp_path / "small", "size=1m,mode=700") as small:
        command = Command(saved.folder, f"sqlite:///{small / 'comptoir.db'}")

        backup = saved.error("backup", small / "one.zip")
        left = list(small.iterdir())
        restore = command.error("restore", file(saved))

        assert "free some space" in backup.lower()
        assert "free some space" in restore.lower()
        assert left == list(small.iterdir()) == []


@ON_SQLITE
def test_a_log_of_a_lost_file_is_not_applied_to_the_restored_one(saved: Command) -> None:
    log = saved.database.with_name(f"{saved.database.name}-wal")
    with closing(apsw.Connection(str(saved.database))) as connection:
        connection.execute("UPDATE companies SET name = 'Lost'")
        shutil.copy(log, saved.folder / "log")
    saved.database.unlink()
    (saved.folder / "log").rename(log)

    refused = saved.error("restore", file(saved))
    saved.done("restore", file(saved), "--replace", "--yes")

    assert "has a database" in refused
    assert "Test" in names(saved)
    assert "Lost" not in names(saved)


@ON_SQLITE
def test_what_is_damaged_is_replaced_and_kept(saved: Command) -> None:
    saved.database.write_bytes(b"damaged" * 1_000)

    printed = saved.done("restore", file(saved), "--replace", "--yes").out

    assert "The present database has no company that can be read." in printed
    (kept,) = saved.folder.glob("*.replaced-*")
    assert kept.read_bytes().startswith(b"damaged")
    assert "Test" in names(saved)


def test_a_restore_that_is_killed_leaves_all_or_nothing(
    saved: Command, new_place: NewPlace
) -> None:
    place = new_place(saved)
    # a restore into a database of a server waits for the table
    table = "CREATE TABLE companies ()"
    waiting = locks_held(place.url, table) if is_postgres(place.url) else nullcontext()
    with waiting, place.started("restore", file(saved)) as process:
        until(lambda: _has_begun(place) or None, "a restore that has begun")
        process.kill()
        process.wait()

    if _is_empty(place):
        place.done("restore", file(saved))

    assert names(place) == names(saved)


def _has_begun(place: Command) -> bool:
    if not is_postgres(place.url):
        return any(place.folder.glob("*.db*"))
    others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    return run_sql(place.url, f"{others} AND application_name = 'psql'") != [(0,)]


def _is_empty(place: Command) -> bool:
    if not is_postgres(place.url):
        return not place.database.exists()
    # the server notices the end of a session late
    until(lambda: None if _has_begun(place) else True, "the end of its session")
    return run_sql(place.url, "SELECT to_regclass('companies') IS NULL") == [(True,)]


@pytest.mark.parametrize("fresh_database", ["postgres"], indirect=True)
def test_programs_of_the_server_that_fail_or_are_missing_are_named(
    saved: Command, new_place: NewPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = saved.folder / "programs"
    programs.mkdir()
    two, place = folder(saved) / "two.zip", new_place(saved)
    whole = shutil.which("pg_restore")

    def program(name: str, script: str) -> None:
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)

    program("pg_restore", f"{whole} $* | head -c 200000\necho 'out of memory' >&2\nexit 1")
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    cut = place.error("restore", file(saved))
    monkeypatch.setenv("PATH", str(programs))
    missing = [saved.error("backup", two), place.error("restore", file(saved))]
    for name in ("pg_dump", "psql"):
        program(name, "echo 'server version mismatch' >&2\nexit 1")
    failing = [saved.error("backup", two), place.error("restore", file(saved))]

    assert "comptoir: pg_restore failed: out of memory. Correct the cause; nothing has" in cut
    assert "comptoir: pg_dump is missing. Install PostgreSQL's client programs" in missing[0]
    assert "comptoir: psql is missing." in missing[1]
    assert "comptoir: pg_dump failed: server version mismatch." in failing[0]
    assert "comptoir: psql failed: server version mismatch." in failing[1]
    assert [each.name for each in folder(saved).iterdir()] == ["one.zip"]
    assert _is_empty(place)
