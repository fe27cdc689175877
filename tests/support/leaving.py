"""A client within the tests' process that disconnects during a response."""

import asyncio
import gc
import sys
from collections.abc import AsyncGenerator

import httpx
from starlette.types import ASGIApp, Message

from support.exchange import scope_of


async def left_open(application: ASGIApp, request: httpx.Request, pieces: int) -> list[str]:
    """Disconnect after some chunks of a response; returns the generators that are not closed."""
    found: list[str] = []
    left = asyncio.Event()
    bodies = [{"type": "http.request", "body": request.content}]
    count = 0

    async def receive() -> Message:
        if bodies:
            return bodies.pop()
        await left.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        nonlocal count
        count += message["type"] == "http.response.body"
        if count >= pieces:
            left.set()
        await asyncio.sleep(0)

    def find(generator: AsyncGenerator[object, None]) -> None:
        found.append(repr(generator))

    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(finalizer=find)
    try:
        await application(scope_of(request), receive, send)
        # what has come up since is young
        gc.collect(1)
    finally:
        sys.set_asyncgen_hooks(*hooks)
    assert left.is_set(), "the answer was shorter"
    return found
