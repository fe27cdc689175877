"""`comptoir doctor`: what is in force, and a line with a remedy for all that is wrong."""

import json
import os
import socket
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import apsw
import pytest
from msgspec.structs import replace

from comptoir import __version__
from comptoir.auth.local_authority import Pair
from comptoir.catalog import MODEL
from comptoir.config import Settings
from support.catalogs import COURIERS
from support.certificates import trusted_folder, write_pair
from support.command import COMPANY, Command, Result
from support.databases import ON_SQLITE, FreshDatabase, run_sql
from support.lying_server import OK, LyingServer
from support.mounts import mounted
from support.ports import LOOPBACK, free_port
from support.server import Server
from support.sockets import ask

Findings = list[tuple[str, str, str]]
"""The check, the level, and the text with the remedy of each finding."""

PATIENT = ("--seconds", "60", "--port", "0")
"""Options with which a slow machine ends all checks."""


@pytest.fixture
def used(ready: Command) -> Command:
    """The command, with a database and keys."""
    ready.done("token")
    return ready


def findings(result: Result) -> Findings:
    """What a document says; the status is that of the worst finding."""
    assert result.err == ""
    found = [
        (each["check"], each["level"], f"{each['text']}. {each['remedy']}")
        for each in json.loads(result.out)
    ]
    assert result.status == int(any(level == "wrong" for _, level, _ in found))
    return found


def diagnosed(command: Command, *options: str | Path) -> Findings:
    return findings(command.here("doctor", "--json", *PATIENT, *options))


def only(found: Findings, check: str, level: str) -> str:
    """The text of the one finding with a level other than ok."""
    (finding,) = [each for each in found if each[1] != "ok"]
    assert finding[:2] == (check, level)
    return finding[2]


def port_of(server: Server) -> str:
    return str(urlsplit(server.base_url).port)


def test_nothing_is_wrong(used: Command) -> None:
    found = diagnosed(used)
    assert {level for _, level, _ in found} == {"ok"}
    assert {check for check, _, _ in found} >= {"settings", "port", "address", "keys", "database"}
    assert any("signing-key.pem" in text and " signs" in text for _, _, text in found)
    lines = used.here("doctor", *PATIENT).out.splitlines()
    assert {line.split()[0] for line in lines} == {"ok"}
    assert len({line.index(line.split()[2]) for line in lines}) == 1


def test_it_changes_nothing(command: Command) -> None:
    checks = {check for check, level, _ in diagnosed(command) if level == "wrong"}
    assert checks == {"keys", "database"}
    assert list(command.folder.iterdir()) == []
    (command.folder / "keys").mkdir(0o700)
    (text,) = [text for check, _, text in diagnosed(command) if check == "keys"]
    assert "does not contain a key that signs" in text
    assert list((command.folder / "keys").iterdir()) == []


@ON_SQLITE
def test_what_the_last_start_said(used: Command) -> None:
    """Without a service that runs; a later start replaces what an earlier one said."""

    def said() -> list[tuple[str, str]]:
        return [(level, text) for check, level, text in diagnosed(used) if check == "start"]

    assert said() == []
    (used.folder / "rules").write_text("{")
    used.error("serve", "--port", "0", "--faults", "--fault-rules", "rules")
    ((level, text),) = said()
    assert level == "warning"
    assert f"of comptoir {__version__}, ended: " in text
    for host in ("0.0.0.0", LOOPBACK):
        with used.started("serve", "--port", "0", "--host", host) as process:
            assert process.stdout.readline().startswith(b"Serving ")
        ((level, text),) = said()
        assert level == ("ok" if host == LOOPBACK else "warning")
    assert "had nothing to warn of" in text


@ON_SQLITE
def test_each_setting_has_its_source(used: Command) -> None:
    config = used.config("page_size = 7\nworkers = 2\n")
    options = ("--config", config, "--workers", "1", "--profile", "business-central")
    listed = [text for check, _, text in diagnosed(used, *options) if check == "settings"]
    assert f"page_size is 7 (setting page_size in {config}). " in listed
    assert "workers is 1 (--workers). " in listed
    assert f"database is {used.url} (COMPTOIR_DATABASE). " in listed
    assert "stop_seconds is 8.0 (default). " in listed
    assert any(text.endswith("(profile business-central). ") for text in listed)
    shown = used.here("doctor", *PATIENT, *options).out
    assert "page_size is 7" in shown
    assert "(default)" not in shown


def test_passwords_are_not_shown(command: Command, silent: str) -> None:
    url = f"postgresql://me:hush@{silent}/x?sslpassword=hush"
    config = command.config(f"read_database = '{url}'\n")
    config.chmod(0o644)
    for form in ("--json", "--seconds=1"):
        result = command.run("doctor", "--database", url, "--config", config, form)
        assert "hush" not in result.out + result.err
        assert "me:***@" in result.out
        assert f"other users have access to {config} (mode 0644)" in result.out
        assert f"chmod o-rwx {config}" in result.out


@ON_SQLITE
def test_a_malformed_url_is_shown_without_its_password(used: Command) -> None:
    for url in ("postgresql://me:hu/sh@host/x\\u0001", "postgresql://h/x?password=hush\\u0001"):
        config = used.config(f'read_database = "{url}"\n')
        ((_, _, text),) = diagnosed(used, "--config", config)
        assert f"invalid setting read_database in {config}: 'postgresql://" in text
        assert "***" in text
        assert "hu" not in text.partition(" Use text in UTF-8")[0].rpartition("postgresql")[2]


def test_a_database_that_never_answers(command: Command, silent: str) -> None:
    """The time is that of the command, not of the settings."""
    config = command.config("connect_seconds = 1000\n")
    url = f"postgresql://me:hush@{silent}/x"
    result = command.run("doctor", "--json", "--config", config, "--database", url)
    (text,) = [text for check, _, text in findings(result) if check == "database"]
    assert f"cannot use the database postgresql://me:***@{silent}/x: " in text
    assert "it does not respond in time. Check host and port" in text


@ON_SQLITE
def test_a_check_that_does_not_end(used: Command) -> None:
    with closing(apsw.Connection(str(used.database))) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("BEGIN EXCLUSIVE")
        result = used.run("doctor", "--json", "--port", "0")
    assert ("database", "wrong") in {(check, level) for check, level, _ in findings(result)}
    assert "the check did not end within 1 s" in result.out


@ON_SQLITE
def test_the_port_of_another_program(used: Command, silent: str) -> None:
    port = silent.partition(":")[2]
    text = only(diagnosed(used, "--port", port), "port", "wrong")
    assert f"port {port} of 127.0.0.1 is in use. Stop the program that listens there" in text


def test_a_service_that_runs(fresh_database: FreshDatabase, tmp_path: Path) -> None:
    """It says what it warns of, and the log is compared with the clock."""
    with Server.over(fresh_database, tmp_path) as server:
        company = server.new_company()
        command = Command(tmp_path, server.settings.database)
        port = port_of(server)
        found = diagnosed(command, "--port", port)
        assert f"a service runs at {server.base_url}. " in [text for _, _, text in found]
        assert {level for _, level, _ in found} == {"ok"}
        statement = "UPDATE companies SET changed_at = :at WHERE company_id = :id"
        run_sql(command.url, statement, at="2099-01-01T00:00:00.000Z", id=company.id)
        company.post("shippingAgentsExt", {"code": "A"})
        bad = {
            check: text
            for check, level, text in diagnosed(command, "--port", port)
            if level != "ok"
        }
    assert "seconds ahead of the clock, and lastModifiedDateTime stays" in bad["port"]
    assert f"the last change of the company {company.id} is " in bad["database"]
    assert "Compare the clocks of the hosts" in bad["database"]


def test_a_service_that_is_not_ready(fresh_postgres: FreshDatabase, tmp_path: Path) -> None:
    with Server.over(fresh_postgres, tmp_path) as server:
        command = Command(tmp_path, server.settings.database)
        run_sql(command.url, "ALTER TABLE companies RENAME TO gone")
        found = diagnosed(command, "--port", port_of(server))
    wrong = {check: text for check, level, text in found if level == "wrong"}
    assert set(wrong) == {"port", "database"}
    assert f"the service at {server.base_url} says: " in wrong["port"]
    assert "Internal_DatabaseNotReady" in wrong["port"]


@ON_SQLITE
def test_a_service_with_tls(fresh_database: FreshDatabase, tmp_path: Path) -> None:
    """Its certificate has another name, or an authority that nobody trusts."""
    with Server.over(fresh_database, tmp_path, https=True) as server:
        command = Command(tmp_path, server.settings.database)
        own = server.settings
        text = f"tls_certificate = '{own.tls_certificate}'\ntls_key = '{own.tls_key}'\n"
        config = command.config(text)
        found = diagnosed(command, "--config", config, "--port", port_of(server))
    assert {level for _, level, _ in found} == {"ok"}
    assert f"a service runs at {server.base_url}. " in [text for _, _, text in found]


@ON_SQLITE
def test_a_public_url_that_leads_nowhere(used: Command) -> None:
    for url in ("http://a..b/api", "http://127.0.0.1:99999/api", "http://127.0.0.1:1/api"):
        text = only(diagnosed(used, "--public-url", url), "address", "warning")
        assert f"the service does not answer at {url}: " in text


def test_a_proxy(fresh_database: FreshDatabase, tmp_path: Path) -> None:
    """The service is asked through `public_url` whether it sees that requests come by HTTPS."""
    port = free_port()

    def pass_on(client: socket.socket) -> None:
        seen = b"\r\nX-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n"
        with socket.create_connection((LOOPBACK, port)) as connection:
            content = ask(connection, proxy.heads[-1].replace(b"\r\n", seen, 1)).content
        client.sendall(OK + b"Content-Length: %d\r\n\r\n" % len(content) + content)

    tls = tmp_path / "tls"
    with trusted_folder(tls), LyingServer(tls, pass_on, LOOPBACK) as proxy:
        url = f"https://{LOOPBACK}:{proxy.port}/api"
        database, keys = fresh_database(tmp_path, MODEL), str(tmp_path / "keys")
        settings = Settings(database=database, keys=keys, public_url=url)
        command = Command(tmp_path, database)
        with Server(settings, tmp_path, port=port):
            text = only(diagnosed(command, "--public-url", url), "address", "wrong")
            assert f"the service does not see that requests to {url} come by HTTPS" in text
            assert "add its address to trusted_proxies" in text
        given = ("--public-url", url, "--trusted-proxies", LOOPBACK)
        with Server(replace(settings, trusted_proxies=LOOPBACK), tmp_path, port=port):
            found = diagnosed(command, *given)
            assert {level for _, level, _ in found} == {"ok"}
            said = f"{url} leads to the service; trusted_proxies: {LOOPBACK}. "
            assert said in [text for _, _, text in found]
    text = only(diagnosed(command, *given), "address", "warning")
    assert f"the service does not answer at {url}: " in text


@ON_SQLITE
def test_places_that_others_can_read(used: Command) -> None:
    key = used.folder / "keys" / "signing-key.pem"
    for path, check, change in ((key, "keys", "go-rwx"), (used.database, "files", "o-rwx")):
        path.chmod(0o644)
        assert only(diagnosed(used), check, "wrong") == (
            f"other users have access to {path} (mode 0644). Run `chmod {change} {path}`."
        )
        path.chmod(0o600)


@ON_SQLITE
def test_certificates(used: Command) -> None:
    pair = Pair(used.folder / "certificate.pem", used.folder / "certificate.key")
    config = used.config(f"tls_certificate = '{pair.certificate}'\ntls_key = '{pair.key}'\n")
    write_pair(pair)
    found = diagnosed(used, "--config", config)
    assert any("certificate.pem ends at " in text for _, level, text in found if level == "ok")
    other = Pair(used.folder / "other.pem", pair.key)
    for days, level, said in (
        (10, "warning", "certificate.pem ends at "),
        (-1, "wrong", "certificate.pem expired at "),
    ):
        write_pair(pair, begins_in_days=-9, ends_in_days=days)
        text = only(diagnosed(used, "--config", config), "certificate", level)
        assert said in text
        assert "Renew it" in text
    write_pair(pair)
    write_pair(other)
    text = only(diagnosed(used, "--config", config), "certificate", "wrong")
    assert "key values mismatch. Use PEM files" in text


@ON_SQLITE
def test_a_disk_without_room(used: Command, tmp_path: Path) -> None:
    with mounted(tmp_path / "small", "size=16M") as folder:
        used = Command(used.folder, f"sqlite:///{folder / 'test.db'}")
        used.done("migrate")
        text = only(diagnosed(used), "disk", "warning")
        assert f"the file system of {folder} has " in text
        left = os.statvfs(folder)
        (folder / "ballast").write_bytes(bytes(left.f_bavail * left.f_frsize))
        found = diagnosed(used)
    (text,) = [text for check, level, text in found if (check, level) == ("disk", "wrong")]
    assert f"the file system of {folder} has 0 MiB left. Free some space." in text


@ON_SQLITE
def test_a_config_file_with_faults(used: Command) -> None:
    for text, said in (
        ("prot = 1\n", "has an unknown setting prot. Did you mean port?"),
        ("port =\n", "is not TOML: "),
        ("port = 'x'\n", "Use an integer from 0 to 65535."),
    ):
        config = used.config(text)
        found = findings(used.here("doctor", "--json", "--config", config))
        assert said in only(found, "settings", "wrong")
        assert said in used.here("doctor", "--config", config).out


def test_another_schema(used: Command) -> None:
    for revision, said in (
        ("9999", "has schema 9999, which is newer than that of this program"),
        ("0001", "has schema 0001, and this program needs "),
    ):
        run_sql(used.url, f"UPDATE alembic_version SET version_num = '{revision}'")
        assert said in only(diagnosed(used), "database", "wrong")
    assert run_sql(used.url, "SELECT version_num FROM alembic_version") == [("0001",)]


def test_another_catalog(used: Command) -> None:
    earlier, later = used.folder / "earlier.toml", used.folder / "later.toml"
    earlier.write_text('comptoir = 1\nbase = "built-in"\n')
    later.write_text(COURIERS)
    text = only(diagnosed(used, "--catalog", later), "database", "wrong")
    assert "has another catalog than that of the settings, in which " in text
    assert "Run `comptoir catalog apply`" in text
    used.done("catalog", "apply", later)
    said = f"has a later catalog than {earlier}, which is used"
    assert said in only(diagnosed(used, "--catalog", earlier), "database", "warning")
    later.write_text(COURIERS.replace("String(20)", "Strng(20)"))
    text = only(diagnosed(used, "--catalog", later), "database", "wrong")
    assert "has faults" in text
    assert "Strng" in text


def test_lost_changes(used: Command) -> None:
    ((incarnation,),) = run_sql(
        used.url, "SELECT incarnation FROM companies WHERE company_id = :id", id=COMPANY
    )
    marks = {COMPANY: {str(incarnation): [5, "2020-01-01T00:00:00.000Z"]}}
    (used.folder / "keys" / "watermarks.json").write_text(json.dumps(marks))
    text = only(diagnosed(used), "database", "wrong")
    assert "the database lacks changes that this service has acknowledged" in text


@ON_SQLITE
def test_a_damaged_file(used: Command) -> None:
    with closing(apsw.Connection(str(used.database))) as connection:
        size = connection.pragma("page_size")
        page = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'alembic_version'"
        ).get
    content, place = used.database.read_bytes(), (page - 1) * size
    for damaged, said in (
        (b"x" * len(content), "is not an SQLite database. Name another file"),
        (content[:place] + b"x" * size + content[place + size :], "malformed"),
    ):
        used.database.write_bytes(damaged)
        assert said in only(diagnosed(used), "database", "wrong")


def test_a_database_that_is_not_a_replica(used: Command) -> None:
    text = only(diagnosed(used, "--read-database", used.url), "replica", "wrong")
    assert "has no replicas. Remove read_database" in text or "is not a standby" in text


def test_an_unusable_time_is_refused(command: Command) -> None:
    for given in ("nan", "0", "-1", "1e300", "soon"):
        assert "--seconds" in command.error("doctor", "--seconds", given)
