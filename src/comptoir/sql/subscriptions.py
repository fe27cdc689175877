"""Statements over the subscriptions of a company, and the progress of their deliveries.

The lock of the company's row guards each change: a unit of work reads a row, decides, and writes
it. Each docstring ends with the values to bind, in order.
"""

from collections.abc import Sequence

from sqlalchemy import Column, ColumnElement, Table, and_, case, delete, func, or_, select, update
from sqlalchemy.engine import Dialect

from comptoir.sql.prepared import Prepared, constant, constant_text, named, prepare, prepare_insert
from comptoir.sql.tables import COMPANY, COMPANY_ID, Tables, of_company

_DELETE = constant_text("delete")
"""The verb of the change log."""


class SubscriptionStatements:
    """A row has the columns of its table in order, without the company."""

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._tables = tables
        self._dialect = dialect
        subscriptions, lanes = tables.subscriptions, tables.lanes

        self.add_subscription = self._add_row(subscriptions)
        """Add a subscription: company, row."""

        self.subscription = self._row(subscriptions)
        """A subscription: company, id."""

        self.subscriptions = prepare(
            select(*_others(subscriptions))
            .where(of_company(subscriptions))
            .order_by(subscriptions.c.created_at, subscriptions.c.id),
            dialect,
            (COMPANY,),
        )
        """All subscriptions of a company, in the order of their creation: company."""

        self.renew_subscription = self._set(
            subscriptions, ("url", "client_state", "version", "expires_at", "modified_at")
        )
        """Change a subscription: company, id, URL, client state, version, end, time."""

        self.drop_subscription = prepare(
            delete(subscriptions).where(*_is_key(subscriptions)),
            dialect,
            _key_names(subscriptions),
        )
        """Delete a subscription without its lanes: company, id."""

        self.add_lane = self._add_row(lanes)
        """Add a lane: company, row."""

        self.lane = self._row(lanes)
        """A lane: company, subscription, number."""

        self.set_lane = self._set(lanes, ("cursor", "tries", "due_at", "holder", "leased_until"))
        """Replace a lane: company, row."""

        self.drop_lanes = prepare(
            delete(lanes).where(
                of_company(lanes), lanes.c.subscription == named("is_subscription")
            ),
            dialect,
            (COMPANY, "is_subscription"),
        )
        """Delete the lanes of a subscription: company, id."""

        self.waiting = self._waiting()
        """The rows of subscriptions and of their lanes that nobody delivers now, and that have
        ended, or have changes after the cursor and may try, in the order of their creation:
        company, time of the profile, time of the processes."""

        self.undelivered = self._undelivered()
        """The time of the first change after the cursor of each lane that has such changes:
        company."""

        self.tally = self._tally()
        """The number of changes of a set, the last one's number and time, and the deletions among
        them: company, entity set, number before the first, number of the last."""

    def _add_row(self, table: Table) -> Prepared:
        return prepare_insert(table, [column.name for column in table.columns], self._dialect)

    def _row(self, table: Table) -> Prepared:
        rows = select(*_others(table)).where(*_is_key(table))
        return prepare(rows, self._dialect, _key_names(table))

    def _set(self, table: Table, columns: Sequence[str]) -> Prepared:
        names = [f"set_{name}" for name in columns]
        values = {column: named(name) for column, name in zip(columns, names, strict=True)}
        statement = update(table).where(*_is_key(table)).values(values)
        return prepare(statement, self._dialect, [*_key_names(table), *names])

    def _waiting(self) -> Prepared:
        companies, subscriptions = self._tables.companies, self._tables.subscriptions
        lanes = self._tables.lanes
        has_ended = subscriptions.c.expires_at <= named("now")
        may_try = and_(lanes.c.cursor < companies.c.change_number, lanes.c.due_at <= named("now"))
        statement = (
            select(*_others(subscriptions), *_others(lanes))
            .select_from(companies)
            .join(subscriptions, of_company(subscriptions))
            .join(
                lanes,
                and_(of_company(lanes), lanes.c.subscription == subscriptions.c.id),
            )
            .where(
                of_company(companies),
                lanes.c.leased_until <= named("real_now"),
                or_(has_ended, may_try),
            )
            .order_by(subscriptions.c.created_at, subscriptions.c.id)
        )
        return prepare(statement, self._dialect, (COMPANY, "now", "real_now"))

    def _undelivered(self) -> Prepared:
        subscriptions, lanes, changes = (
            self._tables.subscriptions,
            self._tables.lanes,
            self._tables.changes,
        )
        statement = (
            select(func.min(changes.c["at"]))
            .select_from(subscriptions)
            .join(lanes, and_(of_company(lanes), lanes.c.subscription == subscriptions.c.id))
            .join(
                changes,
                and_(
                    of_company(changes),
                    changes.c.number > lanes.c.cursor,
                    changes.c.entity_set == subscriptions.c["sets"],
                ),
            )
            .where(of_company(subscriptions))
            .group_by(lanes.c.subscription)
        )
        return prepare(statement, self._dialect, (COMPANY,))

    def _tally(self) -> Prepared:
        changes = self._tables.changes
        deletion = case((changes.c.verb == _DELETE, constant(1)), else_=constant(0))
        statement = select(
            func.count(),
            func.coalesce(func.max(changes.c.number), constant(0)),
            # the time never falls as numbers rise
            func.coalesce(func.max(changes.c["at"]), constant_text("")),
            func.coalesce(func.sum(deletion), constant(0)),
        ).where(
            of_company(changes),
            changes.c.entity_set == named("entity_set"),
            changes.c.number > named("since"),
            changes.c.number <= named("until"),
        )
        return prepare(statement, self._dialect, (COMPANY, "entity_set", "since", "until"))


def _others(table: Table) -> list[Column[str | int]]:
    """The columns of a table without the company."""
    return [column for column in table.columns if column.name != COMPANY_ID]


def _is_key(table: Table) -> Sequence[ColumnElement[bool]]:
    """The condition on each column of the key, for the values of `_key_names`."""
    columns = table.primary_key.columns
    return [column == named(f"is_{column.name}") for column in columns]


def _key_names(table: Table) -> list[str]:
    return [f"is_{column.name}" for column in table.primary_key.columns]
