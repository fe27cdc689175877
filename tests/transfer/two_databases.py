"""Two databases, each with a service, and copies of companies between them."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Self

import pytest
from sqlalchemy import Connection, select, text

from comptoir.app import open_store
from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.features.transfer.copy import Copy, CopyReport
from comptoir.sql.tables import build_tables
from comptoir.store.snapshot import ShowProgress, open_snapshot
from comptoir.store.store import Store
from support.command import Command, Result
from support.companies import Company
from support.databases import in_database
from support.event_loop import in_thread
from support.service import Service
from support.stores import opened

ROWS = {
    name: text(f"{select(table)} WHERE company_id = :id")
    for name, table in build_tables(MODEL).metadata.tables.items()
}
"""A statement for each table."""

MADE_ANEW = {"copies", "search_marks", "search_documents"}
"""The tables that a copy leaves unchanged."""


class Stopped(Exception):  # noqa: N818 - somebody's wish, not an error
    """Interrupts a copy."""


class TwoDatabases:
    """The source and the target of copies, each with a service."""

    def __init__(self, command: Command, source: Service, target: Service) -> None:
        self.command = command
        self.source = source
        self.target = target
        self._runner = asyncio.Runner()
        self._here = self._runner.run(_open(source.settings))
        self._there = self._runner.run(_open(target.settings))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._here.close())
        self._runner.run(self._there.close())
        self._runner.close()

    @property
    def urls(self) -> tuple[str, str]:
        return self.source.settings.database, self.target.settings.database

    def run(self, *more: str) -> Result:
        """Run the command."""
        return self.command.here("copy", "--from", self.urls[0], "--to", self.urls[1], *more)

    def copied(self, company: Company, *more: str) -> str:
        """The output of the command that copies a company, which must succeed."""
        result = self.run("--company", company.id, *more)
        assert (result.status, result.err) == (0, ""), result.err
        return result.out

    def error(self, company: Company, *more: str) -> str:
        """The error of the command that copies a company, which must fail."""
        return self.run("--company", company.id, *more).error()

    def attempt(
        self, company: Company, listener: ShowProgress = lambda *_: None, *, restart: bool = False
    ) -> CopyReport:
        """Copy with the stores that are open, in half the time of the command."""
        copy = Copy(self._here, self._there, company.stored, listener)
        return self._runner.run(copy.run(restart=restart))

    def stopped_at(
        self, company: Company, stage: str, times: int = 1, *, restart: bool = False
    ) -> None:
        """Interrupt a copy when it has reported a stage `times` times."""
        told = 0

        def stop(what: str, _done: int, _rows: int) -> None:
            nonlocal told
            told += what.startswith(stage)
            if told == times:
                raise Stopped

        with pytest.raises(Stopped):
            self.attempt(company, stop, restart=restart)

    def during(self, company: Company, work: Callable[[], object], *stages: str) -> CopyReport:
        """Copy, and run `work` at a report of each stage; they come in this order."""
        left = list(stages)

        def listen(what: str, _done: int, _rows: int) -> None:
            if left and what.startswith(left[0]):
                del left[0]
                in_thread(work)

        report = self.attempt(company, listen)
        assert not left, f"the copy was never {left[0]}"
        return report

    def overtake(self, company: Company) -> CopyReport:
        """Copy with separate stores, as another process does."""

        async def work() -> CopyReport:
            async with (
                opened(self.source.settings) as source,
                opened(self.target.settings) as target,
            ):
                copy = Copy(source, target, company.stored, lambda *_: None)
                return await copy.run(restart=False)

        return asyncio.run(work())

    def there(self, company: Company) -> Company:
        """The company in the target."""
        client, admin = self.target.client, self.target.admin
        root = f"{client.root}/companies({company.id})"
        return Company(client.carrier, root, client.token, company.stored, admin)

    def copied_so_far(self, company: Company, table: str) -> int:
        """The number of rows of a company in a table of the target."""

        async def count() -> int:
            async with open_snapshot(self._there) as snapshot:
                return await snapshot.count(table, company.id)

        return self._runner.run(count())

    def is_seen(self, company: Company) -> bool:
        """Whether clients of the target see a company."""
        status = self.there(company).get("contactsExt").status_code
        assert status in (200, 404)
        return status == 200

    def assert_same(self, company: Company) -> None:
        """Check that all rows of the company are the same on both sides."""
        mine, others = (rows_of(url, company) for url in self.urls)
        for table in mine.keys() - MADE_ANEW:
            assert mine[table] == others[table]


def guid(number: int) -> str:
    """A key for a number; the keys sort by their numbers."""
    return f"00000000-0000-4000-8000-{number:012x}"


async def _open(settings: Settings) -> Store:
    return open_store(settings)


def rows_of(url: str, company: Company) -> Mapping[str, list[tuple[object, ...]]]:
    """All rows of a company by table, read by plain SQL."""

    def read(connection: Connection) -> dict[str, list[tuple[object, ...]]]:
        of_company = {"id": company.id}
        return {
            name: sorted(map(tuple, connection.execute(each, of_company)))
            for name, each in ROWS.items()
        }

    return in_database(url, read)
