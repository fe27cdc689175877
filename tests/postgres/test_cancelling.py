"""Callers that are cancelled while they connect, of whom no connection remains."""

import asyncio
import gc
from collections.abc import Callable

import pytest
import uvloop

from comptoir.config import Settings
from comptoir.store.postgres import connection
from comptoir.store.postgres.connection import connect
from support.postgres import Databases, name_of
from support.waiting import PATIENCE_SECONDS, until

TURNS = 40
"""Iterations of the event loop, after each of which a connect is cancelled."""


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_cancelled_connect_leaves_nothing(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
    postgres_server: Databases,
    postgres_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At any stage: neither a connection nor an exception that nobody retrieves."""
    # a busy machine may need longer
    monkeypatch.setattr(connection, "CLOSING_SECONDS", PATIENCE_SECONDS)
    reported: list[object] = []

    async def cancel_at_each_stage() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: reported.append(context["message"]))
        for turns in range(TURNS):
            connecting = asyncio.ensure_future(
                connect(Settings(), postgres_url, seconds=PATIENCE_SECONDS)
            )
            for _ in range(turns):
                await asyncio.sleep(0)
            connecting.cancel()
            await asyncio.wait((connecting,))
            if not connecting.cancelled():
                connecting.result().terminate()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(cancel_at_each_stage())
        # once, since the heap of a whole run takes long
        gc.collect()
    assert reported == []
    left = f"SELECT 1 FROM pg_stat_activity WHERE datname = '{name_of(postgres_url)}'"
    until(lambda: postgres_server.asked(left) == [] or None, "the end of all connections")
