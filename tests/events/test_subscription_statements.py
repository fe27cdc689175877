"""Statements over subscriptions, on both databases."""

from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Connection

from comptoir.catalog import MODEL
from comptoir.edm.types import Stored
from comptoir.features.notifications.statements import subscription_statements
from comptoir.sql.dialects.postgresql import POSTGRESQL
from comptoir.sql.dialects.sqlite import SQLITE
from comptoir.sql.prepared import Prepared
from comptoir.sql.statements import statements_of
from comptoir.store.urls import is_postgres
from support.databases import FreshDatabase, in_database

OURS, OTHERS = "a" * 36, "b" * 36
AT, LATER = "2026-01-31T12:00:00.000Z", "2026-02-01T12:00:00.000Z"
NOW = 1_000
Row = tuple[Stored, ...]


class Rows:
    """Runs the statements in an empty database with two companies, both at change 5."""

    def __init__(self, url: str) -> None:
        self._url = url
        statements = statements_of(MODEL, POSTGRESQL if is_postgres(url) else SQLITE)
        self.of, self._service = subscription_statements(statements), statements.service
        for company in (OURS, OTHERS):
            self.run(self._service.add_company, company, company, "", AT, "i" * 32)
            self.run(self._service.store_ledger, company, 5, AT)

    def run(self, prepared: Prepared, *values: Stored) -> list[Row]:
        """The rows that a statement returns, none if it changes some."""
        query = prepared.query(*values)

        def work(connection: Connection) -> list[Row]:
            result = connection.exec_driver_sql(query.text, tuple(query.values))
            return [tuple(row) for row in result] if result.returns_rows else []

        return in_database(self._url, work)

    def change(self, company: str, number: int, entity_set: str, verb: str) -> None:
        """Add an entry to the change log, a second after the one before."""
        at = f"2026-01-31T12:00:{number:02d}.000Z"
        self.run(self._service.add_change, company, number, entity_set, "r", verb, at, "me")

    def subscribe(
        self, company: str, name: str, *, ends: int = 2 * NOW, cursor: int = 0, due: int = 0
    ) -> None:
        """Add a subscription with its lane."""
        self.run(self.of.add_subscription, company, *subscription(name, ends))
        self.run(self.of.add_lane, company, *lane(name, cursor, due))

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


def test_a_subscription_is_stored_changed_and_deleted(rows: Rows) -> None:
    for company in (OURS, OTHERS):
        rows.subscribe(company, "one")
    rows.subscribe(OURS, "two")
    rows.run(rows.of.renew_subscription, OURS, "one", "https://other", "changed", 7, 9, LATER)

    changed = ("one", "client:me", "https://other", "itemsExt", "items", "changed", 7, 9, AT, LATER)
    assert rows.run(rows.of.subscription, OURS, "one") == [changed]
    assert rows.run(rows.of.subscription, OTHERS, "one") == [subscription("one")]
    assert rows.run(rows.of.subscriptions, OURS) == [changed, subscription("two")]

    rows.run(rows.of.drop_subscription, OURS, "one")
    rows.run(rows.of.drop_lanes, OURS, "one")
    assert rows.run(rows.of.subscriptions, OURS) == [subscription("two")]
    assert rows.run(rows.of.lane, OURS, "one", 0) == []
    assert rows.run(rows.of.lane, OURS, "two", 0) == [lane("two")]
    assert rows.run(rows.of.lane, OTHERS, "one", 0) == [lane("one")]
    assert rows.run(rows.of.subscriptions, OTHERS) == [subscription("one")]


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
            rows.run(rows.of.set_lane, OURS, name, 0, 4, 3, 0, "other", leased)
        assert rows.waiting() == (["changed", "due", "ended"] if found else ["changed"])
    (both,) = rows.run(rows.of.waiting, OURS, NOW, NOW)
    assert both == (*subscription("changed"), *lane("changed", 4))
    changed = ("due", 0, 4, 3, 0, "other", NOW + 1)
    assert rows.run(rows.of.lane, OURS, "due", 0) == [changed]


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
