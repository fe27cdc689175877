"""Gathering what a unit of work writes, so that the database is told of many rows at once."""

from collections.abc import Generator, Sequence
from typing import TypeVar, cast

import msgspec

from comptoir.plan.read import Row
from comptoir.sql.prepared import ManyQueries, Statement, Value

T = TypeVar("T")


def gathered(
    unit: Generator[Statement, list[Row], T],
) -> Generator[Statement, list[Row], T]:
    """The same unit, whose statements that return no rows wait until it asks for rows, or ends.

    Those of one text become one statement, so they may change places with those of other texts:
    between two reads, a unit is to write no record twice.
    """
    waiting = _Waiting()
    try:
        statement = next(unit)
        while True:
            if isinstance(statement, ManyQueries):
                waiting.add(statement)
                rows: list[Row] = []
            else:
                yield from waiting.take()
                rows = yield statement
            statement = unit.send(rows)
    except StopIteration as end:
        yield from waiting.take()
        return cast("T", end.value)


class _Waiting:
    """Statements without rows, those of one text together."""

    def __init__(self) -> None:
        self._first: dict[str, ManyQueries] = {}
        self._rows: dict[str, list[Sequence[Value]]] = {}

    def add(self, statement: ManyQueries) -> None:
        self._first.setdefault(statement.text, statement)
        self._rows.setdefault(statement.text, []).extend(statement.rows)

    def take(self) -> Generator[ManyQueries, list[Row], None]:
        """Run what waits, in the order of the first of each text."""
        for text, first in self._first.items():
            yield msgspec.structs.replace(first, rows=self._rows[text])
        self._first.clear()
        self._rows.clear()
