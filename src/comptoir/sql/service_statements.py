"""Statements over the service's own tables: companies, the change log, loads and repeats."""

from sqlalchemy import ColumnElement, Select, Table, delete, func, insert, select, tuple_, update
from sqlalchemy.engine import Dialect
from sqlalchemy.sql import ClauseElement

from comptoir.sql.prepared import Prepared, constant, named, prepare, prepare_insert, whole
from comptoir.sql.tables import COMPANY_ID, VERSION, Tables


class ServiceStatements:
    """Each statement's docstring ends with the values to bind, in order."""

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._dialect = dialect
        self._companies, self._changes = tables.companies, tables.changes
        company = tables.companies.c
        loads, repeats = tables.loads, tables.repeats
        is_load, load_key = _by_key(loads)
        is_repeat, repeat_key = _by_key(repeats)

        self.company = self._select_company(company.incarnation)
        """The incarnation of a company: id."""

        self.add_company = self._add_company()
        """Add a company: id, name, displayName, lastModifiedDateTime, incarnation."""

        self.ledger = self._select_company(
            company.change_number, company.changed_at, company.incarnation, locks=True
        )
        """A company's last change number, its time and the incarnation; locks the row: id."""

        self.store_ledger = self._update_company("change_number", "changed_at")
        """Store the last change number and its time: id, number, time."""

        self.renew = self._update_company("incarnation")
        """Give a company another incarnation: id, incarnation."""

        self.last_change = self._select_company(
            company.incarnation, company.change_number, company.changed_at
        )
        """A company's incarnation, last change number and its time: id."""

        self.add_change = self._add_row(tables.changes)
        """Add an entry to the change log: company, number, entity set, record, verb, time, by."""

        self.changes = self._prepare(self._changes_after(), "company", "since", "limit")
        """The change log after a number, in order: company, number, limit."""

        self.position = self._select_company(company.change_number)
        """The number of a company's last change: id."""

        self.replica_state = self._select_company(
            func.pg_is_in_recovery(), company.incarnation, company.change_number
        )
        """On PostgreSQL: whether the server is a standby, a company's incarnation and its last
        change number: id."""

        self.changes_of = self._select_changes_of_set()
        """The changes of a set, in order: company, entity set, number before the first, number of
        the last, limit."""

        self.load_progress = self._prepare(select(loads.c.rows_done).where(*is_load), *load_key)
        """The number of rows of a file that are written: company, entity set, digest."""

        self.add_load_progress = self._add_row(loads)
        """Add the progress of a file: company, entity set, digest, rows."""

        moved = update(loads).where(*is_load).values(rows_done=named("set_rows"))
        self.move_load_progress = self._prepare(moved, *load_key, "set_rows")
        """Store the progress of a file: company, entity set, digest, rows."""

        self.drop_load_progress = self._prepare(delete(loads).where(*is_load), *load_key)
        """Delete the progress of a file: company, entity set, digest."""

        outcome = select(repeats.c.digest, repeats.c.outcome).where(*is_repeat)
        self.repeat = self._prepare(outcome, *repeat_key)
        """The digest and the outcome of a repeatable write: company, by, client, request."""

        self.add_repeat = self._add_row(repeats)
        """Add a repeatable write: company, by, client, request, digest, outcome, time."""

        self.drop_repeats = self._drop_repeats(repeats)
        """Delete the oldest repeatable writes before a time: company, time, limit."""

    def _prepare(self, statement: ClauseElement, *names: str) -> Prepared:
        return prepare(statement, self._dialect, names)

    def _add_row(self, table: Table) -> Prepared:
        return prepare_insert(table, [column.name for column in table.columns], self._dialect)

    def _select_company(self, *columns: ColumnElement[object], locks: bool = False) -> Prepared:
        statement = select(*columns).where(self._companies.c[COMPANY_ID] == named("id"))
        return self._prepare(statement.with_for_update() if locks else statement, "id")

    def _update_company(self, *names: str) -> Prepared:
        statement = (
            update(self._companies)
            .where(self._companies.c[COMPANY_ID] == named("id"))
            .values({name: named(f"set_{name}") for name in names})
        )
        return self._prepare(statement, "id", *(f"set_{name}" for name in names))

    def _add_company(self) -> Prepared:
        statement = insert(self._companies).values(
            {
                COMPANY_ID: named("id"),
                "name": named("set_name"),
                "displayName": named("set_display"),
                "lastModifiedDateTime": named("set_at"),
                "incarnation": named("set_incarnation"),
                VERSION: constant(0),
                "change_number": constant(0),
                "changed_at": named("set_at"),
            }
        )
        return self._prepare(
            statement, "id", "set_name", "set_display", "set_at", "set_incarnation"
        )

    def _changes_after(self) -> Select[tuple[str | int, ...]]:
        changes = self._changes
        return (
            select(*[column for column in changes.columns if column.name != COMPANY_ID])
            .where(changes.c[COMPANY_ID] == named("company"), changes.c.number > named("since"))
            .order_by(changes.c.number)
            .limit(whole("limit"))
            .offset(constant(0))
        )

    def _select_changes_of_set(self) -> Prepared:
        statement = self._changes_after().where(
            self._changes.c.entity_set == named("entity_set"),
            self._changes.c.number <= named("until"),
        )
        return self._prepare(statement, "company", "entity_set", "since", "until", "limit")

    def _drop_repeats(self, repeats: Table) -> Prepared:
        company = repeats.c[COMPANY_ID] == named("company")
        ids = [each for each in repeats.primary_key.columns if each.name != COMPANY_ID]
        oldest = (
            select(*ids)
            .where(company, repeats.c["at"] < named("before"))
            .order_by(repeats.c["at"])
            .limit(whole("limit"))
            .offset(constant(0))
        )
        statement = delete(repeats).where(company, tuple_(*ids).in_(oldest))
        return self._prepare(statement, "company", "before", "limit")


def _by_key(table: Table) -> tuple[list[ColumnElement[bool]], list[str]]:
    """The conditions that select a row by its key, and the names of their values."""
    names = [f"is_{column.name}" for column in table.primary_key.columns]
    columns = zip(table.primary_key.columns, names, strict=True)
    return [column == named(name) for column, name in columns], names
