"""Dropping all that a company has, some thousand rows at a time: for a deletion, or for a new copy.

The mark of an unfinished copy, without an incarnation, keeps the company's id meanwhile. So an
interrupted deletion is known by its mark, and the same command resumes it.
"""

import asyncio
import secrets
from collections.abc import Callable, Sequence

from comptoir.store.copying import CopyStep
from comptoir.store.protocol import KNOWN_SECONDS, Store
from comptoir.store.snapshot import CopyMark

Progress = Callable[[str, int, int], None]
"""Called with what is being done, the rows done, and the rows in all."""


async def deletable(store: Store, company_id: str) -> bool:
    """Whether there is a company, or what an unfinished copy or deletion has left of one."""
    async with store.snapshot() as snapshot:
        return (
            await snapshot.origin(company_id) is not None
            or await snapshot.mark(company_id) is not None
        )


async def delete_companies(store: Store, company_ids: Sequence[str], progress: Progress) -> None:
    """Delete companies with all their rows, or resume that; services may be running.

    Raises `OperatorError` when another command has gone on with one of them.
    """
    mark = dropping(secrets.token_hex(8))
    for company_id in company_ids:
        async with store.snapshot() as snapshot:
            held = await snapshot.mark(company_id)
        await store.copy(CopyStep(company_id, held, mark, reopens=True))
    # services still know the companies, and must not read some of their rows
    await asyncio.sleep(KNOWN_SECONDS)
    for company_id in company_ids:
        await drop_rows(store, company_id, mark, progress)
    # all marks stay until the end, so that the same command resumes
    for company_id in company_ids:
        await store.copy(CopyStep(company_id, mark, None))


async def drop_rows(store: Store, company_id: str, mark: CopyMark, progress: Progress) -> None:
    """Drop all rows of a company but its own, which is not there; the mark holds its id."""
    async with store.snapshot() as snapshot:
        totals = {each: await snapshot.left(each, company_id) for each in snapshot.leftovers}
    for table, total in totals.items():
        done = 0
        step = CopyStep(company_id, mark, mark, empties=table)
        while dropped := await store.copy(step):
            done += dropped
            progress(f"dropping {table}", done, total)


def dropping(holder: str) -> CopyMark:
    """A mark that no copy resumes from."""
    return CopyMark("", 0, holder)
