"""Statements over the service's own tables: companies, the change log, loads and repeats."""

from sqlalchemy import Table, delete, func, insert, select, tuple_, update
from sqlalchemy.engine import Dialect
from sqlalchemy.sql import ClauseElement

from comptoir.sql.prepared import Prepared, constant, named, prepare, prepare_insert, whole
from comptoir.sql.tables import COMPANY_ID, VERSION, Tables


class ServiceStatements:
    """Each statement's docstring ends with the values to bind, in order."""

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._dialect = dialect
        companies, changes, loads = tables.companies, tables.changes, tables.loads
        repeats = tables.repeats

        self.company = self._company(companies)
        """The incarnation of a company: id."""

        self.add_company = self._add_company(companies)
        """Add a company: id, name, displayName, lastModifiedDateTime, incarnation."""

        self.ledger = self._ledger(companies)
        """A company's last change number, its time and the incarnation; locks the row: id."""

        self.store_ledger = self._store_ledger(companies)
        """Store the last change number and its time: id, number, time."""

        self.renew = self._renew(companies)
        """Give a company another incarnation: id, incarnation."""

        self.last_change = self._last_change(companies)
        """A company's incarnation, last change number and its time: id."""

        self.add_change = self._add_row(changes)
        """Add an entry to the change log: company, number, entity set, record, verb, time, by."""

        self.changes = self._changes(changes)
        """The change log after a number, in order: company, number, limit."""

        self.position = self._position(companies)
        """The number of a company's last change: id."""

        self.replica_state = self._replica_state(companies)
        """On PostgreSQL: whether the server is a standby, a company's incarnation and its last
        change number: id."""

        self.changes_of = self._changes_of(changes)
        """The changes of a set, in order: company, entity set, number before the first, number of
        the last, limit."""

        self.load_progress = self._load_progress(loads)
        """The number of rows of a file that are written: company, entity set, digest."""

        self.add_load_progress = self._add_row(loads)
        """Add the progress of a file: company, entity set, digest, rows."""

        self.move_load_progress = self._move_load_progress(loads)
        """Store the progress of a file: company, entity set, digest, rows."""

        self.drop_load_progress = self._drop_load_progress(loads)
        """Delete the progress of a file: company, entity set, digest."""

        self.repeat = self._repeat(repeats)
        """The digest and the outcome of a repeatable write: company, by, client, request."""

        self.add_repeat = self._add_row(repeats)
        """Add a repeatable write: company, by, client, request, digest, outcome, time."""

        self.drop_repeats = self._drop_repeats(repeats)
        """Delete the oldest repeatable writes before a time: company, time, limit."""

    def _prepare(self, statement: ClauseElement, *names: str) -> Prepared:
        return prepare(statement, self._dialect, names)

    def _company(self, companies: Table) -> Prepared:
        statement = select(companies.c.incarnation).where(companies.c[COMPANY_ID] == named("id"))
        return self._prepare(statement, "id")

    def _add_company(self, companies: Table) -> Prepared:
        statement = insert(companies).values(
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

    def _ledger(self, companies: Table) -> Prepared:
        statement = (
            select(companies.c.change_number, companies.c.changed_at, companies.c.incarnation)
            .where(companies.c[COMPANY_ID] == named("id"))
            .with_for_update()
        )
        return self._prepare(statement, "id")

    def _store_ledger(self, companies: Table) -> Prepared:
        statement = (
            update(companies)
            .where(companies.c[COMPANY_ID] == named("id"))
            .values(change_number=named("set_number"), changed_at=named("set_at"))
        )
        return self._prepare(statement, "id", "set_number", "set_at")

    def _renew(self, companies: Table) -> Prepared:
        statement = (
            update(companies)
            .where(companies.c[COMPANY_ID] == named("id"))
            .values(incarnation=named("set_incarnation"))
        )
        return self._prepare(statement, "id", "set_incarnation")

    def _last_change(self, companies: Table) -> Prepared:
        names = ("incarnation", "change_number", "changed_at")
        statement = select(*[companies.c[name] for name in names])
        return self._prepare(statement.where(companies.c[COMPANY_ID] == named("id")), "id")

    def _add_row(self, table: Table) -> Prepared:
        return prepare_insert(table, [column.name for column in table.columns], self._dialect)

    def _changes(self, changes: Table) -> Prepared:
        statement = (
            select(*[column for column in changes.columns if column.name != COMPANY_ID])
            .where(changes.c[COMPANY_ID] == named("company"), changes.c.number > named("since"))
            .order_by(changes.c.number)
            .limit(whole("limit"))
            .offset(constant(0))
        )
        return self._prepare(statement, "company", "since", "limit")

    def _position(self, companies: Table) -> Prepared:
        statement = select(companies.c.change_number).where(companies.c[COMPANY_ID] == named("id"))
        return self._prepare(statement, "id")

    def _replica_state(self, companies: Table) -> Prepared:
        columns = (func.pg_is_in_recovery(), companies.c.incarnation, companies.c.change_number)
        return self._prepare(select(*columns).where(companies.c[COMPANY_ID] == named("id")), "id")

    def _changes_of(self, changes: Table) -> Prepared:
        statement = (
            select(*[column for column in changes.columns if column.name != COMPANY_ID])
            .where(
                changes.c[COMPANY_ID] == named("company"),
                changes.c.entity_set == named("entity_set"),
                changes.c.number > named("since"),
                changes.c.number <= named("until"),
            )
            .order_by(changes.c.number)
            .limit(whole("limit"))
            .offset(constant(0))
        )
        return self._prepare(statement, "company", "entity_set", "since", "until", "limit")

    def _load_progress(self, loads: Table) -> Prepared:
        names = _key_names(loads)
        key = [loads.c[name] == named(f"is_{name}") for name in names]
        return self._prepare(
            select(loads.c.rows_done).where(*key), *(f"is_{name}" for name in names)
        )

    def _move_load_progress(self, loads: Table) -> Prepared:
        names = _key_names(loads)
        key = [loads.c[name] == named(f"is_{name}") for name in names]
        statement = update(loads).where(*key).values(rows_done=named("set_rows"))
        return self._prepare(statement, *(f"is_{name}" for name in names), "set_rows")

    def _drop_load_progress(self, loads: Table) -> Prepared:
        names = _key_names(loads)
        key = [loads.c[name] == named(f"is_{name}") for name in names]
        return self._prepare(delete(loads).where(*key), *(f"is_{name}" for name in names))

    def _repeat(self, repeats: Table) -> Prepared:
        names = _key_names(repeats)
        key = [repeats.c[name] == named(f"is_{name}") for name in names]
        statement = select(repeats.c.digest, repeats.c.outcome).where(*key)
        return self._prepare(statement, *(f"is_{name}" for name in names))

    def _drop_repeats(self, repeats: Table) -> Prepared:
        company = repeats.c[COMPANY_ID] == named("company")
        ids = [repeats.c[name] for name in _key_names(repeats) if name != COMPANY_ID]
        oldest = (
            select(*ids)
            .where(company, repeats.c["at"] < named("before"))
            .order_by(repeats.c["at"])
            .limit(whole("limit"))
            .offset(constant(0))
        )
        statement = delete(repeats).where(company, tuple_(*ids).in_(oldest))
        return self._prepare(statement, "company", "before", "limit")


def _key_names(table: Table) -> list[str]:
    return [column.name for column in table.primary_key.columns]
