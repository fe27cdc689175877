"""When the secrets of clients were last used, to the hour."""

import time
from collections.abc import Awaitable, Callable, Mapping

from comptoir.edm.times import Clock

SAVE_AFTER = 600
"""Seconds after a use at which it is saved, together with the others since."""

SecretKey = tuple[str, str]
"""The id of a client, and that of its secret."""


_HOUR = 3_600


class SecretUses:
    """Notes the first use of each secret in an hour, for use in one event loop only."""

    def __init__(self, clock: Clock = time.time) -> None:
        self._clock = clock
        self._hour = 0
        self._noted: set[SecretKey] = set()
        self._waiting: dict[SecretKey, int] = {}
        self._save_at = 0

    def note(self, client_id: str, secret_id: str) -> None:
        """Note that a client was authenticated by a secret."""
        now = int(self._clock())
        hour = now - now % _HOUR
        if hour != self._hour:
            self._hour = hour
            self._noted.clear()
        key = client_id, secret_id
        if key not in self._noted:
            self._noted.add(key)
            if not self._waiting:
                self._save_at = now + SAVE_AFTER
            self._waiting[key] = hour

    async def write(
        self,
        save: Callable[[Mapping[SecretKey, int]], Awaitable[None]],
        *,
        is_last: bool = False,
    ) -> None:
        """Save the hours of uses, in epoch seconds, when it is time or if this `is_last`.

        What `save` raises is raised, and the next call saves them.
        """
        if self._waiting and (is_last or self._clock() >= self._save_at):
            saved = dict(self._waiting)
            await save(saved)
            for key, hour in saved.items():
                if self._waiting.get(key) == hour:
                    del self._waiting[key]
