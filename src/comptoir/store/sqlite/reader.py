"""Reads in the event loop, within a budget: what takes longer moves to the scanning threads.

A point read costs less than handing it to a thread, so reads run where they are asked for. The
database calls back every so many steps of its machine; a statement that has used up its steps is
stopped, and starts anew on a thread. A shape of statement that did so once goes there at once
from then on.
"""

import asyncio
import sqlite3
from collections.abc import Generator
from contextlib import aclosing
from typing import TypeVar

from comptoir.plan.expressions.calls import SHORT_LITERAL
from comptoir.plan.read import PagePlan, Row
from comptoir.sql.prepared import SHAPES_KEPT, Query, Statement
from comptoir.sql.reads import ReadStatements
from comptoir.store.event_loop import SLICE, Slices, SliceScheduler
from comptoir.store.sqlite.connection import Connection, refusal_of
from comptoir.store.sqlite.scans import Scans
from comptoir.store.sqlite.session import Portion, StatementStopped, drive, run_statement
from comptoir.store.store import Patience, unlimited

STEPS = 500
"""Steps of the database's machine between two callbacks: some ten microseconds."""

BUDGET = 40
"""Callbacks after which a statement must leave the event loop: one or two milliseconds."""

SECONDS = 0.002
"""How long a statement may take in the event loop, where a single step may take long.

It is given as much again of the processor, so that a busy machine changes nothing.
"""

MOST_TEXT = 2_000
"""Characters that the long texts among a statement's values have in the event loop, together."""

CHARACTERS = 4_000_000
"""How much text of a page is fetched at once on a scanning thread, and then is in memory."""

SLOW = 10
"""Callbacks in one slice after which the rest of the page leaves the event loop."""


T = TypeVar("T")


class Reader:
    """Reads on one connection in the event loop, with the scanning threads behind it.

    What a command asks for and nobody waits beside it is read on the `unhurried` connection.
    """

    def __init__(
        self,
        connection: Connection,
        unhurried: Connection,
        statements: ReadStatements,
        scans: Scans,
    ) -> None:
        self._connection = connection
        self._unhurried = unhurried
        self._statements = statements
        self._scans = scans
        self.scheduler = SliceScheduler()
        # their hashes: two that have the same cost a thread, and the texts may be long
        self._slow: set[int] = set()
        self._loop = asyncio.get_running_loop()
        self._in_turn = False
        self._callbacks = 0
        self._reading = False
        connection.set_progress_handler(self._called_back, STEPS)

    async def lookup(self, query: Query) -> list[Row]:
        """All rows of a statement that a key serves."""
        return await self.rows(query, unlimited)

    async def drive(self, unit: Generator[Statement, list[Row], T]) -> T:
        """Run a unit that only reads to its end, in this turn of the event loop."""
        try:
            return drive(self._unhurried, unit)
        except sqlite3.Error as fault:
            raise refusal_of(fault) from fault

    async def rows(self, query: Query, patience: Patience) -> list[Row]:
        """All rows of a statement that gives few; raises `Refusal` as `Scans.run` does."""
        rows = self._within_budget(query)
        return rows if rows is not None else await patience(self._scans.run(query))

    async def long_rows(self, query: Query, patience: Patience) -> list[Row]:
        """All rows of a statement that has no place in the event loop, since its steps are long."""
        return await patience(self._scans.run(query))

    async def page(self, plan: PagePlan, patience: Patience) -> Slices:
        """The rows of a page, in slices; between two slices others have their turn.

        Each slice seeks anew behind the one before, so no cursor stays open while a client reads.
        """
        keyset, left, skip = plan.keyset, plan.limit, plan.skip
        slow = plan.pipeline.searches
        while left > 0 and not slow:
            size = min(SLICE, left)
            rows = self._within_budget(self._statements.page(plan.part(keyset, size, skip)))
            slow = rows is None or self._callbacks > SLOW
            if rows is not None:
                yield rows
                if len(rows) < size:
                    return
                left -= size
                skip = 0
                keyset = plan.keyset_after(rows[-1])
                await self.scheduler.yield_to_loop()
        while left > 0:
            rest = self._statements.page(plan.part(keyset, left, skip))
            portion = Portion(CHARACTERS)
            rows = await patience(self._scans.run(rest, portion))
            if rows:
                left -= len(rows)
                skip = 0
                keyset = plan.keyset_after(rows[-1])
            if portion.is_whole:
                left = 0
            async with aclosing(self.scheduler.sliced(rows)) as slices:
                async for some in slices:
                    yield some

    def _within_budget(self, query: Query) -> list[Row] | None:
        """The rows of a statement, None when it takes longer than a turn may."""
        if query.costly or hash(query.text) in self._slow or _has_long_texts(query):
            return None
        self._callbacks = 0
        if not self._in_turn:
            self._begin_turn()
        self._connection.limit.begin(SECONDS)
        self._reading = True
        try:
            return run_statement(self._connection, query)
        except StatementStopped:
            # the next one of its shape may have shorter texts
            if self._callbacks > BUDGET:
                self._remember(query)
        except sqlite3.Error as fault:
            raise refusal_of(fault) from fault
        finally:
            self._reading = False
        return None

    def _remember(self, query: Query) -> None:
        if len(self._slow) == SHAPES_KEPT:
            self._slow.clear()
        self._slow.add(hash(query.text))

    def _begin_turn(self) -> None:
        """Let the reads of a turn of the event loop share a transaction, and so its locks.

        It ends before the next turn reads, so a read never misses what was acknowledged before
        its request came, and no reader holds up the checkpoint of the log.
        """
        self._connection.execute("BEGIN")
        self._in_turn = True
        self._loop.call_soon(self._end_turn)

    def _end_turn(self) -> None:
        if self._in_turn:
            self._in_turn = False
            self._connection.commit()

    def _called_back(self) -> bool:
        if not self._reading:
            # a BEGIN or a COMMIT, which must not be interrupted
            return False
        self._callbacks += 1
        return self._callbacks > BUDGET or self._connection.limit.is_over()

    def stop(self) -> None:
        """Close the connections."""
        self._end_turn()
        self._connection.close()
        self._unhurried.close()


def _has_long_texts(query: Query) -> bool:
    # not many short ones, such as the keys that $expand looks up
    texts = [
        len(each) for each in query.values if isinstance(each, str) and len(each) > SHORT_LITERAL
    ]
    return bool(texts) and sum(texts) > MOST_TEXT
