"""Notices changed keys while the service runs."""

import asyncio
from collections.abc import Callable, Collection

from comptoir.auth.key_folder import KeyFolder
from comptoir.auth.keys import VerificationKey, ended

LOOK_SECONDS = 5.0
"""Seconds between two looks at the folder."""


async def follow(keys: KeyFolder, forget: Callable[[Collection[VerificationKey]], None]) -> None:
    """Look at a folder periodically, and `forget` the keys that are no longer trusted."""
    former = keys.ring
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        keys.reload()
        ring = keys.ring
        gone = ended(former, ring)
        if gone:
            forget(gone)
        former = ring
