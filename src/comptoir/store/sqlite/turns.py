"""Turns of the event loop: long answers take them one after another, one slice each."""

import asyncio


class Turns:
    """However many pages are being written, a turn of the event loop holds one slice of them."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def next(self) -> None:
        """Wait for a turn of one's own, behind whatever the event loop has to do by then."""
        async with self._lock:
            await asyncio.sleep(0)
