"""Entries of the change log with what the changes did, the latest first."""

from collections.abc import Collection, Sequence

import msgspec
from sqlalchemy import BigInteger, Select, Table, false, literal, select

from comptoir.edm.model import Company, EntitySet
from comptoir.edm.types import Stored
from comptoir.sql.prepared import constant
from comptoir.sql.statements import Statements
from comptoir.sql.tables import COMPANY_ID, HISTORY
from comptoir.store.store import Reads, WhileConnected

_COLUMNS = ("number", "entity_set", "record", "verb", "at", "by", *HISTORY)


class Entry(msgspec.Struct, frozen=True):
    """An entry of the change log. `previous` and `difference` are those of its table."""

    number: int
    entity_set: str
    record: str
    verb: str
    at: str
    by: str
    previous: int | None
    difference: str | None


class Scope(msgspec.Struct, frozen=True):
    """The entries to read: those of some sets (None for all), or those of one record.

    `record` is the set and the key of the record, as the change log has them.
    """

    company: Company
    sets: Collection[str] | None = None
    record: tuple[EntitySet, Stored] | None = None


async def read_entries(
    reads: Reads,
    statements: Statements,
    scope: Scope,
    start: int,
    limit: int,
    while_connected: WhileConnected,
) -> list[Entry]:
    """The entries from the one with the number `start` downwards; raises `Refusal` as reads do.

    Those of a record are read along `previous`, and there are none unless it has the first one.
    """
    changes = statements.tables.changes
    if scope.record is None:
        statement = _of_sets(changes, scope, start).limit(literal(limit, BigInteger))
        statement = statement.offset(constant(0))
    else:
        statement = _of_record(changes, scope.company, *scope.record, start, limit)
    rows = await reads.rows(statements.query(statement), while_connected)
    return [Entry(*row) for row in rows]  # type: ignore[arg-type]


def _of_sets(changes: Table, scope: Scope, start: int) -> Select[*tuple[str | int, ...]]:
    of_company = changes.c[COMPANY_ID] == scope.company.id
    chosen = select(*[changes.c[name] for name in _COLUMNS]).where(
        of_company, changes.c.number <= start
    )
    if scope.sets is not None:
        listed = [literal(name) for name in sorted(scope.sets)]
        chosen = chosen.where(changes.c.entity_set.in_(listed) if listed else false())
    return chosen.order_by(changes.c.number.desc())


def _of_record(
    changes: Table, company: Company, entity_set: EntitySet, key: Stored, start: int, limit: int
) -> Select[*tuple[str | int, ...]]:
    columns: Sequence[str] = _COLUMNS
    first = select(*[changes.c[name] for name in columns], constant(1).label("place")).where(
        changes.c[COMPANY_ID] == company.id,
        changes.c.number == start,
        changes.c.entity_set == entity_set.name,
        changes.c.record == str(key),
    )
    chain = first.cte("chain", recursive=True)
    earlier = select(*[changes.c[name] for name in columns], chain.c.place + constant(1)).where(
        changes.c[COMPANY_ID] == company.id,
        changes.c.number == chain.c.previous,
        chain.c.place < literal(limit, BigInteger),
    )
    chain = chain.union_all(earlier)
    return select(*[chain.c[name] for name in columns]).order_by(chain.c.place)
