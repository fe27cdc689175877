"""History as a part of a service: its resource, and the job that trims the logs."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import takewhile
from time import monotonic

from sqlalchemy import ColumnElement, Delete, Select, Table, Update, func, select, true
from typing_extensions import override

from comptoir.config import Settings
from comptoir.edm.times import Clock, instant
from comptoir.features.history.resource import ChangesResource
from comptoir.http.feature import Feature, Kernel
from comptoir.sql.prepared import Steps
from comptoir.sql.tables import AUDIT, COMPANY_ID, HISTORY
from comptoir.store.jobs import Job, every
from comptoir.store.store import Store
from comptoir.store.text_index import TOLERATED_LAG
from comptoir.store.writer import NO_COMPANY

TRIM_SECONDS = 600.0
"""Seconds between two looks for what is kept no longer."""

TRIMMED = 500
"""The most entries that a unit of work trims."""


class History(Feature):
    """Serves the changes of companies, and trims the logs."""

    @override
    @asynccontextmanager
    async def opened(self, kernel: Kernel) -> AsyncIterator[None]:
        self._kernel = kernel
        resource = ChangesResource(kernel.service, kernel.store, kernel.model, kernel.settings)
        kernel.service.mount(resource)
        yield

    @override
    def jobs(self) -> Iterable[Job]:
        kernel = self._kernel
        if not kernel.settings.refuses_writes:
            parts = kernel.store, kernel.settings, kernel.clock, kernel.features
            trim = partial(trim_logs, *parts)
            # a start has more urgent work
            yield every(TRIM_SECONDS, trim, at_once=False)


async def trim_logs(
    store: Store, settings: Settings, clock: Clock, features: Sequence[Feature] = ()
) -> None:
    """Delete the old entries of all logs, and the old differences of entries that stay.

    A change stays while a delta link or a feature needs it. Raises `Refusal` as writes do.
    """
    now, log_seconds = clock(), settings.log_days * 86_400.0

    def ago(seconds: float) -> str:
        return instant(datetime.fromtimestamp(max(now - seconds, 0.0), UTC))

    if log_seconds:
        await store.index_lagging(0)
    changes = store.statements.tables.changes
    number, at, difference = changes.c.number, changes.c["at"], changes.c[HISTORY[-1]]
    for company_id in await store.company_names():
        is_own = changes.c[COMPANY_ID] == company_id
        entries = select(number, at).where(is_own, difference.is_not(None)).order_by(at)
        change = changes.update().where(is_own, difference.is_not(None)).values({HISTORY[-1]: None})
        await _trim(store, company_id, entries, change, ago(settings.history_days * 86_400.0))
        if log_seconds:
            times = [at for each in features for at in await each.awaited(company_id)]
            times.append(ago(max(log_seconds, settings.delta_seconds)))
            # without them, an index is built more slowly
            if max((await store.search_lags(company_id)).values(), default=0) <= TOLERATED_LAG:
                await _delete(store, company_id, changes, is_own, min(times))
    if log_seconds:
        await _delete(store, NO_COMPANY, AUDIT, true(), ago(log_seconds))


async def _delete(
    store: Store, company_id: str, log: Table, is_own: ColumnElement[bool], before: str
) -> None:
    """Delete the entries from before a time, except for the last one, whose number is needed."""
    number = log.c.number
    last = select(func.max(number)).where(is_own).scalar_subquery()
    entries = select(number, log.c["at"]).where(is_own, number < last).order_by(number)
    await _trim(store, company_id, entries, log.delete().where(is_own), before)


async def _trim(
    store: Store, company_id: str, entries: Select[int, str], change: Update | Delete, before: str
) -> None:
    """Make a change to the first entries, by number and time, that are from before a time."""
    query, number = store.statements.query, change.table.c.number

    def work(*_: object) -> Steps[bool]:
        rows = yield query(entries.limit(TRIMMED))
        old = [int(each) for each, _ in takewhile(lambda row: str(row[1]) < before, rows)]
        if old:
            yield query(change.where(number.between(min(old), max(old))))
        return len(old) == TRIMMED

    first = await store.rows(query(entries.limit(1)))
    is_old = bool(first) and str(first[0][1]) < before
    while is_old:
        began = monotonic()
        is_old = await store.transact(company_id, work)
        # as much time for the writes of others
        await asyncio.sleep(monotonic() - began)
