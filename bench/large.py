"""The large company of searches and queries: 100,000 contacts and 200,000 prices."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from company import PRICES, copied, load_all, write_rows
from generator import SampleSize, sample_company
from partners import Partners

from comptoir.app import open_store
from comptoir.catalog import MODEL
from comptoir.config import Settings

ITEMS = "itemsExt"
_LOADED = (ITEMS, PRICES)


@dataclass(frozen=True, slots=True)
class Large:
    """A copy of the company of the pages, in a database of its own, with `items` and prices."""

    settings: Settings
    partners: Partners
    items: Sequence[str]
    prices: int

    @classmethod
    async def prepared(cls, folder: Path, partners: Partners) -> "Large":
        """Load and index the company, in a database in a folder."""
        settings = copied(partners.settings, folder / "large")
        store = open_store(settings)
        items: list[str] = []
        files: dict[str, Path] = {}
        prices = 0
        try:
            for table in sample_company(SampleSize.MEDIUM):
                if table.entity_set not in _LOADED:
                    continue
                rows = list(table.rows)
                path = folder / f"large-{table.entity_set}.csv"
                files[table.entity_set] = write_rows(path, table.columns, rows)
                if table.entity_set == ITEMS:
                    items = [row[table.columns.index("id")] for row in rows]
                else:
                    prices = len(rows)
            await load_all(store, partners.company, files)
            for name in _LOADED:
                await store.index(partners.company.id, MODEL.by_name[name], sys.maxsize)
        finally:
            await store.close()
        return cls(settings, partners, items, prices)
