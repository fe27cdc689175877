"""What a process knows of clients while it can, and while it cannot, read the control tables."""

import asyncio
from collections.abc import Sequence
from functools import partial
from uuid import uuid4

import pytest
from msgspec.structs import replace

from comptoir.auth.failures import Failures
from comptoir.auth.records import Client, ClientState
from comptoir.config import Settings
from comptoir.errors.refusal import ExceededLimit, Refusal
from comptoir.errors.table import UNAVAILABLE
from comptoir.sql.prepared import Steps
from comptoir.store.control import STALE_SECONDS, ControlWatch
from comptoir.store.jobs import every, running
from comptoir.store.unit import UnitOfWork
from support.clocks import SetClock
from support.databases import run_sql
from support.event_loop import in_event_loop
from support.roles import TESTS
from support.stores import opened
from support.waiting import PATIENCE_SECONDS, until

HIDE, SHOW = "ALTER TABLE control RENAME TO hidden", "ALTER TABLE hidden RENAME TO control"
RAISE = "UPDATE control SET version = version + 1"


def client(name: str) -> Client:
    return Client(name, name, frozenset(("admin",)), None, None, ClientState.ACTIVE, ())


async def eventually(watch: ControlWatch, *, is_known: bool) -> None:
    """Wait until a poll has changed whether anything is known."""

    def look() -> bool | None:
        return True if (watch.known is not None) is is_known else None

    await asyncio.to_thread(until, look, "a poll")


@in_event_loop
async def test_concurrent_changes_raise_the_version_and_leave_no_gap_in_the_log(
    settings: Settings,
) -> None:
    async with opened(settings) as one, opened(settings) as other:
        before = (await one.control.load()).version
        adding = [
            store.control.add_client(client(f"{number}-{at}"), TESTS)
            for number in range(10)
            for at, store in enumerate((one, other))
        ]
        await asyncio.gather(*adding)
        known = await one.control.load()
        assert known.version == before + 20
        assert len(known.clients) == 20
        entries = await one.control.audit(0, 100)
        assert [each.number for each in entries] == list(range(1, 21))
        assert {each.target for each in entries} == {each.name for each in known.clients.values()}


@in_event_loop
async def test_a_refresh_sees_every_change_that_was_made_before_it(settings: Settings) -> None:
    async with opened(settings) as one, opened(settings) as other:
        watch = ControlWatch(one.control)
        for number in range(20):
            looking = [asyncio.create_task(watch.refresh()) for _ in range(3)]
            await asyncio.sleep(0)
            await other.control.add_client(client(str(number)), TESTS)
            assert str(number) in (await watch.refresh()).clients
            await asyncio.gather(*looking)


@pytest.mark.parametrize(
    ("broken", "repaired"),
    [
        ((HIDE,), (SHOW,)),
        # a row as another release may write it
        (("INSERT INTO roles VALUES ('new', '[]')", RAISE), ("DELETE FROM roles", RAISE)),
    ],
)
@in_event_loop
async def test_what_is_known_becomes_stale(
    settings: Settings, broken: Sequence[str], repaired: Sequence[str]
) -> None:
    async def execute(statements: Sequence[str]) -> None:
        for each in statements:
            await asyncio.to_thread(run_sql, settings.database, each)

    clock = SetClock()
    async with opened(settings) as store:
        watch = ControlWatch(store.control, clock)
        async with running([every(0.05, watch.poll)]):
            await eventually(watch, is_known=True)
            await execute(broken)
            # a poll that was under way has ended, so none succeeds at the later time
            with pytest.raises(Refusal):
                await watch.refresh()
            clock.now += STALE_SECONDS
            with pytest.raises(Refusal) as caught:
                await watch.refresh()
            assert caught.value.error.status == UNAVAILABLE.status
            assert watch.known is not None
            assert watch.age == STALE_SECONDS
            clock.now += 1
            await eventually(watch, is_known=False)
            await execute(repaired)
            await eventually(watch, is_known=True)


@in_event_loop
async def test_failures_are_written_when_the_log_is_back(settings: Settings) -> None:
    clock, url = SetClock(), settings.database
    failures = Failures(clock)
    async with opened(settings) as store:
        write = partial(failures.write, store.control.record)
        failures.note("webshop", "10.0.0.1", "The secret is wrong", "r-1")
        await asyncio.to_thread(run_sql, url, "ALTER TABLE audit RENAME TO hidden")
        clock.now += 60
        with pytest.raises(Refusal):
            await write()
        await asyncio.to_thread(run_sql, url, "ALTER TABLE hidden RENAME TO audit")
        before = await store.control.version()
        async with running([every(0.1, write)]):
            await asyncio.to_thread(
                until, lambda: run_sql(url, "SELECT * FROM audit") or None, "it"
            )
        failures.note("webshop", "10.0.0.2", "The secret is wrong", "r-2")
        await write()
        first, last = await store.control.audit(0, 10)
        assert (first.number, first.act) == (1, "authentication.failed")
        assert (first.target, first.address, first.request) == ("webshop", "10.0.0.1", "r-1")
        assert (last.number, last.address) == (2, "10.0.0.2")
        # no process needs to read the clients again
        assert await store.control.version() == before


@in_event_loop
async def test_a_token_is_revoked_while_the_queue_of_writes_is_full(settings: Settings) -> None:
    """Else a client that fills the queue could keep its token."""
    async with opened(replace(settings, queued_writes=1)) as store:
        company = await store.create_company(str(uuid4()), "Full")
        writing = [asyncio.create_task(store.transact(company.id, nothing)) for _ in range(2)]
        await asyncio.sleep(0)
        await store.control.revoke("token", 2**40, "client:webshop", TESTS)
        assert "token" in (await store.control.load()).revoked
        first, second = await asyncio.gather(*writing, return_exceptions=True)
        assert first is None
        assert isinstance(second, Refusal)
        assert second.row.limit is ExceededLimit.QUEUE


def nothing(_: UnitOfWork) -> Steps[None]:
    """A unit of work without statements."""
    yield from ()


@in_event_loop
async def test_a_job_that_is_cancelled_while_it_writes_ends_after_the_write(
    settings: Settings,
) -> None:
    failures, begun = Failures(), asyncio.Event()
    failures.note("webshop", "10.0.0.1", "The secret is wrong", "r-1")
    async with opened(settings) as store, asyncio.timeout(PATIENCE_SECONDS):

        async def write() -> None:
            begun.set()
            await failures.write(store.control.record)

        async with running([every(PATIENCE_SECONDS, write)]):
            await begun.wait()
        (entry,) = await store.control.audit(0, 10)
        assert entry.target == "webshop"
