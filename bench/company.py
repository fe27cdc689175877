"""The measured company: real or generated records, loaded as by `comptoir load`."""

import csv
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from pathlib import Path
from uuid import uuid4

from generator import SampleSize, sample_company

from comptoir.app import open_store
from comptoir.auth.tokens import Scope, token_issuer
from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.edm.model import Company
from comptoir.features.transfer.files import FileSource
from comptoir.features.transfer.load import LoadReport, load_source
from comptoir.store.migration import migrate
from comptoir.store.store import Store
from comptoir.store.urls import SQLITE

CUSTOMERS, CONTACTS, PRICES = "customersExt", "contactsExt", "salesPricesExt"
CUSTOMER_COUNT = 20_000
CONTACT_COUNT = 1_500
PRICED_ITEMS = 1_500
"""More filters than the service caches, so that a run over all of them finds none in the cache."""

PRICES_PER_ITEM = 5


@dataclass(frozen=True, slots=True)
class Measured:
    """A company in a database, with a token and the keys that the scenarios request.

    New records are created in another company, so that this one does not change.
    """

    settings: Settings
    company_id: str
    growing_id: str
    token: str
    files: Mapping[str, Path]
    customers: Sequence[str]
    contacts: Sequence[str]
    priced: Sequence[str]

    @property
    def path(self) -> str:
        """The path of the company on the server."""
        return f"{self.settings.base_path}/companies({self.company_id})"

    @property
    def growing_path(self) -> str:
        """The path on the server of the company in which records are created."""
        return f"{self.settings.base_path}/companies({self.growing_id})"


def settings_in(folder: Path, name: str = "company.db") -> Settings:
    """The settings of a service whose files are in a folder."""
    return Settings(database=f"{SQLITE}{folder / name}", keys=str(folder / "keys"))


def write_files(folder: Path, source: Path | None) -> dict[str, Path]:
    """The files to load, by entity set: from `source`, or of the sample company.

    The prices are always generated: five for each item.
    """
    files = {}
    if source is not None:
        files = {name: source / f"{name}.csv" for name in (CUSTOMERS, CONTACTS)}
    else:
        counts = {CUSTOMERS: CUSTOMER_COUNT, CONTACTS: CONTACT_COUNT}
        for table in sample_company(SampleSize.MEDIUM):
            if table.entity_set in counts:
                rows = islice(table.rows, counts[table.entity_set])
                name = table.entity_set
                files[name] = write_rows(folder / f"{name}.csv", table.columns, rows)
    columns = ("entryNo", "sourceType", "assetType", "assetNumber", "unitOfMeasure", "unitPrice")
    files[PRICES] = write_rows(folder / f"{PRICES}.csv", columns, _prices())
    return files


def _prices() -> Iterator[Sequence[str]]:
    for number in range(PRICED_ITEMS * PRICES_PER_ITEM):
        item = f"IT-{number % PRICED_ITEMS:04d}"
        price = f"{10 + number % 977}.{number % 100:02d}"
        yield str(number + 1), "All Customers", "Item", item, "PCS", price


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Iterable[str]]) -> Path:
    """Write a CSV file, and return its path."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)
    return path


async def add_company(store: Store, company_id: str | None = None) -> Company:
    """Add a company without records, with a new id or the given one."""
    company_id = company_id or str(uuid4())
    return await store.create_company(company_id, f"Benchmark {company_id}")


async def load_all(store: Store, company: Company, files: Mapping[str, Path]) -> None:
    """Load files into entity sets of a company."""
    for name, path in files.items():
        report = await load(store, company, name, path)
        if report.refused:
            raise ValueError(f"{path}: {report.errors[0]}")


async def load(store: Store, company: Company, name: str, path: Path) -> LoadReport:
    """Load a file into an entity set of a company."""
    entity_set, source = store.statements.model.by_name[name], FileSource(path)
    return await load_source(store, company, source, entity_set, _in_silence, keep_good=False)


def _in_silence(_stage: str, _done: int, _total: int) -> None:
    return


async def prepare(folder: Path, files: Mapping[str, Path]) -> Measured:
    """Create a database in a folder, and load the files into a new company."""
    settings = settings_in(folder)
    migrate(settings, MODEL)
    store = open_store(settings)
    try:
        company, growing = await add_company(store), await add_company(store)
        await load_all(store, company, files)
        # so that no service does it while it is measured
        await store.index_lagging(0)
    finally:
        await store.close()
    database = database_file(settings)
    return Measured(
        settings,
        company.id,
        growing.id,
        token_for(settings),
        files,
        _keys(database, CUSTOMERS, 5_000),
        _keys(database, CONTACTS, 500),
        [f"IT-{number:04d}" for number in range(PRICED_ITEMS)],
    )


def token_for(settings: Settings, subject: str = "bench") -> str:
    """A token that may read and write the records of every company."""
    scopes = (Scope.RECORDS_READ, Scope.RECORDS_WRITE)
    return token_issuer(settings).issue(subject, scopes, None, timedelta(hours=8))


def database_file(settings: Settings) -> Path:
    """The file of an SQLite database."""
    return Path(settings.database.removeprefix(SQLITE))


def copied(settings: Settings, folder: Path) -> Settings:
    """The same data and keys, in files of their own in a folder.

    Two services that share a folder of keys also share the watermarks of their companies.
    """
    copy = settings_in(folder)
    # the first token creates the keys
    token_for(settings)
    shutil.copytree(settings.keys, copy.keys)
    with sqlite3.connect(database_file(settings)) as source:
        with sqlite3.connect(database_file(copy)) as target:
            source.backup(target)
        target.close()
    source.close()
    return copy


def _keys(database: Path, name: str, count: int) -> list[str]:
    """Some keys of a table, in an order unrelated to the order of the rows in the file."""
    connection = sqlite3.connect(database)
    try:
        query = f'SELECT id FROM "{name}" ORDER BY id LIMIT {count}'
        return [row[0] for row in connection.execute(query)]
    finally:
        connection.close()
