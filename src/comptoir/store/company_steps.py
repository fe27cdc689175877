"""The steps that copy or delete a company: units of work that store how far they have come.

A rebuild of its stored JSON has steps too, which start again from the beginning. A rename is one.

The stored progress of an unfinished copy reserves the company's id. A deletion consists of the same
steps. Its progress has no incarnation, so no copy resumes it, but the same command does.
"""

import asyncio
import secrets
from collections.abc import Sequence
from contextlib import aclosing
from functools import partial

import msgspec
from sqlalchemy import delete, func, insert, select, update

from comptoir.errors import operator_rows as problems
from comptoir.errors.messages import quoted
from comptoir.plan.read import Row
from comptoir.sql.prepared import Statement, Steps
from comptoir.sql.tables import COMPANY_ID, VERSION
from comptoir.store.company_names import check_name
from comptoir.store.ledger import UPDATE
from comptoir.store.snapshot import CopyProgress, ShowProgress, open_snapshot, progress_of
from comptoir.store.store import COMPANY_CACHE_SECONDS, Store
from comptoir.store.unit import UnitOfWork

DROPPED_ROWS = 2_000
"""The most rows that a step drops from a table."""

DROPPED_DOCUMENTS = 500
"""The most documents that a step drops from the text index, which has many entries for each."""


ENCODED_ROWS = 400
"""The most records whose JSON a step writes: few, because writers wait for it."""


class TablePart(msgspec.Struct, frozen=True):
    """The rows of a table that a step drops, by their keys, and then adds.

    With `clears`, rows that have a unique value of a row to add are dropped first.
    """

    table: str
    drops: Sequence[Row] = ()
    rows: Sequence[Row] = ()
    clears: bool = False


class CopyStep(msgspec.Struct, frozen=True):
    """A step of a copy or a deletion, from one progress to the next; None is none.

    `opens` is the company's own row, which makes it visible; `reopens` drops that row again.
    `empties` is a table whose first rows are dropped.
    """

    company_id: str
    was: CopyProgress | None
    then: CopyProgress | None
    parts: Sequence[TablePart] = ()
    opens: Row | None = None
    reopens: bool = False
    empties: str | None = None


async def run_step(store: Store, step: CopyStep) -> int:
    """Run a step in a transaction; returns the number of rows that it dropped from `empties`.

    Raises `OperatorError` unless the stored progress is `step.was`.
    """
    return await store.transact(step.company_id, partial(_unit, step))


def _unit(step: CopyStep, unit: UnitOfWork) -> Steps[int]:
    unit.identity_map.clear()
    query, company_id = unit.statements.query, step.company_id
    tables = unit.statements.tables
    companies, copies = tables.companies, tables.copies
    is_own, is_copy = companies.c[COMPANY_ID] == company_id, copies.c[COMPANY_ID] == company_id
    rows = yield query(progress_of(tables, company_id).with_for_update())
    if rows != ([] if step.was is None else [msgspec.structs.astuple(step.was)]):
        deletes = not rows[0][0] if rows else step.was is not None and not step.was.incarnation
        work = "deletes" if deletes else "copies"
        raise problems.OVERTAKEN(work=work, company=company_id)
    if step.reopens:
        yield query(delete(companies).where(is_own))
    elif step.was is None and (yield query(select(companies.c.incarnation).where(is_own))):
        raise problems.COMPANY_IN_TARGET(company=company_id)
    for part in step.parts:
        table = unit.statements.company_rows.tables[part.table]
        if part.drops:
            yield table.drop.many((company_id, *key) for key in part.drops)
        for columns, drop in table.conflicts if part.rows and part.clears else ():
            yield drop.many((company_id, *[row[each] for each in columns]) for row in part.rows)
        if part.rows:
            yield table.add(company_id, part.rows)
    dropped = 0
    if step.empties is not None:
        dropped = yield from _drop_some(step.empties, unit)
    if step.opens is not None:
        yield query(insert(companies).values((company_id, *step.opens)))
        yield from check_name(unit, problems.NAME_IN_TARGET)
    if step.then is None:
        yield query(delete(copies).where(is_copy))
    elif step.was is None:
        yield query(insert(copies).values((company_id, *msgspec.structs.astuple(step.then))))
    elif step.then != step.was:
        yield query(update(copies).where(is_copy).values(msgspec.structs.asdict(step.then)))
    return dropped


def _drop_some(table: str, unit: UnitOfWork) -> Steps[int]:
    """Drop the first rows of a company from a table; returns their number."""
    statements, company_id = unit.statements, unit.company_id
    removals = statements.company_rows.removals[table]
    if table != statements.tables.search_documents.name:
        keys = yield removals.first(company_id, DROPPED_ROWS)
    else:
        rows = yield removals.first(company_id, DROPPED_DOCUMENTS)
        documents = [(int(number), str(text)) for number, text in rows]
        if documents:
            yield from statements.index.documents.drop(documents)
        keys = [(number,) for number, _ in documents]
    if keys:
        yield removals.drop.many((company_id, *key) for key in keys)
    return len(keys)


async def not_deletable(store: Store, company_ids: Sequence[str]) -> list[str]:
    """The ids that neither a company nor an unfinished copy or deletion has.

    Empty if the deletion of one was interrupted: that command may have deleted the others.
    """
    async with open_snapshot(store) as snapshot:
        known = await snapshot.names()
        progress = {each: await snapshot.progress(each) for each in company_ids}
    if any(each is not None and not each.incarnation for each in progress.values()):
        return []
    return [each for each, found in progress.items() if found is None and each not in known]


async def delete_companies(
    store: Store, company_ids: Sequence[str], show_progress: ShowProgress
) -> None:
    """Delete companies with all their rows, or resume a deletion; services may be running.

    Raises `OperatorError` if another command copies or deletes one of them.
    """
    progress = CopyProgress("", 0, secrets.token_hex(8))
    for company_id in company_ids:
        async with open_snapshot(store) as snapshot:
            found = await snapshot.progress(company_id)
        await run_step(store, CopyStep(company_id, found, progress, reopens=True))
    # services still cache the companies, and must not read some of their rows
    await asyncio.sleep(COMPANY_CACHE_SECONDS)
    for company_id in company_ids:
        await drop_rows(store, company_id, progress, show_progress)
    # the progress of each stays until the end, so that the same command resumes
    for company_id in company_ids:
        await run_step(store, CopyStep(company_id, progress, None))


async def drop_rows(
    store: Store, company_id: str, progress: CopyProgress, show_progress: ShowProgress
) -> None:
    """Drop all rows of a company whose own row is deleted; `progress` reserves its id."""
    async with open_snapshot(store) as snapshot:
        totals = {each: await snapshot.count(each, company_id) for each in snapshot.removals}
    for table, total in totals.items():
        done = 0
        step = CopyStep(company_id, progress, progress, empties=table)
        while dropped := await run_step(store, step):
            done += dropped
            show_progress(f"dropping {table}", done, total)


async def rename_company(store: Store, company_id: str, name: str, by: str) -> str:
    """Give a company another name, as a change of its own record; returns the name it had.

    `by` is the author in the change log. Raises `OperatorError` if the company has this name, or
    another one has it, and if there is no such company.
    """
    return await store.transact(company_id, partial(_rename, name, by))


def _rename(name: str, by: str, unit: UnitOfWork) -> Steps[str]:
    query, company_id = unit.statements.query, unit.company_id
    tables, entity_set = unit.statements.tables, unit.statements.model.companies
    columns = tables.records[entity_set.name].columns
    is_own = tables.companies.c[COMPANY_ID] == company_id
    # 0 is not the number of a change
    version = func.nullif(tables.companies.c[VERSION], 0)
    rows = yield query(select(version, *columns.values()).where(is_own))
    if not rows:
        is_unfinished = yield query(progress_of(tables, company_id))
        row = problems.UNFINISHED_COMPANY if is_unfinished else problems.NO_COMPANY
        raise row(id=company_id)
    former = str(rows[0][entity_set.type.column_of["name"]])
    if former == name:
        raise problems.SAME_COMPANY_NAME(id=company_id, name=quoted(name))
    number, at = unit.ledger.log(entity_set, company_id, UPDATE, by)
    values = {"name": name, "displayName": name, "lastModifiedDateTime": at}
    after = (number, company_id, name, name, at)
    unit.ledger.add_difference(entity_set.type, values, rows[0], after)
    yield query(update(tables.companies).where(is_own).values({**values, VERSION: number}))
    yield from check_name(unit, problems.COMPANY_NAME_TAKEN)
    return former


async def rebuild_json(
    store: Store, company_id: str, table: str, show_progress: ShowProgress
) -> int:
    """Store the JSON of a company's records in a table again; returns their number.

    Services may be running. It changes no version and logs no change, and skips a record that has
    changed since it was read, because that change has stored its JSON. Each slice of records is
    read from a snapshot of its own: while one is open, the database keeps the rows that writes
    replace.
    """
    statements = store.statements.company_rows.tables[table]
    done, total = 0, 0
    last: Row | None = None
    while True:
        async with open_snapshot(store) as snapshot:
            total = total or await snapshot.count(table, company_id)
            async with aclosing(snapshot.rows(table, company_id, last)) as slices:
                rows: list[Row] = await anext(slices, [])
            if not rows:
                return done
            last = snapshot.key(table, rows[-1])
        done += len(rows)
        show_progress(f"encoding {table}", done, total)
        for at in range(0, len(rows), ENCODED_ROWS):
            # encoded before the transaction
            encoded = statements.write_json(company_id, rows[at : at + ENCODED_ROWS])
            await store.transact(company_id, partial(_run, encoded))


def _run(statement: Statement, _: UnitOfWork) -> Steps[None]:
    yield statement
