"""Entries of the change log with what the changes did, the latest first."""

from collections.abc import Collection

import msgspec
from sqlalchemy import FromClause, Select, Table, false, literal, select

from comptoir.edm.model import Company, EntitySet
from comptoir.edm.types import Stored
from comptoir.sql.prepared import constant
from comptoir.sql.tables import COMPANY_ID
from comptoir.store.ledger import Change


class Entry(Change, frozen=True):
    """An entry of the change log. `previous` and `difference` are those of its table."""

    previous: int | None
    difference: str | None


class Scope(msgspec.Struct, frozen=True):
    """The entries to read: those of some sets (None for all), or those of one record.

    `record` is the set and the key of the record, as the change log has them.
    """

    company: Company
    sets: Collection[str] | None = None
    record: tuple[EntitySet, Stored] | None = None


def entries(changes: Table, scope: Scope, start: int, limit: int) -> Select[*tuple[str | int, ...]]:
    """The statement that reads entries from the one with the number `start` downwards.

    Those of a record are read along `previous`, and there are none unless it has the first one.
    """
    if scope.record is not None:
        return _of_record(changes, scope.company, *scope.record, start, limit)
    of_company = changes.c[COMPANY_ID] == scope.company.id
    chosen = _columns(changes).where(of_company, changes.c.number <= start)
    if scope.sets is not None:
        listed = [literal(name) for name in sorted(scope.sets)]
        chosen = chosen.where(changes.c.entity_set.in_(listed) if listed else false())
    return chosen.order_by(changes.c.number.desc()).limit(limit)


def _of_record(
    changes: Table, company: Company, entity_set: EntitySet, key: Stored, start: int, limit: int
) -> Select[*tuple[str | int, ...]]:
    of_company = changes.c[COMPANY_ID] == company.id
    is_first = (
        changes.c.number == start,
        changes.c.entity_set == entity_set.name,
        changes.c.record == str(key),
    )
    first = _columns(changes).add_columns(constant(1).label("place")).where(of_company, *is_first)
    chain = first.cte("chain", recursive=True)
    is_next = changes.c.number == chain.c.previous, chain.c.place < limit
    earlier = _columns(changes).add_columns(chain.c.place + constant(1))
    chain = chain.union_all(earlier.where(of_company, *is_next))
    return _columns(chain).order_by(chain.c.place)


def _columns(entries: FromClause) -> Select[*tuple[str | int, ...]]:
    return select(*[entries.c[name] for name in Entry.__struct_fields__])
