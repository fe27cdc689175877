"""Statements over the tables that the service keeps for itself: companies, changes, load marks."""

from dataclasses import dataclass

from sqlalchemy import delete, insert, select, update
from sqlalchemy.engine import Dialect
from sqlalchemy.sql import ClauseElement

from comptoir.sql.prepared import Prepared, constant, named, prepare
from comptoir.sql.tables import COMPANY_ID, VERSION, Tables


@dataclass(frozen=True, eq=False, slots=True)
class ServiceStatements:
    """Each field's line gives the values to bind, in order."""

    company: Prepared
    """The incarnation of a company: id."""

    add_company: Prepared
    """Add a company: id, name, displayName, lastModifiedDateTime, incarnation."""

    ledger: Prepared
    """A company's last change number and its time, locked where the store needs it: id."""

    keep_ledger: Prepared
    """Keep the last change number and its time: id, number, time."""

    add_change: Prepared
    """Add a line to the change log: company, number, entity set, record, verb, time, by."""

    changes: Prepared
    """The change log behind a number: company, number, limit. Gives the lines in order."""

    load_mark: Prepared
    """How many rows of a file are written: company, entity set, digest."""

    add_load_mark: Prepared
    """Begin a file: company, entity set, digest, rows."""

    keep_load_mark: Prepared
    """Go on with a file: company, entity set, digest, rows."""

    drop_load_mark: Prepared
    """End a file: company, entity set, digest."""


def build_service_statements(tables: Tables, dialect: Dialect) -> ServiceStatements:
    """Build the statements for a dialect."""
    companies, changes, loads = tables.companies, tables.changes, tables.loads

    def made(statement: ClauseElement, *names: str) -> Prepared:
        return prepare(statement, dialect, names)

    of_company = companies.c[COMPANY_ID] == named("id")
    of_load = (
        loads.c[COMPANY_ID] == named("company"),
        loads.c.entity_set == named("entity_set"),
        loads.c.digest == named("digest"),
    )
    load_names = ("company", "entity_set", "digest")
    change_names = ("company", "number", "entity_set", "record", "verb", "at", "by")
    return ServiceStatements(
        company=made(select(companies.c.incarnation).where(of_company), "id"),
        add_company=made(
            insert(companies).values(
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
            ),
            "id",
            "set_name",
            "set_display",
            "set_at",
            "set_incarnation",
        ),
        ledger=made(
            select(companies.c.change_number, companies.c.changed_at)
            .where(of_company)
            .with_for_update(),
            "id",
        ),
        keep_ledger=made(
            update(companies)
            .where(of_company)
            .values(change_number=named("set_number"), changed_at=named("set_at")),
            "id",
            "set_number",
            "set_at",
        ),
        add_change=made(
            insert(changes).values(
                {COMPANY_ID: named("set_company")}
                | {name: named(f"set_{name}") for name in change_names[1:]}
            ),
            *(f"set_{name}" for name in change_names),
        ),
        changes=made(
            select(
                changes.c.number,
                changes.c.entity_set,
                changes.c.record,
                changes.c.verb,
                changes.c.at,
                changes.c.by,
            )
            .where(changes.c[COMPANY_ID] == named("company"), changes.c.number > named("since"))
            .order_by(changes.c.number)
            .limit(named("limit"))
            .offset(constant(0)),
            "company",
            "since",
            "limit",
        ),
        load_mark=made(select(loads.c.rows_done).where(*of_load), *load_names),
        add_load_mark=made(
            insert(loads).values(
                {
                    COMPANY_ID: named("set_company"),
                    "entity_set": named("set_set"),
                    "digest": named("set_digest"),
                    "rows_done": named("set_rows"),
                }
            ),
            "set_company",
            "set_set",
            "set_digest",
            "set_rows",
        ),
        keep_load_mark=made(
            update(loads).where(*of_load).values(rows_done=named("set_rows")),
            *load_names,
            "set_rows",
        ),
        drop_load_mark=made(delete(loads).where(*of_load), *load_names),
    )
