"""The queue of the requests of a client."""

import asyncio
from collections.abc import Sequence

import pytest
from starlette.types import Message, Receive

from comptoir.errors.refusal import Refusal
from comptoir.http.exchange import ClientDisconnectedError, RequestQueue
from support.event_loop import in_event_loop
from support.together import together
from support.waiting import PATIENCE_SECONDS

LEFT: Message = {"type": "http.disconnect"}


def sent(body: bytes = b"", *, more: bool = False) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


def receiving(messages: Sequence[Message]) -> Receive:
    """Receives what a client sends, which then stays connected."""
    left = list(messages)

    async def receive() -> Message:
        if not left:
            await asyncio.get_running_loop().create_future()
        return left.pop(0)

    return receive


async def taken(seconds: float = 600) -> RequestQueue:
    """A queue of which a request has the only turn."""
    queue = RequestQueue(1, seconds=seconds)
    await queue.enter(receiving([]))
    return queue


@in_event_loop
async def test_a_turn_that_does_not_come_is_503() -> None:
    """Which leaves the turns as they were."""
    queue = await taken(seconds=0.01)
    with pytest.raises(Refusal, match="did not end within") as refused:
        await queue.enter(receiving([sent()]))
    assert refused.value.error.status == 503
    queue.release("")
    await queue.enter(receiving([]))


@in_event_loop
async def test_a_request_that_is_cancelled_takes_no_turn() -> None:
    queue = await taken()
    waiting = asyncio.ensure_future(queue.enter(receiving([])))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait((waiting,))
    queue.release("")
    await queue.enter(receiving([]))


@together("first", [[], [sent()], [sent(b"{}")]])
@in_event_loop
async def test_a_client_that_leaves_takes_no_turn(first: list[Message]) -> None:
    queue = await taken()
    with pytest.raises(ClientDisconnectedError):
        await queue.enter(receiving([*first, LEFT]))
    queue.release("")
    await queue.enter(receiving([]))


@together("body", [[sent(b"{}")], [sent(b"{", more=True), sent(b"}")], [sent(b"{}"), LEFT]])
@in_event_loop
async def test_what_a_client_sends_while_it_waits_is_received(body: list[Message]) -> None:
    queue = await taken()
    # it does not leave before its turn
    waiting = asyncio.ensure_future(queue.enter(receiving(body[:1])))
    for _ in range(10):
        await asyncio.sleep(0)
    queue.release("")
    receive = await waiting
    assert await receive() == body[0]


@in_event_loop
async def test_a_turn_that_comes_as_its_request_is_cancelled_is_for_the_next_one() -> None:
    queue = await taken()
    waiting = asyncio.ensure_future(queue.enter(receiving([])))
    for _ in range(10):
        await asyncio.sleep(0)
    queue.release("")
    # the turn has come, but the request does not know that yet
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait((waiting,))
    if not waiting.cancelled():
        queue.release("")
    async with asyncio.timeout(PATIENCE_SECONDS):
        await queue.enter(receiving([]))
