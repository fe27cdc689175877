"""Statements over the service's own tables: companies, the change log, loads and repeats."""

from collections.abc import Mapping

from sqlalchemy import (
    ColumnElement,
    Delete,
    Select,
    Table,
    Update,
    delete,
    func,
    insert,
    select,
    tuple_,
    update,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.sql import ClauseElement

from comptoir.sql.control import CONTROL
from comptoir.sql.prepared import Prepared, constant, named, prepare, prepare_insert, whole
from comptoir.sql.tables import COMPANY, COMPANY_ID, VERSION, Tables, of_company


class ServiceStatements:
    """Each statement's docstring ends with the values to bind, in order."""

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._tables = tables
        self._dialect = dialect
        company, changes = tables.companies.c, tables.changes.c
        rows_done, repeats = tables.loads.c.rows_done, tables.repeats.c
        last_change = company.change_number, company.changed_at

        self.company = self._of_company(company.incarnation)
        """The incarnation of a company: id."""

        self.add_company = self._add_company()
        """Add a company: id, name, displayName, lastModifiedDateTime, incarnation."""

        self.names = self._prepare(select(company[COMPANY_ID], company["name"]))
        """The ids and names of all companies."""

        version = select(CONTROL.c.version)
        self.lock_names = self._prepare(version.with_for_update())
        """Lock the row of `control`, so that processes add companies one after the other."""

        self.ledger = self._of_company(*last_change, company.incarnation, locks=True)
        """A company's last change number, its time and the incarnation; locks the row: id."""

        self.store_ledger = self._change_company("change_number", "changed_at")
        """Store the last change number and its time: id, number, time."""

        self.renew = self._change_company("incarnation")
        """Give a company another incarnation: id, incarnation."""

        self.last_change = self._of_company(company.incarnation, *last_change)
        """A company's incarnation, last change number and its time: id."""

        self.add_change = self._add_row(tables.changes)
        """Add an entry to the change log: company, number, entity set, record, verb, time, by."""

        self.changes = self._changes({"since": changes.number > named("since")})
        """The change log after a number, in order: company, number, limit."""

        self.position = self._of_company(company.change_number)
        """The number of a company's last change: id."""

        self.replica_state = self._of_company(
            func.pg_is_in_recovery(), company.incarnation, company.change_number
        )
        """On PostgreSQL: whether the server is a standby, a company's incarnation and its last
        change number: id."""

        self.changes_of = self._changes(
            {
                "entity_set": changes.entity_set == named("entity_set"),
                "since": changes.number > named("since"),
                "until": changes.number <= named("until"),
            }
        )
        """The changes of a set, in order: company, entity set, number before the first, number of
        the last, limit."""

        self.load_progress = self._at_key(select(rows_done), tables.loads)
        """The number of rows of a file that are written: company, entity set, digest."""

        self.add_load_progress = self._add_row(tables.loads)
        """Add the progress of a file: company, entity set, digest, rows."""

        move = update(tables.loads).values(rows_done=named("set_rows"))
        self.move_load_progress = self._at_key(move, tables.loads, "set_rows")
        """Store the progress of a file: company, entity set, digest, rows."""

        self.drop_load_progress = self._drop_load_progress()
        """Delete the progress of all files of an entity set: company, entity set."""

        self.repeat = self._at_key(select(repeats.digest, repeats.outcome), tables.repeats)
        """The digest and the outcome of a repeatable write: company, by, client, request."""

        self.add_repeat = self._add_row(tables.repeats)
        """Add a repeatable write: company, by, client, request, digest, outcome, time."""

        self.drop_repeats = self._drop_repeats()
        """Delete the oldest repeatable writes before a time: company, time, limit."""

    def _prepare(self, statement: ClauseElement, *names: str) -> Prepared:
        return prepare(statement, self._dialect, names)

    def _of_company(
        self, *columns: ColumnElement[str | int] | ColumnElement[bool], locks: bool = False
    ) -> Prepared:
        statement = select(*columns).where(of_company(self._tables.companies))
        return self._prepare(statement.with_for_update() if locks else statement, COMPANY)

    def _change_company(self, *names: str) -> Prepared:
        companies = self._tables.companies
        values = {name: named(f"set_{name}") for name in names}
        statement = update(companies).where(of_company(companies)).values(values)
        return self._prepare(statement, COMPANY, *[f"set_{name}" for name in names])

    def _add_company(self) -> Prepared:
        statement = insert(self._tables.companies).values(
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

    def _add_row(self, table: Table) -> Prepared:
        return prepare_insert(table, [column.name for column in table.columns], self._dialect)

    def _changes(self, conditions: Mapping[str, ColumnElement[bool]]) -> Prepared:
        """The changes that meet conditions, each with the name of its value."""
        changes = self._tables.changes
        statement = (
            select(*[column for column in changes.columns if column.name != COMPANY_ID])
            .where(of_company(changes), *conditions.values())
            .order_by(changes.c.number)
            .limit(whole("limit"))
            .offset(constant(0))
        )
        return self._prepare(statement, COMPANY, *conditions, "limit")

    def _at_key(
        self, statement: Select[tuple[str | int, ...]] | Update | Delete, table: Table, *names: str
    ) -> Prepared:
        """Prepare a statement about the row with a key, whose values are bound first."""
        key = {f"is_{column.name}": column for column in table.primary_key.columns}
        restricted = statement.where(*[column == named(name) for name, column in key.items()])
        return self._prepare(restricted, *key, *names)

    def _drop_load_progress(self) -> Prepared:
        loads = self._tables.loads
        statement = delete(loads).where(
            of_company(loads), loads.c.entity_set == named("entity_set")
        )
        return self._prepare(statement, COMPANY, "entity_set")

    def _drop_repeats(self) -> Prepared:
        repeats = self._tables.repeats
        ids = [each for each in repeats.primary_key.columns if each.name != COMPANY_ID]
        oldest = (
            select(*ids)
            .where(of_company(repeats), repeats.c["at"] < named("before"))
            .order_by(repeats.c["at"])
            .limit(whole("limit"))
            .offset(constant(0))
        )
        statement = delete(repeats).where(of_company(repeats), tuple_(*ids).in_(oldest))
        return self._prepare(statement, COMPANY, "before", "limit")
