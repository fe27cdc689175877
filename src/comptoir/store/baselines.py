"""Marks: the records of companies at one moment, to which tests and `comptoir reset` return."""

from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from comptoir.edm.model import Company, EntitySet, Model
from comptoir.edm.record_json import record_encoder
from comptoir.edm.types import Stored
from comptoir.errors import refusal_rows
from comptoir.plan.read import Bounds, PagePlan, Row, all_records
from comptoir.sql.prepared import Steps
from comptoir.store.ledger import CREATE, DELETE, UPDATE, Change
from comptoir.store.store import Reads, Store
from comptoir.store.unit import UnitOfWork

MOST_RECORDS = 20_000
"""The most records of a mark, which are kept in memory."""

_PORTION = 1_000
"""Changes that are read at a time."""

_Key = tuple[str, Stored]
"""The name of an entity set, and the key of a record."""

Records = Mapping[str, Mapping[Stored, Row]]
"""Records by their sets and keys."""


class CompanyMark(msgspec.Struct, frozen=True):
    """The records of a company after the change with this number, by set and key."""

    company: Company
    number: int
    records: Records


async def marked(store: Store, model: Model) -> Sequence[CompanyMark]:
    """The records of all companies; raises `Refusal` (400) if they are too many."""
    marks: list[CompanyMark] = []
    left = MOST_RECORDS
    companies = model.by_name["companies"]
    key = companies.type.column_of[companies.type.key]
    for row in await _rows(store, companies, None, left):
        company = await store.company(str(row[key]))
        if company is None:
            continue
        number = await store.position(company)
        records: dict[str, Mapping[Stored, Row]] = {}
        for entity_set in model.stored:
            column = entity_set.type.column_of[entity_set.type.key]
            found = await _rows(store, entity_set, company, left)
            records[entity_set.name] = {each[column]: each for each in found}
            left -= len(found)
        marks.append(CompanyMark(company, number, records))
    return marks


async def _rows(
    store: Reads, entity_set: EntitySet, company: Company | None, most: int
) -> list[Row]:
    plan = PagePlan(all_records(entity_set), Bounds(company), most + 1)
    rows = [row async for some in store.page(plan) for row in some]
    if len(rows) > most:
        raise refusal_rows.LARGE_BASELINE(limit=MOST_RECORDS)
    return rows


async def restore(
    store: Store, model: Model, marks: Sequence[CompanyMark], by: str
) -> Sequence[CompanyMark]:
    """Restore the records that have changed since; returns marks after these changes.

    `by` is the author in the change log. The change numbers go on, and companies that were created
    since remain.
    """
    restored: list[CompanyMark] = []
    for mark in marks:
        number = mark.number
        known = await store.company(mark.company.id)
        if known is not None and await store.position(known) != number:
            number = await store.transact(mark.company.id, partial(_restore, model, mark, by))
        restored.append(msgspec.structs.replace(mark, number=number))
    return restored


def _restore(model: Model, mark: CompanyMark, by: str, unit: UnitOfWork) -> Steps[int]:
    """Restore the records of a company; returns its last change number."""
    touched = yield from _touched(model, mark, unit)
    rows: dict[EntitySet, list[Row]] = {}
    for (name, key), current in touched.items():
        entity_set, former = model.by_name[name], mark.records.get(name, {}).get(key)
        if (current and current[1:]) == (former and former[1:]):
            continue
        verb = (UPDATE if current else CREATE) if former else DELETE
        number, _ = unit.ledger.log(entity_set, key, verb, by)
        if current is not None:
            names = [
                each
                for each, at in entity_set.type.column_of.items()
                if former is None or current[at] != former[at]
            ]
            unit.ledger.add_difference(entity_set.type, names, current, former)
            yield unit.statements.writes.delete[entity_set].many(((unit.company_id, key),))
        if former is not None:
            rows.setdefault(entity_set, []).append((number, *former[1:]))
    # values of a unique rule may have moved from one record to another
    for entity_set, some in rows.items():
        columns = record_encoder(entity_set.type).columns
        values = [(unit.company_id, row[0], *columns(row), *row[1:]) for row in some]
        yield unit.statements.writes.insert[entity_set].many(values)
    return unit.ledger.number


def _touched(model: Model, mark: CompanyMark, unit: UnitOfWork) -> Steps[dict[_Key, Row | None]]:
    """The records that have changed since a mark, as they are now."""
    touched: dict[_Key, Row | None] = {}
    since, is_last = mark.number, False
    while not is_last:
        query = unit.statements.service.changes.query(unit.company_id, since, _PORTION)
        changes = [Change(*row) for row in (yield query)]  # type: ignore[arg-type]
        if changes and changes[0].number > since + 1:
            raise refusal_rows.TRIMMED(number=since + 1, oldest=changes[0].number)
        for each in changes:
            since = each.number
            entity_set = model.by_name[each.entity_set]
            # a company keeps another name
            if entity_set.per_company:
                key = entity_set.type.key_property.type.from_text(each.record)
                touched[each.entity_set, key] = yield from unit.read(entity_set, key)
        is_last = len(changes) < _PORTION
    return touched
