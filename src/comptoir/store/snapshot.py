"""One moment of a database: what is written while it is read does not show.

A company's rows are read from it as they are, in the order of their keys, however many there are.
"""

from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Protocol

import msgspec

from comptoir.edm.model import EntitySet
from comptoir.edm.primitive import Stored
from comptoir.plan.read import Row
from comptoir.sql.prepared import Query
from comptoir.sql.statements import Statements

SLICE_ROWS = 2_000
"""The most rows of a slice."""

SLICE_CHARACTERS = 4_000_000
"""About how much text of a slice is in memory."""

LOOKUP = 100
"""How many records are found by their keys at once."""

CHANGES = "changes"
"""The table of the change log."""


class Moment(Protocol):
    """How a store reads one moment of its database; raises `Refusal` as its other reads do."""

    async def fetch(self, query: Query) -> list[Row]:
        """All rows of a statement that gives few."""

    def stream(self, query: Query) -> AsyncGenerator[list[Row], None]:
        """The rows of a statement in slices, none of which is empty."""


class Origin(msgspec.Struct, frozen=True):
    """Where a company stands: its incarnation, and the number of its last change."""

    incarnation: str
    number: int


class CopyMark(msgspec.Struct, frozen=True):
    """How far an unfinished copy has come.

    `incarnation` is that of its source, blank while a copy or a company is being dropped; what
    changed in the source behind `number` is still to be followed; `holder` is the run that works
    on it.
    """

    incarnation: str
    number: int
    holder: str


class Snapshot:
    """Reads one moment. A row has its columns in order, without the company."""

    def __init__(self, moment: Moment, statements: Statements) -> None:
        self._moment = moment
        self._statements = statements
        self._copying = statements.copying

    @property
    def leftovers(self) -> Sequence[str]:
        """All tables that a company has rows in beside its own, in the order to drop them in."""
        return tuple(self._copying.leftovers)

    @property
    def tables(self) -> Sequence[str]:
        """The tables that a company has rows in, beside its own row and the search index."""
        return tuple(self._copying.tables)

    def key(self, table: str, row: Row) -> Row:
        """The key of a row."""
        return tuple([row[place] for place in self._copying.tables[table].key])

    def rows(
        self, table: str, company_id: str, behind: Row | None = None
    ) -> AsyncGenerator[list[Row], None]:
        """All rows of a company, or those behind a key, by key, in slices that are never empty."""
        whole = self._copying.tables[table]
        if behind is None:
            return self._moment.stream(whole.rows.query(company_id))
        return self._moment.stream(whole.rest.query(company_id, *behind))

    async def count(self, table: str, company_id: str) -> int:
        """How many rows a company has."""
        rows = await self._moment.fetch(self._copying.tables[table].count.query(company_id))
        return int(rows[0][0])

    async def left(self, table: str, company_id: str) -> int:
        """How many rows a company has in one of the tables of `leftovers`."""
        rows = await self._moment.fetch(self._copying.leftovers[table].count.query(company_id))
        return int(rows[0][0])

    async def last(self, table: str, company_id: str) -> Row | None:
        """The highest key, None when there is no row."""
        rows = await self._moment.fetch(self._copying.tables[table].last.query(company_id))
        return rows[0] if rows else None

    async def records(
        self, company_id: str, entity_set: EntitySet, keys: Sequence[Stored]
    ) -> list[Row]:
        """The rows of up to `LOOKUP` records with these keys, where there are any."""
        names = (entity_set.type.key,)
        wanted = [(key,) for key in keys]
        rows: list[Row] = []
        for query in self._statements.writes.matches(company_id, entity_set, names, wanted):
            rows += await self._moment.fetch(query)
        return rows

    async def company(self, company_id: str) -> Row | None:
        """A company's own row, None when there is no such company."""
        rows = await self._moment.fetch(self._copying.company.query(company_id))
        return rows[0] if rows else None

    async def origin(self, company_id: str) -> Origin | None:
        """Where a company stands, None when there is no such company."""
        rows = await self._moment.fetch(self._copying.origin.query(company_id))
        return Origin(str(rows[0][0]), int(rows[0][1])) if rows else None

    async def change(self, company_id: str, number: int) -> Row | None:
        """The line of the change log with a number, None when there is none."""
        query = self._statements.service.changes.query(company_id, number - 1, 1)
        rows = await self._moment.fetch(query)
        return rows[0] if rows else None

    async def mark(self, company_id: str) -> CopyMark | None:
        """How far the copy of a company to here has come, None when there is none."""
        rows = await self._moment.fetch(self._copying.mark.query(company_id))
        return CopyMark(str(rows[0][0]), int(rows[0][1]), str(rows[0][2])) if rows else None


def characters(rows: Iterable[Row]) -> int:
    """How much text there is in rows."""
    return sum([len(value) for row in rows for value in row if isinstance(value, str)])
