"""Stores over the database of a test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from comptoir.app import open_store
from comptoir.config import Settings
from comptoir.store.store import Store


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Store]:
    """A store that is closed at the end of the block."""
    store = open_store(settings)
    try:
        yield store
    finally:
        await store.close()
