"""Statements compiled to text once, with the order in which the driver binds their values."""

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from threading import Lock
from typing import TypeVar

import msgspec
import sqlalchemy as sa
from sqlalchemy.engine import Compiled, Dialect
from sqlalchemy.sql import ClauseElement
from sqlalchemy.util import LRUCache

from comptoir.edm.types import Stored
from comptoir.plan.expressions.nodes import Slot
from comptoir.plan.read import Row

SHAPES_CACHED = 2_000
"""The most statements in a cache; the oldest is dropped first."""

CHARACTERS_CACHED = 4_000_000
"""The most characters of the statements in a cache. Their shapes need memory in proportion."""

Shape = TypeVar("Shape")

_SLOT = "slot_"
_cache_lock = Lock()
_compiled: LRUCache[object, Compiled] = LRUCache(SHAPES_CACHED)

RowSelect = sa.Select[*tuple[str | int, ...]]
"""A statement that reads rows."""

Value = Stored | bytes | Sequence[Stored | bytes | None] | None
"""A bound value, or an array of values on databases with arrays."""


class Query(msgspec.Struct, frozen=True, gc=False):
    """A statement with its bound values.

    A `costly` statement may take long for a single record.
    """

    text: str
    values: Sequence[Value]
    costly: bool = False


class BulkCopy(msgspec.Struct, frozen=True):
    """An insert that can stream many rows into a table; `columns` are those of a row's values."""

    table: str
    columns: tuple[str, ...]


class BulkQuery(msgspec.Struct, frozen=True):
    """A statement that does for many rows, as arrays, what another does for one row.

    `sources` has, for each bind parameter, the position of its value in a row. The parameter at
    `shared` is one value that all rows have, every other is an array of the values of all rows. The
    parameter at `key` has the keys of the records to change. `conversions` apply to the arrays.
    """

    text: str
    sources: tuple[int, ...]
    shared: int
    key: int
    conversions: "tuple[tuple[int, Convert], ...]" = ()

    def accepts(self, rows: Sequence[Sequence[Value]]) -> bool:
        """Whether the keys of the rows differ: among equal ones, the last row might not win."""
        source = self.sources[self.key]
        return len({row[source] for row in rows}) == len(rows)

    def query(self, rows: Sequence[Sequence[Value]]) -> Query:
        """Bind the values of some rows."""
        columns = list(zip(*rows, strict=True))
        values: list[Value] = [columns[source] for source in self.sources]
        values[self.shared] = rows[0][self.sources[self.shared]]
        for at, convert in self.conversions:
            values[at] = convert(values[at])
        return Query(self.text, values)


Convert = Callable[[Value], Value]
"""Converts a value for the database, such as an array of numbers to text."""


class Prepared(msgspec.Struct, frozen=True, gc=False):
    """A statement's text and, for each bind parameter, the position of its value.

    `in_order`: the values are bound as they are given, if their number is that of the parameters.
    `conversions` apply to some of the parameters. `bulk` is a faster way to run the statement with
    many rows of values.
    """

    text: str
    order: tuple[int, ...]
    costly: bool = False
    conversions: tuple[tuple[int, Convert], ...] = ()
    bulk: BulkCopy | BulkQuery | None = None
    in_order: bool = False

    def bind(self, values: Sequence[Value]) -> Sequence[Value]:
        """Put values into the order of the bind parameters."""
        if self.in_order and len(values) == len(self.order):
            return values
        if not self.conversions:
            return tuple(map(values.__getitem__, self.order))
        bound = [values[position] for position in self.order]
        for at, convert in self.conversions:
            bound[at] = convert(bound[at])
        return tuple(bound)

    def query(self, *values: Value) -> Query:
        """Bind values."""
        return Query(self.text, self.bind(values), self.costly)

    def many(self, rows: Iterable[Sequence[Value]]) -> "ManyQueries":
        """Bind many rows of values, all of one company."""
        if self.in_order:
            return ManyQueries(self.text, list(rows), self.bulk)
        return ManyQueries(self.text, [self.bind(row) for row in rows], self.bulk)


class ManyQueries(msgspec.Struct, frozen=True):
    """A statement without result that runs once for each of some rows of values.

    All rows are of one company. `bulk` is a faster way to run it with many rows.
    """

    text: str
    rows: Sequence[Sequence[Value]]
    bulk: BulkCopy | BulkQuery | None = None


Statement = Query | ManyQueries

T = TypeVar("T")
Steps = Generator[Statement, list[Row], T]
"""Yields statements, receives the rows of each, and returns a result."""


CODE_POINTS = "C"
"""The collation in which texts compare by code point."""

_TEXT = sa.Text(collation=CODE_POINTS)
_WHOLE = sa.BigInteger()


def slot(number: int) -> sa.BindParameter[str | int]:
    """The bind parameter of a numbered value; its type follows from the other operand."""
    return sa.bindparam(f"{_SLOT}{number}", required=True)


def slot_of(node: Slot, first: int = 0) -> sa.BindParameter[str | int]:
    """The bind parameter of a value of an expression whose slots begin at `first`."""
    name = f"{_SLOT}{first + node.number}"
    if node.whole:
        return sa.bindparam(name, type_=_WHOLE, required=True)
    return sa.bindparam(name, type_=_TEXT, required=True)


class _Converted(sa.Text):
    def __init__(self, convert: Convert) -> None:
        super().__init__(collation=CODE_POINTS)
        self.convert = convert


def converted(name: str, convert: Convert) -> sa.BindParameter[str]:
    """The bind parameter of a named value that is converted to text when it is bound."""
    return sa.bindparam(name, type_=_Converted(convert), required=True)


PREFIX = "comptoir_"
"""The prefix of the names of registered functions."""

COSTLY = (f"{PREFIX}matchespattern(",)
"""Registered functions that may take long for a single record."""

MOST_CALLS = 50
"""The most calls of functions of texts and numbers in a statement that is not costly."""

_CALL = re.compile(rf"{PREFIX}\w+\(|\b(?:instr|substr|length)\(|\|\|", re.ASCII)


def constant(number: int) -> sa.ColumnElement[int]:
    """A number as part of the statement's text, never one from a request."""
    # the type is also that of what is computed from it, such as a negative decimal
    return sa.literal_column(str(number), _WHOLE)


def constant_text(text: str) -> sa.ColumnElement[str]:
    """A text as part of the statement's text, never one from a request."""
    quoted = text.replace("'", "''")
    return sa.literal_column(f"'{quoted}'", sa.Text)


BLANK = constant_text("")
"""The empty text, as part of the statement's text."""


def named(name: str) -> sa.BindParameter[str | int]:
    """The bind parameter of a named value; its type follows from the other operand."""
    return sa.bindparam(name, required=True)


def whole(name: str) -> sa.BindParameter[int]:
    """The bind parameter of a named whole number."""
    return sa.bindparam(name, type_=_WHOLE, required=True)


def first_rows(statement: RowSelect, count: sa.ColumnElement[int]) -> RowSelect:
    """The first rows of a statement; SQLAlchemy would bind a missing offset for SQLite."""
    return statement.limit(count).offset(constant(0))


def prepare(statement: ClauseElement, dialect: Dialect, names: Sequence[str] = ()) -> Prepared:
    """Compile a statement for a dialect.

    The values to bind are those of `names` in this order, then those of the numbered slots.
    """
    compiled = statement.compile(dialect=dialect)
    numbers = {name: number for number, name in enumerate(names)}
    bound = _order(compiled)
    order = tuple(
        numbers[name] if name in numbers else len(names) + int(name.removeprefix(_SLOT))
        for name in bound
    )
    conversions, text = tuple(_conversions(compiled, bound)), str(compiled)
    return Prepared(
        text,
        order,
        any(each in text for each in COSTLY) or len(_CALL.findall(text)) > MOST_CALLS,
        conversions,
        in_order=order == tuple(range(len(order))) and not conversions,
    )


def query_of(statement: ClauseElement, dialect: Dialect) -> Query:
    """A statement that is not frequent, with the values in it; its text is compiled once."""
    compiled, extracted, *_ = statement._compile_w_cache(
        dialect,
        compiled_cache=_compiled,
        column_keys=[],
        for_executemany=False,
        schema_translate_map=None,
    )
    values = compiled.construct_params(extracted_parameters=extracted) or {}
    return Query(str(compiled), [values[name] for name in _order(compiled)])


def prepare_insert(table: sa.Table, names: Sequence[str], dialect: Dialect) -> Prepared:
    """Compile an insert of a row; the values to bind are those of the columns `names`."""
    binds = [f"set_{name}" for name in names]
    values = {name: named(bind) for name, bind in zip(names, binds, strict=True)}
    prepared = prepare(sa.insert(table).values(values), dialect, binds)
    columns = tuple([names[position] for position in prepared.order])
    return msgspec.structs.replace(prepared, bulk=BulkCopy(table.name, columns))


def _order(compiled: Compiled) -> Sequence[str]:
    """The names of the bind parameters in the order in which the driver binds them."""
    names: Sequence[str] | None = compiled.positiontup  # type: ignore[attr-defined]
    return names or ()


def _conversions(compiled: Compiled, order: Sequence[str]) -> Iterator[tuple[int, Convert]]:
    binds: Mapping[str, sa.BindParameter[str]] = compiled.binds  # type: ignore[attr-defined]
    for at, name in enumerate(order):
        bind_type = binds[name].type
        if isinstance(bind_type, _Converted):
            yield at, bind_type.convert


class StatementCache(dict[Shape, Prepared]):
    """Statements by their shapes, each built at its first use."""

    def __init__(self, build: Callable[[Shape], Prepared]) -> None:
        super().__init__()
        self._build = build
        self._characters = 0

    def __missing__(self, shape: Shape) -> Prepared:
        prepared = self._build(shape)
        # the event loop and the writer's thread both add statements
        with _cache_lock:
            self._characters += len(prepared.text)
            self[shape] = prepared
            while len(self) > SHAPES_CACHED or self._characters > CHARACTERS_CACHED:
                self._characters -= len(self.pop(next(iter(self))).text)
        return prepared


Owner = TypeVar("Owner")


def by_shape(build: Callable[[Owner, Shape], Prepared]) -> "cached_property[StatementCache[Shape]]":
    """Turn a method that builds a statement into a cache of its statements, by their shapes."""
    return cached_property(lambda owner: StatementCache(partial(build, owner)))
