"""Trims change logs: deletes what is kept for some days only."""

import asyncio
from datetime import UTC, datetime, timedelta
from functools import partial
from time import monotonic

from sqlalchemy import null, select, update

from comptoir.edm.times import Clock, instant
from comptoir.sql.prepared import Query, Steps, named, prepare
from comptoir.sql.statements import Statements
from comptoir.sql.tables import COMPANY, COMPANY_ID, HISTORY, of_company
from comptoir.store.store import Store
from comptoir.store.unit import UnitOfWork

TRIMMED = 500
"""The most entries that a unit of work trims."""

_DIFFERENCE = HISTORY[-1]


async def trim_changes(store: Store, history_days: int, clock: Clock) -> None:
    """Delete the differences in the change logs of all companies that are older than some days.

    Their entries stay. Raises `Refusal` as writes do.
    """
    until = datetime.fromtimestamp(clock(), UTC) - timedelta(days=history_days)
    before = instant(until)
    for company_id in await store.company_names():
        is_old = bool(await store.rows(_old(store.statements, company_id, before, 1)))
        while is_old:
            began = monotonic()
            is_old = await store.transact(company_id, partial(_trim_some, before)) == TRIMMED
            # as much time for the writes of others
            await asyncio.sleep(monotonic() - began)


def _old(statements: Statements, company_id: str, before: str, limit: int) -> Query:
    """The statement that reads the numbers of the oldest entries with a difference."""
    changes = statements.tables.changes.c
    is_kept = changes[COMPANY_ID] == company_id, changes[_DIFFERENCE].is_not(None)
    old = select(changes.number).where(*is_kept, changes["at"] < before)
    return statements.query(old.order_by(changes["at"]).limit(limit))


def _trim_some(before: str, unit: UnitOfWork) -> Steps[int]:
    """Delete the oldest differences from before a time; returns their number."""
    rows = yield _old(unit.statements, unit.company_id, before, TRIMMED)
    changes = unit.statements.tables.changes
    is_entry = of_company(changes), changes.c.number == named("entry")
    trim = update(changes).where(*is_entry).values({_DIFFERENCE: null()})
    trimming = prepare(trim, unit.statements.compiler, (COMPANY, "entry"))
    yield trimming.many([(unit.company_id, *row) for row in rows])
    return len(rows)
