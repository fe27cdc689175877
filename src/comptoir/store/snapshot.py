"""The rows of a company in a fixed view of the database, and the progress of copies."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager

import msgspec
from sqlalchemy import Select, select

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
    """Reads rows by a snapshot connection; a row has its columns in order, without the company.

    The rows of records are as a database with the catalog of the `wanted` statements has them: they
    lack the properties that it does not have, and have defaults in those that it has more.
    """

    def __init__(
        self,
        connection: SnapshotConnection,
        statements: Statements,
        wanted: Statements | None = None,
    ) -> None:
        wanted = wanted or statements
        self._connection = connection
        self._statements = statements
        self._stored = statements.company_rows.tables
        self._wanted = wanted.company_rows.tables
        self._places: dict[str, list[tuple[int | None, Stored]]] = {}
        """For each column of a converted row, its place in the stored one, and the default."""
        if wanted.model.source != statements.model.source:
            known = [each for each in wanted.model.stored if each.name in self._stored]
            self._places = {each.name: self._places_of(each) for each in known}

    def _places_of(self, entity_set: EntitySet) -> list[tuple[int | None, Stored]]:
        stored, properties = self._stored[entity_set.name].names, entity_set.type.by_name
        return [
            (stored.index(each), "") if each in stored else (None, properties[each].initial)
            for each in self._wanted[entity_set.name].names
        ]

    def _converted(self, table: str, rows: list[Row]) -> list[Row]:
        places = self._places.get(table)
        if places is None:
            return rows
        return [tuple([e if at is None else row[at] for at, e in places]) for row in rows]

    @property
    def removals(self) -> Sequence[str]:
        """All tables with rows of a company, without its own row, in the order to drop them in."""
        return tuple(self._statements.company_rows.removals)

    @property
    def tables(self) -> Sequence[str]:
        """The tables with rows of a company, except its own row and the text index."""
        return tuple(self._wanted)

    def key(self, table: str, row: Row) -> Row:
        """The key of a row."""
        return tuple([row[place] for place in self._wanted[table].key])

    async def rows(
        self, table: str, company_id: str, after: Row | None = None
    ) -> AsyncGenerator[list[Row], None]:
        """The rows of a company in the order of their keys, in slices that are never empty.

        With `after`, only those with a higher key.
        """
        if table in self._stored:
            query = self._stored[table].rows(company_id, after)
            async with aclosing(self._connection.stream(query)) as slices:
                async for rows in slices:
                    yield self._converted(table, rows)

    async def count(self, table: str, company_id: str) -> int:
        """The number of rows of a company in a table, such as one of `removals`."""
        removal = self._statements.company_rows.removals.get(table)
        row = await self._first(removal.count(company_id)) if removal else None
        return int(row[0]) if row else 0

    async def last(self, table: str, company_id: str) -> Row | None:
        """The highest key, None without rows."""
        return await self._first(self._stored[table].last(company_id))

    async def records(self, company_id: str, table: str, keys: Sequence[Stored]) -> list[Row]:
        """The rows of the records that exist among up to `LOOKUP` keys."""
        rows: list[Row] = []
        if table in self._stored:
            entity_set = self._statements.model.by_name[table]
            names, wanted = (entity_set.type.key,), [(key,) for key in keys]
            for query in self._statements.writes.matches(company_id, entity_set, names, wanted):
                rows += await self._connection.fetch(query)
        return self._converted(table, rows)

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
        """The numbers of records by what of them the rows leave out."""
        lost: dict[str, int] = {}
        for each in self._statements.model.stored:
            wanted = self._wanted.get(each.name)
            names = [each.name]
            if wanted is not None:
                columns = self._stored[each.name].names
                names = [f"{each.name}.{name}" for name in columns if name not in wanted.names]
            count = await self.count(each.name, company_id) if names else 0
            lost |= dict.fromkeys(names, count) if count else {}
        return lost

    async def _first(self, query: Query) -> Row | None:
        rows = await self._connection.fetch(query)
        return rows[0] if rows else None


def progress_of(tables: Tables, company_id: str) -> Select[*tuple[str | int, ...]]:
    """The statement that reads the progress of a copy."""
    copies = tables.copies.c
    columns = [copies[name] for name in CopyProgress.__struct_fields__]
    return select(*columns).where(copies[COMPANY_ID] == company_id)


@asynccontextmanager
async def open_snapshot(store: Store, wanted: Statements | None = None) -> AsyncIterator[Snapshot]:
    """The rows of a store's companies at the start of the block; see `Snapshot`."""
    async with store.snapshot() as connection:
        yield Snapshot(connection, store.statements, wanted)
