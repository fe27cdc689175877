"""Fair shares: parties take turns, and none exceeds its half."""

import asyncio
import random
from collections import Counter
from collections.abc import Coroutine

import pytest

from comptoir.errors.refusal import Refusal
from comptoir.errors.table import DATABASE_BUSY
from comptoir.store.fair_queue import CLIENT, FairQueue, FairSemaphore, Permit
from support.event_loop import in_event_loop


def as_party(party: str, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
    """Start work in a task of a party."""
    mark = CLIENT.set(party)
    task = asyncio.ensure_future(work)
    CLIENT.reset(mark)
    return task


async def enter_as(queue: FairQueue, party: str) -> Permit:
    mark = CLIENT.set(party)
    try:
        return await queue.enter()
    finally:
        CLIENT.reset(mark)


@in_event_loop
async def test_parties_take_turns() -> None:
    """However many wait of one party, the first of another one is the next."""
    order: list[str] = []
    turns = FairSemaphore(1, 1)

    async def use(name: str) -> None:
        party = await turns.acquire()
        order.append(name)
        await asyncio.sleep(0)
        turns.release(party)

    first = await turns.acquire()
    names = ("a0", "a1", "a2", "a3", "b0", "b1", "c0")
    waiting = [as_party(name[0], use(name)) for name in names]
    await asyncio.sleep(0)
    turns.release(first)
    await asyncio.gather(*waiting)
    assert order == ["a0", "b0", "c0", "a1", "b1", "a2", "a3"]


@in_event_loop
async def test_one_party_holds_at_most_its_share() -> None:
    turns = FairSemaphore(4, 2)
    held = [await turns.acquire() for _ in range(2)]
    third = asyncio.ensure_future(turns.acquire())
    await asyncio.sleep(0)
    assert not third.done()

    mark = CLIENT.set("another")
    held += [await turns.acquire() for _ in range(2)]
    assert not turns.is_free
    CLIENT.reset(mark)
    # a permit of another party is free, and not for this one
    turns.release(held.pop())
    await asyncio.sleep(0)
    assert not third.done()

    turns.release(held.pop(0))
    assert await third == ""


@pytest.mark.parametrize("seed", range(5))
@in_event_loop
async def test_cancelled_callers_return_their_permits(seed: int) -> None:
    """At any stage, and no party exceeds its share meanwhile."""
    chance = random.Random(seed)
    permits, share = 4, 2
    held: Counter[str] = Counter()
    turns = FairSemaphore(permits, share)

    async def use() -> None:
        party = await turns.acquire()
        held[party] += 1
        assert held[party] <= share
        assert held.total() <= permits
        try:
            for _ in range(chance.randrange(4)):
                await asyncio.sleep(0)
        finally:
            held[party] -= 1
            turns.release(party)

    tasks = [as_party(chance.choice("abc"), use()) for _ in range(200)]
    for task in tasks:
        if chance.random() < 0.5:
            await asyncio.sleep(0)
        if chance.random() < 0.4:
            task.cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert {type(each) for each in ended} == {type(None), asyncio.CancelledError}
    for party in "ab":
        CLIENT.set(party)
        for _ in range(share):
            assert turns.is_free
            await turns.acquire()


async def busy(queue: FairQueue, party: str) -> Refusal:
    """The refusal of one more read of a party."""
    with pytest.raises(Refusal) as caught:
        await enter_as(queue, party)
    assert caught.value.error is DATABASE_BUSY
    return caught.value


@in_event_loop
async def test_waiting_and_running_reads_count() -> None:
    """One party may have half of the bound; all of them have it together."""
    queue = FairQueue(permits=2, most=4, seconds=60)
    permits = [await enter_as(queue, "a")]
    waiting = asyncio.ensure_future(enter_as(queue, "a"))
    await asyncio.sleep(0)
    assert "2 long reads of the client" in (await busy(queue, "a")).message

    permits.append(await enter_as(queue, "b"))
    cancelled = asyncio.ensure_future(enter_as(queue, "c"))
    await asyncio.sleep(0)
    assert "4 long reads are" in (await busy(queue, "d")).message

    # a place is free after a cancellation, and after an end
    cancelled.cancel()
    await asyncio.wait([cancelled])
    queue.leave(permits.pop())
    permits.append(await enter_as(queue, "d"))
    queue.leave(permits.pop(0))
    permits.append(await waiting)


@in_event_loop
async def test_the_client_learns_when_the_reads_ahead_will_have_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is the limit of a read at most, and is known from the last reads."""
    now = 0.0
    monkeypatch.setattr("comptoir.store.fair_queue.monotonic", lambda: now)
    queue = FairQueue(permits=1, most=4, seconds=60)
    # the service itself looks what is to be indexed
    queue.leave(await enter_as(queue, ""))
    first = await enter_as(queue, "a")
    second = asyncio.ensure_future(enter_as(queue, "a"))
    await asyncio.sleep(0)
    assert (await busy(queue, "a")).headers == {"Retry-After": "60"}

    now = 7.2
    queue.leave(first)
    third = asyncio.ensure_future(enter_as(queue, "a"))
    await asyncio.sleep(0)
    assert (await busy(queue, "a")).headers == {"Retry-After": "15"}

    queue.leave(await second)
    queue.leave(await third)
    assert now == 7.2
    held = await enter_as(queue, "a")
    waiting = asyncio.ensure_future(enter_as(queue, "a"))
    await asyncio.sleep(0)
    assert (await busy(queue, "a")).headers == {"Retry-After": "5"}
    queue.leave(held)
    queue.leave(await waiting)
