"""A store that is closed."""

import asyncio
from pathlib import Path
from uuid import uuid4

import pytest

from comptoir.app import open_store
from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.errors.refusal import Refusal
from support.databases import FreshDatabase
from support.waiting import PATIENCE_SECONDS


def test_a_write_to_a_closed_store_is_refused(
    fresh_database: FreshDatabase, tmp_path: Path
) -> None:
    """Nothing would run it, and its caller would wait without an end."""
    settings = Settings(database=fresh_database(tmp_path, MODEL), keys=str(tmp_path / "keys"))

    async def write() -> None:
        store = open_store(settings)
        writing = asyncio.ensure_future(store.create_company(str(uuid4()), "A"))
        await asyncio.sleep(0)
        await store.close()
        await writing
        async with asyncio.timeout(PATIENCE_SECONDS):
            await store.create_company(str(uuid4()), "B")

    with pytest.raises(Refusal, match="stop") as refused:
        asyncio.run(write())

    assert refused.value.error.code == "Internal_Unavailable"
