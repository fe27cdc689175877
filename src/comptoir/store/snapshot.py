"""Snapshot connections: what is written while they read does not show."""

from collections.abc import AsyncGenerator, Iterable
from typing import Protocol

from comptoir.plan.read import Row
from comptoir.sql.prepared import Query

SLICE_ROWS = 2_000
"""The most rows of a slice."""

SLICE_CHARACTERS = 4_000_000
"""Characters of text after which a slice ends."""


class SnapshotConnection(Protocol):
    """A connection with a fixed view of its database; raises `Refusal` as other reads do."""

    async def fetch(self, query: Query) -> list[Row]:
        """All rows of a statement that returns few."""

    def stream(self, query: Query) -> AsyncGenerator[list[Row], None]:
        """The rows of a statement in slices, none of which is empty."""


def characters(rows: Iterable[Row]) -> int:
    """The characters of text in rows."""
    return sum([len(value) for row in rows for value in row if isinstance(value, str)])
