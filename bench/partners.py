"""The company of the pages, with 100,000 contacts and 50,000 customers."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import process_time

from company import CONTACTS, CUSTOMERS, add_company, load_all, settings_in, write_rows
from generator import SampleSize, sample_company

from comptoir.app import open_store
from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.edm.model import Company
from comptoir.store.migration import migrate

CUSTOMER_COUNT = 50_000

_SIZES = {CONTACTS: SampleSize.MEDIUM, CUSTOMERS: SampleSize.LARGE}


@dataclass(frozen=True, slots=True)
class Partners:
    """The company in a database of its own, with its contacts and the keys of its customers.

    `indexing` is the CPU of adding a contact to the text index, in µs.
    """

    settings: Settings
    company: Company
    contacts_file: Path
    contacts: Sequence[dict[str, str]]
    customers: Sequence[str]
    indexing: float

    @property
    def path(self) -> str:
        """The path of the company on the server."""
        return f"{self.settings.base_path}/companies({self.company.id})"

    @classmethod
    async def prepared(cls, folder: Path) -> "Partners":
        """Load and index the company, so that no service does that while it is measured."""
        settings = settings_in(folder, "partners.db")
        migrate(settings, MODEL)
        contacts, customers = (_rows(name) for name in (CONTACTS, CUSTOMERS))
        files = {
            name: write_rows(folder / f"partners-{name}.csv", list(rows[0]), map(dict.values, rows))
            for name, rows in ((CONTACTS, contacts), (CUSTOMERS, customers))
        }
        store = open_store(settings)
        try:
            company = await add_company(store)
            await load_all(store, company, files)
            await store.index(company.id, MODEL.by_name[CUSTOMERS], sys.maxsize)
            before = process_time()
            await store.index(company.id, MODEL.by_name[CONTACTS], sys.maxsize)
            used = process_time() - before
        finally:
            await store.close()
        keys = [each["id"] for each in customers]
        indexing = used / len(contacts) * 1e6
        return cls(settings, company, files[CONTACTS], contacts, keys, indexing)


def _rows(name: str) -> list[dict[str, str]]:
    table = next(each for each in sample_company(_SIZES[name]) if each.entity_set == name)
    count = CUSTOMER_COUNT if name == CUSTOMERS else None
    return [dict(zip(table.columns, row, strict=True)) for row in islice(table.rows, count)]
