"""Frequent statements over the service's own tables: companies, the change log and repeats."""

from collections.abc import Mapping

from sqlalchemy import ColumnElement, Select, Table, delete, func, select, tuple_, update
from sqlalchemy.engine import Dialect
from sqlalchemy.sql import ClauseElement

from comptoir.sql.prepared import Prepared, constant, named, prepare, prepare_insert, whole
from comptoir.sql.tables import COMPANY, COMPANY_ID, Tables, of_company


class ServiceStatements:
    """Each statement's docstring ends with the values to bind, in order."""

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._tables = tables
        self._dialect = dialect
        company, changes, repeats = tables.companies.c, tables.changes.c, tables.repeats
        own = of_company(tables.companies)

        self.company = self._prepare(select(company.incarnation).where(own), COMPANY)
        """The incarnation of a company: id."""

        last = select(company.change_number, company.changed_at, company.incarnation).where(own)
        self.ledger = self._prepare(last.with_for_update(), COMPANY)
        """A company's last change number, its time and the incarnation; locks the row: id."""

        moved = {name: named(f"set_{name}") for name in ("change_number", "changed_at")}
        store_ledger = update(tables.companies).where(own).values(moved)
        self.store_ledger = self._prepare(
            store_ledger, COMPANY, "set_change_number", "set_changed_at"
        )
        """Store the last change number and its time: id, number, time."""

        self.add_change = self._add_row(tables.changes)
        """Add an entry to the change log: company, number, entity set, record, verb, time, by."""

        self.changes = self._changes({"since": changes.number > named("since")})
        """The change log after a number, in order: company, number, limit."""

        self.changes_of = self._changes(
            {
                "entity_set": changes.entity_set == named("entity_set"),
                "since": changes.number > named("since"),
                "until": changes.number <= named("until"),
            }
        )
        """The changes of a set, in order: company, entity set, number before the first, number of
        the last, limit."""

        self.position = self._prepare(select(company.change_number).where(own), COMPANY)
        """The number of a company's last change: id."""

        is_standby = func.pg_is_in_recovery()
        state = select(is_standby, company.incarnation, company.change_number).where(own)
        self.replica_state = self._prepare(state, COMPANY)
        """On PostgreSQL: whether the server is a standby, a company's incarnation and its last
        change number: id."""

        key = {f"is_{column.name}": column for column in repeats.primary_key.columns}
        outcome = select(repeats.c.digest, repeats.c.outcome)
        is_repeat = [column == named(name) for name, column in key.items()]
        self.repeat = self._prepare(outcome.where(*is_repeat), *key)
        """The digest and the outcome of a repeatable write: company, by, client, request."""

        self.add_repeat = self._add_row(repeats)
        """Add a repeatable write: company, by, client, request, digest, outcome, time."""

        ids = [each for each in repeats.primary_key.columns if each.name != COMPANY_ID]
        oldest = (
            select(*ids)
            .where(of_company(repeats), repeats.c["at"] < named("before"))
            .order_by(repeats.c["at"])
        )
        drop = delete(repeats).where(of_company(repeats), tuple_(*ids).in_(_limited(oldest)))
        self.drop_repeats = self._prepare(drop, COMPANY, "before", "limit")
        """Delete the oldest repeatable writes before a time: company, time, limit."""

    def _prepare(self, statement: ClauseElement, *names: str) -> Prepared:
        return prepare(statement, self._dialect, names)

    def _add_row(self, table: Table) -> Prepared:
        return prepare_insert(table, [column.name for column in table.columns], self._dialect)

    def _changes(self, conditions: Mapping[str, ColumnElement[bool]]) -> Prepared:
        """The changes that meet conditions, each with the name of its value."""
        changes = self._tables.changes
        statement = (
            select(*[column for column in changes.columns if column.name != COMPANY_ID])
            .where(of_company(changes), *conditions.values())
            .order_by(changes.c.number)
        )
        return self._prepare(_limited(statement), COMPANY, *conditions, "limit")


def _limited(statement: Select[*tuple[str | int, ...]]) -> Select[*tuple[str | int, ...]]:
    """The first rows of a statement, as many as the value `limit`."""
    return statement.limit(whole("limit")).offset(constant(0))
