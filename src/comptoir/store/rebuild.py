"""Encode the stored JSON of records again, from their columns.

Services may be running. A rebuild does not change the version of a record or the change log. It
skips a record that has changed since it was read, because that change has stored its JSON.
"""

from collections.abc import Sequence
from contextlib import aclosing
from functools import partial

from comptoir.plan.read import Row
from comptoir.sql.prepared import Steps
from comptoir.store.snapshot import ShowProgress, open_snapshot
from comptoir.store.store import Store
from comptoir.store.unit import UnitOfWork


async def rebuild_json(
    store: Store, company_id: str, table: str, show_progress: ShowProgress
) -> int:
    """Store the JSON of a company's records in a table again; returns their number.

    Each slice of records is read from a snapshot of its own: while one is open, the database keeps
    the rows that writes replace.
    """
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
        await store.transact(company_id, partial(_write_json, table, rows))


def _write_json(table: str, rows: Sequence[Row], unit: UnitOfWork) -> Steps[None]:
    yield unit.statements.company_rows.tables[table].write_json(unit.company_id, rows)
