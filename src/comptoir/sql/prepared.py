"""Statements compiled to text once, with the order in which the driver wants the values."""

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from threading import Lock
from typing import TypeVar

import msgspec
from sqlalchemy import (
    BigInteger,
    BindParameter,
    ColumnElement,
    Integer,
    Table,
    Text,
    bindparam,
    insert,
    literal_column,
)
from sqlalchemy.engine import Compiled, Dialect
from sqlalchemy.sql import ClauseElement

from comptoir.edm.types import Stored
from comptoir.plan.expressions.nodes import Slot
from comptoir.plan.read import Row

SHAPES_KEPT = 2_000
"""How many compiled statements of a sort are kept; past that the oldest is dropped."""

CHARACTERS_KEPT = 4_000_000
"""How much text the kept statements of a sort have: what a long one stands for is large too."""

Shape = TypeVar("Shape")

_SLOT = "slot_"
_keeping = Lock()


Value = Stored | Sequence[Stored | None] | None
"""What is bound to a place: a value, or an array of values where the database takes one."""


class Query(msgspec.Struct, frozen=True, gc=False):
    """A statement and the values for its places: what a session runs.

    A `costly` one may spend long on a single record.
    """

    text: str
    values: Sequence[Value]
    costly: bool = False


class Copying(msgspec.Struct, frozen=True):
    """Many rows can be streamed into a table: its name, and the column of each of their values."""

    table: str
    columns: tuple[str, ...]


class Staging(msgspec.Struct, frozen=True):
    """A statement that does for many rows at once what another does for one: it takes arrays.

    `sources` says which of a row's values goes to each place. At the place `shared` is a value that
    all rows have, and at every other one an array of the values of all rows; at `key` are those by
    which each row of values finds what it is for. `conversions` are those of some of the arrays.
    """

    text: str
    sources: tuple[int, ...]
    shared: int
    key: int
    conversions: "tuple[tuple[int, Convert], ...]" = ()

    def takes(self, rows: Sequence[Sequence[Value]]) -> bool:
        """Whether no two of the rows are for the same: which of them came last would be lost."""
        source = self.sources[self.key]
        return len({row[source] for row in rows}) == len(rows)

    def query(self, rows: Sequence[Sequence[Value]]) -> Query:
        """The statement with some rows of values."""
        columns = list(zip(*rows, strict=True))
        values: list[Value] = [columns[source] for source in self.sources]
        values[self.shared] = rows[0][self.sources[self.shared]]
        for at, convert in self.conversions:
            values[at] = convert(values[at])
        return Query(self.text, values)


Convert = Callable[[Value], Value]
"""Says a value in the database's own terms, such as a pattern in its dialect of patterns."""


class Prepared(msgspec.Struct, frozen=True, gc=False):
    """A statement's text and, for each place in it, the number of the value that goes there.

    `conversions` are those of the values at some of the places. `together` is another way to run it
    with many rows of values.
    """

    text: str
    places: tuple[int, ...]
    costly: bool = False
    conversions: tuple[tuple[int, Convert], ...] = ()
    together: Copying | Staging | None = None

    def bind(self, values: Sequence[Value]) -> tuple[Value, ...]:
        """Put a request's values in the order of the statement's places."""
        bound = [values[place] for place in self.places]
        for at, convert in self.conversions:
            bound[at] = convert(bound[at])
        return tuple(bound)

    def query(self, *values: Value) -> Query:
        """The statement with a request's values."""
        return Query(self.text, self.bind(values), self.costly)

    def many(self, rows: Iterable[Sequence[Stored]]) -> "ManyQueries":
        """The statement with many rows of values, all of one company."""
        return ManyQueries(self.text, [self.bind(row) for row in rows], self.together)

    def many_columns(self, columns: Sequence[Iterable[Stored]]) -> "ManyQueries":
        """The statement with many rows of values, by column; none of them is converted."""
        ordered = [columns[place] for place in self.places]
        return ManyQueries(self.text, list(zip(*ordered, strict=True)), self.together)


class ManyQueries(msgspec.Struct, frozen=True):
    """One statement for some rows of values, of one company; it returns no rows.

    `together` is a way to run it with all of them at once, for databases that can.
    """

    text: str
    rows: Sequence[Sequence[Value]]
    together: Copying | Staging | None = None


Statement = Query | ManyQueries

T = TypeVar("T")
Steps = Generator[Statement, list[Row], T]
"""Yields statements, receives the rows of each, and returns a result; a session drives it."""


CODE_POINTS = "C"
"""The collation in which texts compare by code point."""

_TEXT = Text(collation=CODE_POINTS)
_WHOLE = BigInteger()


def slot(number: int) -> BindParameter[str | int]:
    """The place of the value with a number, whose type follows from what it is compared with."""
    return bindparam(f"{_SLOT}{number}", required=True)


def slot_of(node: Slot, first: int = 0) -> BindParameter[str | int]:
    """The place of a value of an expression whose slots begin at `first`."""
    name = f"{_SLOT}{first + node.number}"
    if node.whole:
        return bindparam(name, type_=_WHOLE, required=True)
    return bindparam(name, type_=_TEXT, required=True)


class _Converted(Text):
    def __init__(self, convert: Convert) -> None:
        super().__init__(collation=CODE_POINTS)
        self.convert = convert


def converted(name: str, convert: Convert) -> BindParameter[str]:
    """The place of the value with a name, which is converted to a text when it is bound."""
    return bindparam(name, type_=_Converted(convert), required=True)


PREFIX = "comptoir_"
"""What the names of registered functions begin with."""

COSTLY = (f"{PREFIX}matchespattern(",)
"""Registered functions that may spend long on a record."""

MOST_CALLS = 50
"""Functions of texts and numbers that a statement has which does not spend long on a record."""

_CALL = re.compile(rf"{PREFIX}\w+\(|\b(?:instr|substr|length)\(|\|\|", re.ASCII)


def constant(number: int) -> ColumnElement[int]:
    """A number that belongs to the statement itself, and is no value of the request."""
    return literal_column(str(number), Integer)


def constant_text(text: str) -> ColumnElement[str]:
    """A text that belongs to the statement itself, and is no value of the request."""
    quoted = text.replace("'", "''")
    return literal_column(f"'{quoted}'", Text)


BLANK = constant_text("")
"""The empty text, as part of a statement itself."""


def named(name: str) -> BindParameter[str | int]:
    """The place of a value with a name, whose type follows from what it is compared with."""
    return bindparam(name, required=True)


def whole(name: str) -> BindParameter[int]:
    """The place of a whole number with a name."""
    return bindparam(name, type_=_WHOLE, required=True)


def prepare(statement: ClauseElement, dialect: Dialect, names: Sequence[str] = ()) -> Prepared:
    """Compile a statement for a dialect.

    The values to bind are those of `names`, in that order, then those of the numbered slots.
    """
    compiled = statement.compile(dialect=dialect)
    numbers = {name: number for number, name in enumerate(names)}
    order: Sequence[str] = compiled.positiontup or ()  # type: ignore[attr-defined]
    text = str(compiled)
    return Prepared(
        text,
        tuple(
            numbers[name] if name in numbers else len(names) + int(name.removeprefix(_SLOT))
            for name in order
        ),
        any(each in text for each in COSTLY) or len(_CALL.findall(text)) > MOST_CALLS,
        tuple(_conversions(compiled, order)),
    )


def prepare_insert(table: Table, names: Sequence[str], dialect: Dialect) -> Prepared:
    """Compile what adds a row to a table; the values to bind are those of the columns `names`."""
    binds = [f"set_{name}" for name in names]
    values = {name: named(bind) for name, bind in zip(names, binds, strict=True)}
    prepared = prepare(insert(table).values(values), dialect, binds)
    columns = tuple([names[place] for place in prepared.places])
    return msgspec.structs.replace(prepared, together=Copying(table.name, columns))


def _conversions(compiled: Compiled, order: Sequence[str]) -> Iterator[tuple[int, Convert]]:
    binds: Mapping[str, BindParameter[str]] = compiled.binds  # type: ignore[attr-defined]
    for at, name in enumerate(order):
        kind = binds[name].type
        if isinstance(kind, _Converted):
            yield at, kind.convert


class Kept(dict[Shape, Prepared]):
    """Statements by their shapes: each is built when it is first asked for."""

    def __init__(self, build: Callable[[Shape], Prepared]) -> None:
        super().__init__()
        self._build = build
        self._characters = 0

    def __missing__(self, shape: Shape) -> Prepared:
        prepared = self._build(shape)
        # the event loop and the writer keep statements, and one of them at a time makes room
        with _keeping:
            self._characters += len(prepared.text)
            self[shape] = prepared
            while len(self) > SHAPES_KEPT or self._characters > CHARACTERS_KEPT:
                self._characters -= len(self.pop(next(iter(self))).text)
        return prepared
