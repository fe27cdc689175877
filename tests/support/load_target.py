"""Loads files into a database within this process, and reads the records."""

import asyncio
import tracemalloc
from collections.abc import Awaitable, Callable
from copy import copy
from pathlib import Path
from typing import Self, TypeVar
from uuid import uuid4

from comptoir.app import open_store
from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.edm.model import Company
from comptoir.edm.types import Stored
from comptoir.features.transfer.files import FileSource
from comptoir.features.transfer.load import LoadReport, load_source
from comptoir.plan.read import Bounds, PagePlan, Row, all_records
from comptoir.store.ledger import Change
from comptoir.store.snapshot import ShowProgress
from comptoir.store.store import Store

T = TypeVar("T")


class LoadTarget:
    """A database with one company, and a folder for files; its store stays open until the end."""

    def __init__(self, folder: Path, url: str, company_id: str) -> None:
        self.folder = folder
        self.url = url
        self.company_id = company_id
        self._runner = asyncio.Runner()
        self._store: Store | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._store is not None:
            self._runner.run(self._store.close())
        self._runner.close()

    def another(self, folder: Path) -> "LoadTarget":
        """A new company of the same database, until this target is closed."""

        async def create() -> str:
            company_id = str(uuid4())
            await self._opened().create_company(company_id, company_id)
            return company_id

        another = copy(self)
        another.folder, another.company_id = folder, self._runner.run(create())
        another._store = self._store
        return another

    def load(
        self, name: str, content: str | bytes, *, keep_good: bool = False, encoding: str = "utf-8"
    ) -> LoadReport:
        """Load a file with this name and content."""
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return self.load_file(path, keep_good=keep_good)

    def load_file(
        self, path: Path, *, keep_good: bool = False, show_progress: ShowProgress = lambda *_: None
    ) -> LoadReport:
        source, entity_set = FileSource(path), MODEL.by_name[path.stem]
        return self._with_store(
            lambda store, company: load_source(
                store, company, source, entity_set, show_progress, keep_good=keep_good
            )
        )

    def load_measured(self, path: Path, *, keep_good: bool = False) -> tuple[LoadReport, int]:
        """Load a file, and return the peak memory of Python in bytes with the report."""
        tracemalloc.start()
        try:
            report = self.load_file(path, keep_good=keep_good)
            return report, tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    def records(self, name: str) -> list[dict[str, Stored]]:
        """All records of a set, by key."""
        names = MODEL.by_name[name].type.by_name
        return [dict(zip(names, row[1:], strict=True)) for row in self.rows(name)]

    def rows(self, name: str) -> list[Row]:
        """All records of a set by key, each with its version first."""
        bounds = Bounds(Company(self.company_id, ""))
        plan = PagePlan(all_records(MODEL.by_name[name]), bounds, limit=100_000)

        async def work(store: Store, _: Company) -> list[Row]:
            return [row async for rows in store.page(plan) for row in rows]

        return self._with_store(work)

    def changes(self) -> list[Change]:
        """The whole change log."""
        return self._with_store(lambda store, company: store.changes(company, 0, 1_000_000))

    def _with_store(self, work: Callable[[Store, Company], Awaitable[T]]) -> T:
        async def run() -> T:
            company = await self._opened().company(self.company_id)
            assert company is not None
            return await work(self._opened(), company)

        return self._runner.run(run())

    def _opened(self) -> Store:
        if self._store is None:
            self._store = open_store(Settings(database=self.url))
        return self._store


def reasons(report: LoadReport) -> list[str]:
    """The errors of a report, as `line: column: reason`."""
    return [f"{error.line}: {error.column}: {error.reason}" for error in report.errors]
