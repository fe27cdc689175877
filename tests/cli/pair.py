"""Two databases with a service over each, and companies on their way from one to the other."""

import asyncio
import sqlite3
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass

import asyncpg

from cli.command import Command, Result
from comptoir.app import open_store
from comptoir.catalog import MODEL
from comptoir.copying import Copier, CopyReport, Progress
from comptoir.sql.tables import build_tables
from comptoir.store.sqlite.connection import database_path
from comptoir.store.urls import is_postgres
from support.office import Company
from support.service import Service

MADE_ANEW = ("copies", "search_marks", "search_documents")
"""The tables that a copy leaves alone."""


class Stopped(Exception):  # noqa: N818 - somebody's wish, not an error
    """A copy was interrupted."""


@dataclass(frozen=True)
class Pair:
    """Where a company is, and where it is copied to."""

    command: Command
    source: Service
    target: Service

    @property
    def urls(self) -> tuple[str, str]:
        return self.source.settings.database, self.target.settings.database

    def copy(self, *more: str) -> Result:
        """Run the command."""
        return self.command.here("copy", "--from", self.urls[0], "--to", self.urls[1], *more)

    def copied(self, *more: str) -> str:
        """What the command prints that is to succeed."""
        result = self.copy(*more)
        assert (result.status, result.err) == (0, ""), result.err
        return result.out

    def attempt(self, company: Company, listener: Progress, *, anew: bool = False) -> CopyReport:
        """Copy within this process, with somebody who listens."""

        async def work() -> CopyReport:
            source = open_store(self.source.settings)
            target = open_store(self.target.settings)
            try:
                copier = Copier(MODEL, source, target, listener)
                return await copier.copy(company.stored, anew=anew)
            finally:
                await source.close()
                await target.close()

        return asyncio.run(work())

    def stopped_at(self, company: Company, stage: str, times: int = 1) -> None:
        """Interrupt a copy when it has told of a stage so many times."""
        told = 0

        def stop(what: str, _done: int, _rows: int) -> None:
            nonlocal told
            told += what.startswith(stage)
            if told == times:
                raise Stopped

        try:
            self.attempt(company, stop)
        except Stopped:
            return
        raise AssertionError(f"the copy was never {stage}")

    def during(self, company: Company, stage: str, work: Callable[[], object]) -> CopyReport:
        """Copy, and do something beside it when it first tells of a stage."""
        pending = [work]

        def listen(what: str, _done: int, _rows: int) -> None:
            if pending and what.startswith(stage):
                beside(pending.pop())

        report = self.attempt(company, listen)
        assert not pending, f"the copy was never {stage}"
        return report

    def there(self, company: Company) -> Company:
        """The company, spoken to in the target."""
        return Company(
            self.target,
            f"{self.target.client.root}/companies({company.id})",
            self.target.client.token,
            company.stored,
            self.target.office,
        )

    def assert_same(self, company: Company) -> None:
        """Every row of the company is the same on both sides, whatever table it is in."""
        mine, others = (rows_of(url, company.id) for url in self.urls)
        assert mine == others
        listed = [
            self.command.done("changes", "--company", company.id, "--database", url).out
            for url in self.urls
        ]
        assert listed[0] == listed[1]


def beside(work: Callable[[], object]) -> None:
    """Do something that runs an event loop of its own, while another one is running here."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(work).result()


def rows_of(url: str, company_id: str) -> Mapping[str, list[tuple[object, ...]]]:
    """All rows of a company, by table, but for what is made anew."""
    tables = [each for each in build_tables(MODEL).metadata.tables if each not in MADE_ANEW]
    return {
        table: sorted(asked(url, f"SELECT * FROM \"{table}\" WHERE company_id = '{company_id}'"))
        for table in tables
    }


def asked(url: str, statement: str) -> list[tuple[object, ...]]:
    """The rows of a statement, run by its own means and not the service's."""
    if not is_postgres(url):
        with closing(sqlite3.connect(database_path(url))) as connection, connection:
            return connection.execute(statement).fetchall()

    async def ask() -> list[tuple[object, ...]]:
        connection = await asyncpg.connect(url)
        try:
            return [tuple(row) for row in await connection.fetch(statement)]
        finally:
            await connection.close()

    return asyncio.run(ask())
