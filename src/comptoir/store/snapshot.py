"""The rows of a company in a fixed view of the database, and the progress of copies."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager

import msgspec
from sqlalchemy import Select, select
from typing_extensions import override

from comptoir.edm.model import EntitySet
from comptoir.edm.types import Stored
from comptoir.plan.read import Row
from comptoir.sql.prepared import Query
from comptoir.sql.statements import Statements
from comptoir.sql.tables import COMPANY_ID, Tables
from comptoir.store.company_names import names_query, sorted_names
from comptoir.store.store import SnapshotConnection, Store

ShowProgress = Callable[[str, int, int], None]
"""Called with the stage, the rows done, and the rows in all (0 while unknown)."""

LOOKUP = 100
"""The most records that are read by their keys at once."""

CHANGES = "changes"
"""The table of the change log."""


class Origin(msgspec.Struct, frozen=True):
    """The state of a company: its incarnation and its last change number."""

    incarnation: str
    number: int


class CopyProgress(msgspec.Struct, frozen=True):
    """The progress of an unfinished copy.

    `incarnation` is that of the source, blank while a copy or a company is being dropped. Changes
    of the source after `number` are not copied yet. `holder` identifies the run that copies.
    """

    incarnation: str
    number: int
    holder: str


class Snapshot:
    """Reads rows by a snapshot connection; a row has its columns in order, without the company."""

    def __init__(self, connection: SnapshotConnection, statements: Statements) -> None:
        self._connection = connection
        self._statements = statements
        self._copying = statements.company_rows

    @property
    def removals(self) -> Sequence[str]:
        """All tables with rows of a company, without its own row, in the order to drop them in."""
        return tuple(self._copying.removals)

    @property
    def tables(self) -> Sequence[str]:
        """The tables with rows of a company, except its own row and the text index."""
        return tuple(self._copying.tables)

    def key(self, table: str, row: Row) -> Row:
        """The key of a row."""
        return tuple([row[place] for place in self._copying.tables[table].key])

    def rows(
        self, table: str, company_id: str, after: Row | None = None
    ) -> AsyncGenerator[list[Row], None]:
        """The rows of a company in the order of their keys, in slices that are never empty.

        With `after`, only those with a higher key.
        """
        return self._connection.stream(self._copying.tables[table].rows(company_id, after))

    async def count(self, table: str, company_id: str) -> int:
        """The number of rows of a company in one of the tables of `removals`."""
        query = self._copying.removals[table].count(company_id)
        return int((await self._connection.fetch(query))[0][0])

    async def last(self, table: str, company_id: str) -> Row | None:
        """The highest key, None without rows."""
        return await self._first(self._copying.tables[table].last(company_id))

    async def records(self, company_id: str, table: str, keys: Sequence[Stored]) -> list[Row]:
        """The rows of the records that exist among up to `LOOKUP` keys."""
        entity_set = self._statements.model.by_name[table]
        names = (entity_set.type.key,)
        wanted = [(key,) for key in keys]
        rows: list[Row] = []
        for query in self._statements.writes.matches(company_id, entity_set, names, wanted):
            rows += await self._connection.fetch(query)
        return rows

    async def company(self, company_id: str) -> Row | None:
        """A company's own row, None if it does not exist."""
        companies = self._statements.tables.companies
        others = [each for each in companies.c if each.name != COMPANY_ID]
        own = select(*others).where(companies.c[COMPANY_ID] == company_id)
        return await self._first(self._statements.query(own))

    async def names(self) -> dict[str, str]:
        """The names of all companies by id."""
        return sorted_names(await self._connection.fetch(names_query(self._statements)))

    async def origin(self, company_id: str) -> Origin | None:
        """The state of a company, None if it does not exist."""
        own = self._statements.tables.companies.c
        state = select(own.incarnation, own.change_number).where(own[COMPANY_ID] == company_id)
        row = await self._first(self._statements.query(state))
        return Origin(str(row[0]), int(row[1])) if row else None

    async def change(self, company_id: str, number: int) -> Row | None:
        """The entry of the change log with a number, None if it does not exist."""
        return await self._first(self._statements.service.changes.query(company_id, number - 1, 1))

    async def progress(self, company_id: str) -> CopyProgress | None:
        """The progress of an unfinished copy of a company to this database, None without one."""
        progress = progress_of(self._statements.tables, company_id)
        row = await self._first(self._statements.query(progress))
        return CopyProgress(str(row[0]), int(row[1]), str(row[2])) if row else None

    async def left_out(self, company_id: str) -> dict[str, int]:
        """The numbers of records by what of them `rows` leaves out."""
        return {}

    async def _first(self, query: Query) -> Row | None:
        rows = await self._connection.fetch(query)
        return rows[0] if rows else None


class ConvertedSnapshot(Snapshot):
    """Reads rows of records as a database with another catalog has them.

    They lack the properties that it does not have, and have defaults in those that it has more.
    """

    def __init__(
        self, connection: SnapshotConnection, statements: Statements, wanted: Statements
    ) -> None:
        super().__init__(connection, statements)
        self._wanted = wanted.company_rows.tables
        self._places = {
            each.name: self._places_of(each)
            for each in wanted.model.stored
            if each.name in self._copying.tables
        }
        """For each column of a set's rows, its place in the rows here, and the default."""

    def _places_of(self, entity_set: EntitySet) -> list[tuple[int | None, Stored]]:
        here, properties = self._copying.tables[entity_set.name].names, entity_set.type.by_name
        return [
            (here.index(each), "") if each in here else (None, properties[each].initial)
            for each in self._wanted[entity_set.name].names
        ]

    def _converted(self, table: str, rows: list[Row]) -> list[Row]:
        places = self._places.get(table)
        if places is None:
            return rows
        return [tuple([e if at is None else row[at] for at, e in places]) for row in rows]

    @property
    @override
    def tables(self) -> Sequence[str]:
        return tuple(self._wanted)

    @override
    def key(self, table: str, row: Row) -> Row:
        return tuple([row[place] for place in self._wanted[table].key])

    @override
    async def rows(
        self, table: str, company_id: str, after: Row | None = None
    ) -> AsyncGenerator[list[Row], None]:
        if table in self._copying.tables:
            async with aclosing(super().rows(table, company_id, after)) as slices:
                async for rows in slices:
                    yield self._converted(table, rows)

    @override
    async def count(self, table: str, company_id: str) -> int:
        return await super().count(table, company_id) if table in self.removals else 0

    @override
    async def records(self, company_id: str, table: str, keys: Sequence[Stored]) -> list[Row]:
        if table not in self._copying.tables:
            return []
        return self._converted(table, await super().records(company_id, table, keys))

    @override
    async def left_out(self, company_id: str) -> dict[str, int]:
        lost: dict[str, int] = {}
        for each in self._statements.model.stored:
            wanted = self._wanted.get(each.name)
            columns = self._copying.tables[each.name].names
            missing = (
                [] if wanted is None else [name for name in columns if name not in wanted.names]
            )
            names = [f"{each.name}.{name}" for name in missing] if wanted else [each.name]
            count = await super().count(each.name, company_id) if names else 0
            lost |= dict.fromkeys(names, count) if count else {}
        return lost


def progress_of(tables: Tables, company_id: str) -> Select[*tuple[str | int, ...]]:
    """The statement that reads the progress of a copy."""
    copies = tables.copies.c
    columns = [copies[name] for name in CopyProgress.__struct_fields__]
    return select(*columns).where(copies[COMPANY_ID] == company_id)


@asynccontextmanager
async def open_snapshot(store: Store) -> AsyncIterator[Snapshot]:
    """The rows of a store's companies at the start of the block."""
    async with store.snapshot() as connection:
        yield Snapshot(connection, store.statements)
