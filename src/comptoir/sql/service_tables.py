"""Statements over the tables that the service keeps for itself, beside the records."""

from sqlalchemy import Table, delete, func, insert, select, tuple_, update
from sqlalchemy.engine import Dialect
from sqlalchemy.sql import ClauseElement

from comptoir.sql.prepared import Prepared, constant, named, prepare, prepare_insert, whole
from comptoir.sql.tables import COMPANY_ID, VERSION, Tables


class ServiceStatements:
    """Each statement's line says what it is for, and the values to bind, in order."""

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._dialect = dialect
        companies, changes, loads = tables.companies, tables.changes, tables.loads
        repeats = tables.repeats

        self.company = self._company(companies)
        """The incarnation of a company: id."""

        self.add_company = self._add_company(companies)
        """Add a company: id, name, displayName, lastModifiedDateTime, incarnation."""

        self.ledger = self._ledger(companies)
        """A company's last change number and its time, and its incarnation, locked where the store
        needs it: id."""

        self.keep_ledger = self._keep_ledger(companies)
        """Keep the last change number and its time: id, number, time."""

        self.renew = self._renew(companies)
        """Give a company another incarnation: id, incarnation."""

        self.last_change = self._last_change(companies)
        """A company's incarnation, its last change number and its time: id."""

        self.add_change = self._add_row(changes)
        """Add a line to the change log: company, number, entity set, record, verb, time, by."""

        self.changes = self._changes(changes)
        """The change log behind a number, in order: company, number, limit."""

        self.position = self._position(companies)
        """The number of a company's last change: id."""

        self.standing = self._standing(companies)
        """On PostgreSQL: whether the server is a standby, a company's incarnation, the number of
        its last change: id."""

        self.changes_of = self._changes_of(changes)
        """The changes of a set in order: company, entity set, behind a number, up to one, limit."""

        self.load_mark = self._load_mark(loads)
        """How many rows of a file are written: company, entity set, digest."""

        self.add_load_mark = self._add_row(loads)
        """Begin a file: company, entity set, digest, rows."""

        self.keep_load_mark = self._keep_load_mark(loads)
        """Go on with a file: company, entity set, digest, rows."""

        self.drop_load_mark = self._drop_load_mark(loads)
        """End a file: company, entity set, digest."""

        self.repeat = self._repeat(repeats)
        """The digest and the outcome of a repeatable write: company, by, client, request."""

        self.add_repeat = self._add_row(repeats)
        """Keep a repeatable write: company, by, client, request, digest, outcome, time."""

        self.drop_repeats = self._drop_repeats(repeats)
        """Forget some repeatable writes that came before a time: company, time, how many."""

    def _made(self, statement: ClauseElement, *names: str) -> Prepared:
        return prepare(statement, self._dialect, names)

    def _company(self, companies: Table) -> Prepared:
        statement = select(companies.c.incarnation).where(companies.c[COMPANY_ID] == named("id"))
        return self._made(statement, "id")

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
        return self._made(statement, "id", "set_name", "set_display", "set_at", "set_incarnation")

    def _ledger(self, companies: Table) -> Prepared:
        statement = (
            select(companies.c.change_number, companies.c.changed_at, companies.c.incarnation)
            .where(companies.c[COMPANY_ID] == named("id"))
            .with_for_update()
        )
        return self._made(statement, "id")

    def _keep_ledger(self, companies: Table) -> Prepared:
        statement = (
            update(companies)
            .where(companies.c[COMPANY_ID] == named("id"))
            .values(change_number=named("set_number"), changed_at=named("set_at"))
        )
        return self._made(statement, "id", "set_number", "set_at")

    def _renew(self, companies: Table) -> Prepared:
        statement = (
            update(companies)
            .where(companies.c[COMPANY_ID] == named("id"))
            .values(incarnation=named("set_incarnation"))
        )
        return self._made(statement, "id", "set_incarnation")

    def _last_change(self, companies: Table) -> Prepared:
        names = ("incarnation", "change_number", "changed_at")
        statement = select(*[companies.c[name] for name in names])
        return self._made(statement.where(companies.c[COMPANY_ID] == named("id")), "id")

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
        return self._made(statement, "company", "since", "limit")

    def _position(self, companies: Table) -> Prepared:
        statement = select(companies.c.change_number).where(companies.c[COMPANY_ID] == named("id"))
        return self._made(statement, "id")

    def _standing(self, companies: Table) -> Prepared:
        standing = (func.pg_is_in_recovery(), companies.c.incarnation, companies.c.change_number)
        return self._made(select(*standing).where(companies.c[COMPANY_ID] == named("id")), "id")

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
        return self._made(statement, "company", "entity_set", "since", "until", "limit")

    def _load_mark(self, loads: Table) -> Prepared:
        names = _key_names(loads)
        held = [loads.c[name] == named(f"is_{name}") for name in names]
        return self._made(select(loads.c.rows_done).where(*held), *(f"is_{name}" for name in names))

    def _keep_load_mark(self, loads: Table) -> Prepared:
        names = _key_names(loads)
        held = [loads.c[name] == named(f"is_{name}") for name in names]
        statement = update(loads).where(*held).values(rows_done=named("set_rows"))
        return self._made(statement, *(f"is_{name}" for name in names), "set_rows")

    def _drop_load_mark(self, loads: Table) -> Prepared:
        names = _key_names(loads)
        held = [loads.c[name] == named(f"is_{name}") for name in names]
        return self._made(delete(loads).where(*held), *(f"is_{name}" for name in names))

    def _repeat(self, repeats: Table) -> Prepared:
        names = _key_names(repeats)
        held = [repeats.c[name] == named(f"is_{name}") for name in names]
        statement = select(repeats.c.digest, repeats.c.outcome).where(*held)
        return self._made(statement, *(f"is_{name}" for name in names))

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
        return self._made(statement, "company", "before", "limit")


def _key_names(table: Table) -> list[str]:
    return [column.name for column in table.primary_key.columns]
