"""The large company of searches and queries: 100,000 contacts and 200,000 prices."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from time import process_time

from company import CONTACTS, PRICES, add_company, load_all, settings_in, write_rows
from processes import Cores, Server, program_beside, running

from comptoir.app import open_store
from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.samples import SampleSize, sample_company
from comptoir.store.migration import migrate

ITEMS = "itemsExt"
_LOADED = (CONTACTS, ITEMS, PRICES)

Row = Sequence[str]


@dataclass(frozen=True, slots=True)
class Large:
    """A company in a database of its own, with its loaded contacts and items.

    `indexing` is the CPU of building the text index, in µs for each contact.
    """

    settings: Settings
    company_id: str
    files: Mapping[str, Path]
    contacts: Sequence[dict[str, str]]
    items: Sequence[dict[str, str]]
    prices: int
    indexing: float

    @classmethod
    def prepared(cls, folder: Path) -> "Large":
        """Load and index the company, in a database in a folder."""
        return asyncio.run(_prepared(folder))

    @property
    def path(self) -> str:
        """The path of the company on the server."""
        return f"{self.settings.base_path}/companies({self.company_id})"

    def serve(self, stack: ExitStack, cores: Cores) -> Server:
        """Start a server of the company, which stops with the stack."""
        options = ["--port", "0", "--host", "127.0.0.1", "--keys", self.settings.keys]
        command = [program_beside("comptoir"), "serve", *options]
        command += ["--database", self.settings.database]
        return stack.enter_context(running("the service, large", command, cores.server))


async def _prepared(folder: Path) -> Large:
    settings = settings_in(folder, "large.db")
    migrate(settings, MODEL)
    store = open_store(settings)
    held: dict[str, Sequence[dict[str, str]]] = {}
    files: dict[str, Path] = {}
    try:
        company = await add_company(store)
        for table in sample_company(SampleSize.MEDIUM):
            if table.entity_set not in _LOADED:
                continue
            rows = list(table.rows)
            path = folder / f"large-{table.entity_set}.csv"
            files[table.entity_set] = write_rows(path, table.columns, rows)
            held[table.entity_set] = [dict(zip(table.columns, row, strict=True)) for row in rows]
        await load_all(store, company, files)
        before = process_time()
        await store.catch_up(company, MODEL.by_name[CONTACTS])
        used = process_time() - before
    finally:
        await store.close()
    contacts = held[CONTACTS]
    return Large(
        settings,
        company.id,
        files,
        contacts,
        held[ITEMS],
        len(held[PRICES]),
        used / len(contacts) * 1e6,
    )
