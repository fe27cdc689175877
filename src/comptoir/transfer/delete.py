"""Delete companies with all their rows, some thousand at a time.

Meanwhile, the mark of an unfinished copy, without an incarnation, reserves the company's id. The
mark shows an interrupted deletion, and the same command resumes it.
"""

import asyncio
import secrets
from collections.abc import Sequence
from functools import partial

from comptoir.store.store import KNOWN_SECONDS, Store
from comptoir.transfer import Progress
from comptoir.transfer.snapshot import CopyMark, open_snapshot
from comptoir.transfer.steps import CopyStep, copy_unit


async def deletable(store: Store, company_id: str) -> bool:
    """Whether there is a company, or what an unfinished copy or deletion has left of one."""
    async with open_snapshot(store) as snapshot:
        return (
            await snapshot.origin(company_id) is not None
            or await snapshot.mark(company_id) is not None
        )


async def is_unfinished(store: Store, company_id: str) -> bool:
    """Whether the deletion of a company, or of its unfinished copy, was interrupted."""
    async with open_snapshot(store) as snapshot:
        mark = await snapshot.mark(company_id)
    return mark is not None and not mark.incarnation


async def delete_companies(store: Store, company_ids: Sequence[str], progress: Progress) -> None:
    """Delete companies with all their rows, or resume that; services may be running.

    Raises `OperatorError` when another command has gone on with one of them.
    """
    mark = dropping(secrets.token_hex(8))
    for company_id in company_ids:
        async with open_snapshot(store) as snapshot:
            held = await snapshot.mark(company_id)
        await _run(store, CopyStep(company_id, held, mark, reopens=True))
    # services still know the companies, and must not read some of their rows
    await asyncio.sleep(KNOWN_SECONDS)
    for company_id in company_ids:
        await drop_rows(store, company_id, mark, progress)
    # all marks stay until the end, so that the same command resumes
    for company_id in company_ids:
        await _run(store, CopyStep(company_id, mark, None))


async def drop_rows(store: Store, company_id: str, mark: CopyMark, progress: Progress) -> None:
    """Drop all rows of a company but its own, which is not there; the mark holds its id."""
    async with open_snapshot(store) as snapshot:
        totals = {each: await snapshot.left(each, company_id) for each in snapshot.leftovers}
    for table, total in totals.items():
        done = 0
        step = CopyStep(company_id, mark, mark, empties=table)
        while dropped := await _run(store, step):
            done += dropped
            progress(f"dropping {table}", done, total)


def dropping(holder: str) -> CopyMark:
    """A mark that no copy resumes from."""
    return CopyMark("", 0, holder)


async def _run(store: Store, step: CopyStep) -> int:
    return await store.transact(step.company_id, partial(copy_unit, step))
