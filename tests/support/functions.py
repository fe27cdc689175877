"""Calls of single functions of a dialect, on SQLite and on PostgreSQL."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import Self, cast

import asyncpg
from sqlalchemy import Boolean, ColumnElement, select, union_all

from comptoir.edm.types import Stored
from comptoir.errors.refusal import Refusal
from comptoir.plan.expressions.nodes import Slot
from comptoir.plan.expressions.types import FunctionName
from comptoir.sql.dialects import Dialect
from comptoir.sql.dialects.postgresql import POSTGRESQL
from comptoir.sql.dialects.postgresql.routines import NOT_COMPUTED, not_computed, routine_statements
from comptoir.sql.dialects.sqlite import SQLITE
from comptoir.sql.prepared import Prepared, prepare, slot_of
from comptoir.sql.prepared import Value as BoundValue
from comptoir.store.sqlite.connection import Connection, register

Value = Stored | None
Wholes = tuple[bool, ...]
"""Whether each argument is an integer; the others are texts."""


class NotComputed(Exception):  # noqa: N818 - a value, not an error of the test
    """A function could not compute a value; the message is that of the function."""


class Calling(ABC):
    """Calls the functions of a database, by statements in its dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._calling = cache(self._call)
        self._aggregating = cache(self._aggregate)

    def call(self, name: FunctionName, wholes: Wholes, arguments: Sequence[Value]) -> Value:
        """The result of a function; raises `NotComputed`."""
        return self._run(self._calling(name, wholes), arguments)

    def aggregate(self, name: FunctionName, whole: bool, values: Sequence[Value]) -> Value:
        """The result of an aggregate function; raises `NotComputed`."""
        return self._run(self._aggregating(name, whole, len(values)), values)

    @abstractmethod
    def _run(self, prepared: Prepared, values: Sequence[Value]) -> Value:
        """The value that a statement selects; raises `NotComputed`."""

    def _call(self, name: FunctionName, wholes: Wholes) -> Prepared:
        return self._selecting(
            name, *[slot_of(Slot(number, whole)) for number, whole in enumerate(wholes)]
        )

    def _aggregate(self, name: FunctionName, whole: bool, count: int) -> Prepared:
        slots = [slot_of(Slot(number, whole)) for number in range(count)]
        rows = union_all(*[select(each.label("given")) for each in slots]).subquery()
        return self._selecting(name, rows.c.given)

    def _selecting(self, name: FunctionName, *arguments: ColumnElement[str | int]) -> Prepared:
        made = self._dialect.functions[name](*arguments)
        if isinstance(made.type, Boolean):
            made = self._dialect.functions["as_number"](made)
        return prepare(select(made), self._dialect.compiler)


class OnSqlite(Calling):
    """SQLite, with the registered functions."""

    def __init__(self) -> None:
        self._connection = Connection(":memory:")
        register(self._connection)
        super().__init__(SQLITE)

    def close(self) -> None:
        self._connection.close()

    def _run(self, prepared: Prepared, values: Sequence[Value]) -> Value:
        try:
            ((computed,),) = self._connection.execute(prepared.text, prepared.bind(values))
        except Refusal as refusal:
            raise NotComputed(refusal.message) from None
        return cast("Value", computed)


class OnPostgres(Calling):
    """PostgreSQL, with the routines created in a database."""

    def __init__(self, url: str, schema: str = "public") -> None:
        self._runner = asyncio.Runner()
        self._connection: asyncpg.Connection[asyncpg.Record] = self._runner.run(
            asyncpg.connect(url, server_settings={"search_path": schema})
        )
        super().__init__(POSTGRESQL)
        self._execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        self.install()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.run(self._connection.close())
        self._runner.close()

    def calls(
        self, name: FunctionName, wholes: Wholes, rows: Sequence[Sequence[Value]]
    ) -> list[Value]:
        """The results of a function for rows of arguments, in one exchange with the server."""
        prepared = self._calling(name, wholes)
        bound = [prepared.bind(row) for row in rows]
        found = self._runner.run(self._connection.fetchmany(prepared.text, bound))
        return [row[0] for row in found]

    def install(self) -> None:
        """Create the routines in the database."""
        for statement in routine_statements():
            self._execute(statement)

    def each(self, name: str, texts: Sequence[Value]) -> list[Value]:
        """The results of a routine for some texts."""
        rows = self.fetch(
            f"SELECT comptoir_{name}(given) FROM unnest($1::text[]) WITH ORDINALITY"
            " AS each (given, number) ORDER BY number",
            texts,
        )
        return [row[0] for row in rows]

    def fetch(self, query: str, *values: BoundValue) -> list[tuple[Value, ...]]:
        """The rows of a query."""
        return list(map(tuple, self._runner.run(self._connection.fetch(query, *values))))

    def _execute(self, statement: str) -> None:
        self._runner.run(self._connection.execute(statement))

    def _run(self, prepared: Prepared, values: Sequence[Value]) -> Value:
        try:
            [[value]] = self.fetch(prepared.text, *prepared.bind(values))
        except asyncpg.PostgresError as error:
            if error.sqlstate != NOT_COMPUTED:
                raise
            refusal = not_computed(str(error.args[0]), error.detail or "")
            raise NotComputed(refusal.message) from None
        return value
