"""A later catalog has indexes over records that exist, and services write while they are built."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from comptoir.config import Settings
from comptoir.errors.refusal import OperatorError
from comptoir.store.migration import accepted_catalog, migrate
from postgres.conftest import locks_held
from support.catalogs import model_of
from support.client import record
from support.command import Command
from support.companies import Company
from support.databases import differences, migrated, run_sql
from support.pgbouncer import pooled
from support.postgres import Databases
from support.service import Service
from support.waiting import until

FORMER = """comptoir = 1
base = "built-in"

[sets.vendors]
type = "vendor"
unique = [["number"]]

[sets.vendors.properties]
id = "Guid"
number = "String(20)"
name = "String(100)"
city = "String(100)"
"""
LATER = FORMER.replace('[["number"]]', '[["number"], ["name"]]\nindexes = [["city"]]')
OTHER = FORMER.replace('[["number"]]', '[["number"], ["city"]]')
RATED = FORMER.replace('[["number"]]', '[["number"], ["name", "rating"]]') + 'rating = "Int32"\n'
INDEX = "ux_vendors_1"

VALID = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name)"
WRITTEN = 'LOCK "vendors" IN ROW EXCLUSIVE MODE'
"""A build of an index waits for the end of all transactions that may have written to the table."""

BUILDER = (
    "FROM pg_stat_activity WHERE datname = current_database()"
    " AND query LIKE 'CREATE % INDEX CONCURRENTLY %' AND state = 'active'"
)


@pytest.fixture
def url(postgres_server: Databases, tmp_path: Path) -> str:
    return migrated(postgres_server, model_of(tmp_path, FORMER))


@pytest.fixture
def command(url: str, tmp_path: Path) -> Command:
    return Command(tmp_path, url)


@pytest.fixture
def company(url: str, tmp_path: Path) -> Iterator[Company]:
    """A company with some records, at a service that has the former catalog."""
    with Service(lambda *_: url, tmp_path, model_of(tmp_path, FORMER)) as service:
        company = service.new_company()
        for number in range(3):
            names = {"number": f"V{number}", "name": f"N{number}", "city": f"C{number}"}
            record(company.post("vendors", names), 201)
        yield company


def validity(url: str, name: str = INDEX) -> list[tuple[object, ...]]:
    """Whether an index is valid; empty without the index."""
    return run_sql(url, VALID, name=name)


def test_writers_go_on_while_an_index_is_built(
    url: str, company: Company, command: Command, tmp_path: Path
) -> None:
    former, later = accepted_catalog(Settings(database=url)), model_of(tmp_path, LATER)
    applying = ("catalog", "apply", later_file(tmp_path))
    with locks_held(url, WRITTEN) as release, command.started(*applying) as first:
        until(lambda: validity(url) or None, "an index")
        with command.started(*applying) as second:
            waits = second.stderr.readline().decode()
            assert "another process is migrating it. Waiting until it ends." in waits
            assert company.post("vendors", {"number": "V3", "name": "N3"}).status_code == 201
            assert company.patch("vendors(number='V3')", {"city": "Graz"}, "*").status_code == 200
            assert validity(url) == [(False,)]
            assert accepted_catalog(Settings(database=url)) == former
            release()
            assert (first.wait(), second.wait()) == (0, 0)
    assert validity(url) == validity(url, "ix_vendors_0") == [(True,)]
    assert differences(url, later) == []
    assert company.post("vendors", {"number": "V4", "name": "N3"}).status_code == 409


@pytest.mark.parametrize(
    ("then", "goes_on"),
    [(LATER, True), (LATER, False), (OTHER, False), (RATED, True), (FORMER, False)],
    ids=["again", "again after the server ended", "other", "new", "none"],
)
def test_what_a_killed_command_has_built_is_of_no_effect(
    then: str, goes_on: bool, url: str, company: Company, command: Command, tmp_path: Path
) -> None:
    former, wanted = accepted_catalog(Settings(database=url)), model_of(tmp_path, then)
    with locks_held(url, WRITTEN) as release:
        with command.started("catalog", "apply", later_file(tmp_path)) as killed:
            until(lambda: validity(url) or None, "an index")
            killed.kill()
            assert killed.wait() == -signal.SIGKILL
        if not goes_on:
            run_sql(url, f"SELECT pg_terminate_backend(pid) {BUILDER}")
        assert validity(url) == [(False,)]
        assert accepted_catalog(Settings(database=url)) == former
        file = tmp_path / "then.toml"
        file.write_text(then, encoding="utf-8")
        with command.started("catalog", "apply", file) as again:
            until(lambda: run_sql(url, f"SELECT 1 {BUILDER}") == [] or None, "the end of a build")
            release()
            assert again.wait() == 0, again.stderr.read()
    assert accepted_catalog(Settings(database=url)) == wanted.source
    assert validity(url) == ([] if then == FORMER else [(True,)])
    assert differences(url, wanted) == []


def test_records_that_break_a_rule_leave_no_index(
    url: str, company: Company, tmp_path: Path
) -> None:
    """Not even of the rules that they do not break."""
    changed = company.patch("vendors(number='V0')", {"name": "N1"}, "*")
    assert changed.status_code == 200
    former = model_of(tmp_path, FORMER)
    text = LATER.replace('["name"]]', '["city"], ["name"]]')
    with pytest.raises(OperatorError, match=r"because 1 of its values .*: N1 \(2\)\. Change"):
        migrate(Settings(database=url), model_of(tmp_path, text))
    assert differences(url, former) == []
    assert company.post("vendors", {"number": "V3", "city": "C2"}).status_code == 201


def test_a_refused_catalog_builds_nothing(url: str, tmp_path: Path) -> None:
    refused = LATER.replace('city = "String(100)"', 'city = "String(50)"')
    with pytest.raises(OperatorError, match="Only additions are applied"):
        migrate(Settings(database=url), model_of(tmp_path, refused))
    assert differences(url, model_of(tmp_path, FORMER)) == []


def later_file(folder: Path) -> Path:
    """The file of the later catalog."""
    file = folder / "later.toml"
    file.write_text(LATER, encoding="utf-8")
    return file


def test_indexes_are_built_through_pgbouncer(
    url: str, postgres_server: Databases, tmp_path: Path
) -> None:
    later = model_of(tmp_path, LATER)
    with pooled(postgres_server, url) as through:
        migrate(Settings(database=through, statement_cache=0), later)
    assert validity(url) == validity(url, "ix_vendors_0") == [(True,)]
    assert differences(url, later) == []
