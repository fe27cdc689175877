"""Statements over subscriptions, on both databases."""

from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Connection

from comptoir.catalog import MODEL
from comptoir.edm.types import Stored
from comptoir.features.notifications.tables import subscription_statements
from comptoir.sql.dialects.postgresql import POSTGRESQL
from comptoir.sql.dialects.sqlite import SQLITE
from comptoir.sql.prepared import Prepared
from comptoir.sql.statements import statements_of
from comptoir.store.urls import is_postgres
from support.databases import FreshDatabase, in_database, run_sql

OURS, OTHERS = "a" * 36, "b" * 36
AT, LATER = "2026-01-31T12:00:00.000Z", "2026-02-01T12:00:00.000Z"
NOW = 1_000
Row = tuple[Stored, ...]


class Rows:
    """Runs the statements in an empty database with two companies, both at change 5."""

    def __init__(self, url: str) -> None:
        self.url = url
        statements = statements_of(MODEL, POSTGRESQL if is_postgres(url) else SQLITE)
        self.of, self._service = subscription_statements(statements), statements.service
        for company in (OURS, OTHERS):
            row = f"'{company}', '{company}', '', '{AT}', 0, 'i', 0, '{AT}'"
            run_sql(url, f"INSERT INTO companies VALUES ({row})")
            self.run(self._service.store_ledger, company, 5, AT)

    def run(self, prepared: Prepared, *values: Stored) -> list[Row]:
        """The rows that a statement returns, none if it changes some."""
        query = prepared.query(*values)

        def work(connection: Connection) -> list[Row]:
            result = connection.exec_driver_sql(query.text, tuple(query.values))
            return [tuple(row) for row in result] if result.returns_rows else []

        return in_database(self.url, work)

    def change(self, company: str, number: int, entity_set: str, verb: str) -> None:
        """Add an entry to the change log, a second after the one before."""
        at = f"2026-01-31T12:00:{number:02d}.000Z"
        self.run(self._service.add_change, company, number, entity_set, "r", verb, at, "me")

    def subscribe(
        self, company: str, name: str, *, ends: int = 2 * NOW, cursor: int = 0, due: int = 0
    ) -> None:
        """Add a subscription with its lane."""
        self.insert("subscriptions", company, *subscription(name, ends))
        self.insert("lanes", company, *lane(name, cursor, due))

    def insert(self, table: str, *row: Stored) -> None:
        """Add a row."""
        run_sql(self.url, f"INSERT INTO {table} VALUES ({', '.join(map(repr, row))})")

    def waiting(self) -> list[Stored]:
        """The ids of the waiting subscriptions of our company."""
        return [row[0] for row in self.run(self.of.waiting, OURS, NOW, NOW)]


def subscription(name: str, ends: int = 2 * NOW) -> Row:
    return name, "client:me", "https://example.com", "itemsExt", "items", "state", 1, ends, AT, AT


def lane(name: str, cursor: int = 0, due: int = 0, tries: int = 0, leased: int = 0) -> Row:
    return name, 0, cursor, tries, due, "holder", leased


@pytest.fixture
def rows(fresh_database: FreshDatabase, tmp_path: Path) -> Rows:
    return Rows(fresh_database(tmp_path, MODEL))


def test_a_lane_waits_for_changes_its_time_and_its_lease(rows: Rows) -> None:
    rows.subscribe(OURS, "changed", cursor=4)
    rows.subscribe(OURS, "due", cursor=4, due=NOW)
    rows.subscribe(OURS, "complete", cursor=5)
    rows.subscribe(OURS, "later", cursor=4, due=NOW + 1)
    rows.subscribe(OURS, "ended", ends=NOW, cursor=5)
    rows.subscribe(OTHERS, "of another company")
    assert rows.waiting() == ["changed", "due", "ended"]

    for leased, found in ((NOW, True), (NOW + 1, False)):
        for name in ("due", "ended"):
            columns = f"tries = 3, due_at = 0, holder = 'other', leased_until = {leased}"
            key = f"company_id = '{OURS}' AND subscription = '{name}'"
            run_sql(rows.url, f"UPDATE lanes SET {columns} WHERE {key}")
        assert rows.waiting() == (["changed", "due", "ended"] if found else ["changed"])
    (both,) = rows.run(rows.of.waiting, OURS, NOW, NOW)
    assert both == (*subscription("changed"), *lane("changed", 4))


def test_a_tally_counts_the_changes_of_a_set(rows: Rows) -> None:
    for number, (entity_set, verb) in enumerate(
        [
            ("itemsExt", "delete"),
            ("itemsExt", "create"),
            ("contactsExt", "delete"),
            ("itemsExt", "update"),
            ("itemsExt", "delete"),
        ],
        start=1,
    ):
        rows.change(OURS, number, entity_set, verb)
    rows.change(OTHERS, 3, "itemsExt", "delete")
    tally = partial(rows.run, rows.of.tally, OURS, "itemsExt")

    assert tally(0, 5) == [(4, 5, "2026-01-31T12:00:05.000Z", 2)]
    assert tally(1, 4) == [(2, 4, "2026-01-31T12:00:04.000Z", 0)]
    assert tally(2, 3) == [(0, 0, "", 0)]
