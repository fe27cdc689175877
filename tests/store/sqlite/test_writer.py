"""Units of work that share a transaction, when a statement of one fails."""

import asyncio
import threading
from collections.abc import Sequence
from uuid import uuid4

import pytest

from comptoir.app import open_store
from comptoir.config import Settings
from comptoir.edm.model import Company
from comptoir.errors.refusal import Refusal
from comptoir.sql.prepared import Query, Steps
from comptoir.store.unit import UnitOfWork
from support.databases import ON_SQLITE

pytestmark = ON_SQLITE


def outcomes(settings: Settings, statements: Sequence[str]) -> list[Company | BaseException | None]:
    """Create two companies, and run a unit of statements between them, in one transaction."""
    has_begun, is_queued = threading.Event(), threading.Event()

    def wait(_: UnitOfWork) -> Steps[None]:
        has_begun.set()
        is_queued.wait()
        yield from ()

    def run(_: UnitOfWork) -> Steps[None]:
        for statement in statements:
            yield Query(statement, ())

    async def write() -> list[Company | BaseException | None]:
        store = open_store(settings)
        waiting = asyncio.create_task(store.transact(str(uuid4()), wait))
        await asyncio.to_thread(has_begun.wait)
        writing = [
            asyncio.create_task(store.create_company(str(uuid4()), "A")),
            asyncio.create_task(store.transact(str(uuid4()), run)),
            asyncio.create_task(store.create_company(str(uuid4()), "B")),
        ]
        await asyncio.sleep(0)
        is_queued.set()
        await waiting
        found = await asyncio.gather(*writing, return_exceptions=True)
        await store.close()
        return found

    return asyncio.run(write())


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("SELECT zeroblob(2000000000)", "BadRequest_MethodNotImplemented"),
        ("SELECT abs(-9223372036854775808)", "Internal_Unavailable"),
    ],
)
def test_a_statement_that_fails_by_itself_fails_only_its_unit(
    statement: str, code: str, settings: Settings
) -> None:
    table = "CREATE TABLE half (done)"

    first, failed, last = outcomes(settings, [table, statement])

    assert isinstance(first, Company)
    assert isinstance(last, Company)
    assert isinstance(failed, Refusal)
    assert failed.error.code == code
    # the failed unit left nothing, so it can create the table again
    assert outcomes(settings, [table])[1] is None


def test_a_full_disk_fails_all_units_of_the_transaction(settings: Settings) -> None:
    statements = ["PRAGMA max_page_count=1", "CREATE TABLE big AS SELECT zeroblob(1000000)"]

    found = outcomes(settings, statements)

    codes = [each.error.code for each in found if isinstance(each, Refusal)]
    assert codes == ["Internal_DatabaseFull"] * 3
