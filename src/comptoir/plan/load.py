"""Files bound to the model: columns to properties, cells to values, all of a file checked.

Values are held by column, as they are checked and as they are written: a row costs no object.
"""

from collections.abc import Mapping, Sequence
from itertools import compress, repeat
from typing import cast

import msgspec

from comptoir.edm.entity import Property, UniqueRule
from comptoir.edm.model import EntitySet
from comptoir.edm.primitive import Stored, ValueFault
from comptoir.edm.scalar import Guid
from comptoir.edm.text import Text
from comptoir.jsonvalue import Json
from comptoir.plan.read import Row
from comptoir.plan.target import Company
from comptoir.request.tabular import Chunk

Values = tuple[Stored, ...]


class LoadFault(msgspec.Struct, frozen=True):
    """What is wrong with a line of a file: the line counts from 1, the column may be several."""

    line: int
    column: str
    reason: str


class HeaderFault(Exception):  # noqa: N818 - says what is wrong with a file, not with the program
    """A file whose columns cannot be loaded as they are; `column` is the one that is wrong."""

    def __init__(self, column: str, reason: str) -> None:
        super().__init__(reason)
        self.column = column
        self.reason = reason


class Columns(msgspec.Struct, frozen=True):
    """The properties that a file gives, in its order, and how its rows find their records.

    `rules` are what no two rows may share. One of them is `matched_by`, by which rows find their
    records; properties of it that the file leaves out have their default. `incomplete` are others
    that the file does not give whole, `lacking` the properties that a new record needs besides.
    """

    entity_set: EntitySet
    properties: tuple[Property, ...]
    position: Mapping[str, int]
    rules: tuple[UniqueRule, ...]
    matched_by: UniqueRule
    incomplete: tuple[UniqueRule, ...]
    lacking: tuple[str, ...]


class LoadRows(msgspec.Struct, frozen=True):
    """Checked rows, held by column: their lines in the file, and the values of each column."""

    columns: Columns
    lines: Sequence[int]
    held: Sequence[Sequence[Stored]]

    def values(self, name: str) -> Sequence[Stored] | None:
        """The values of a property, None when the file leaves it out."""
        at = self.columns.position.get(name)
        return None if at is None else self.held[at]

    def at(self, number: int) -> Values:
        """The values of one row, in the order of the columns."""
        return tuple([column[number] for column in self.held])

    def alone(self, number: int) -> "LoadRows":
        """One of the rows."""
        held = [(column[number],) for column in self.held]
        return LoadRows(self.columns, (self.lines[number],), held)

    def only(self, wanted: Sequence[bool]) -> "LoadRows":
        """Those of the rows that are wanted."""
        held = [list(compress(column, wanted)) for column in self.held]
        return LoadRows(self.columns, list(compress(self.lines, wanted)), held)

    def matches(self) -> list[Values | None]:
        """What each row's record is found by; None for a row that is a new record in any case."""
        return self._identities(self.columns.matched_by)

    def identities(self, rule: UniqueRule, own: Mapping[Values | None, Row]) -> list[Values | None]:
        """Each row's values under a rule; None where there is nothing to compare.

        `own` are the records that the rows match: they complete a rule that the file does not
        give whole.
        """
        if rule not in self.columns.incomplete:
            return self._identities(rule)
        return [
            self._completed(rule, number, own.get(match))
            for number, match in enumerate(self.matches())
        ]

    def _identities(self, rule: UniqueRule) -> list[Values | None]:
        by_name = self.columns.entity_set.type.by_name
        given = [
            repeat(by_name[name].type.default, len(self.lines)) if column is None else column
            for name, column in zip(rule.properties, map(self.values, rule.properties), strict=True)
        ]
        found: list[Values | None] = list(zip(*given, strict=True))
        if rule.blank_is_free and ("",) in found:
            return [None if values == ("",) else values for values in found]
        return found

    def _completed(self, rule: UniqueRule, number: int, own: Row | None) -> Values | None:
        kind = self.columns.entity_set.type
        values: list[Stored] = []
        for name in rule.properties:
            column = self.values(name)
            if column is not None:
                values.append(column[number])
            elif own is not None:
                values.append(own[kind.position[name] + 1])
            elif kind.by_name[name].numbered:
                # the record will take a number that is free
                return None
            else:
                values.append(kind.by_name[name].type.default)
        return None if rule.blank_is_free and values == [""] else tuple(values)


class LoadPlan(msgspec.Struct, frozen=True):
    """Rows to be written in one unit of work; those of one part give the same columns.

    `digest` and `rows_done` are the mark from which an interrupted load goes on; `finishes` is
    whether these are the file's last.
    """

    company: Company
    entity_set: EntitySet
    parts: Sequence[LoadRows]
    by: str
    digest: str
    rows_done: int
    finishes: bool


def bind_columns(entity_set: EntitySet, header: Sequence[str]) -> Columns:
    """Bind the names at the head of a file; raises `HeaderFault`."""
    kind = entity_set.type
    for name in header:
        if name not in kind.by_name:
            raise HeaderFault(
                name[:100],
                f"is no property of {entity_set.name}. Take the column out, or rename it to one "
                f"of: {', '.join(kind.by_name)}.",
            )
        if header.count(name) > 1:
            raise HeaderFault(name, "stands there twice. Take one of the columns out.")
    given = frozenset(header)
    key = UniqueRule((kind.key,))
    others = [each for each in kind.unique if each.properties != key.properties]
    rules = (key, *others) if kind.key in given else tuple(others)
    matched_by = next((each for each in rules if not given.isdisjoint(each.properties)), None)
    # a key can be made for a new record when it is a Guid
    if matched_by is None or not (kind.key in given or isinstance(kind.key_property.type, Guid)):
        names = "; ".join(each.name for each in (key, *others))
        raise HeaderFault("", f"no column tells the records apart. Add one of: {names}.")
    return Columns(
        entity_set,
        tuple([kind.by_name[name] for name in header]),
        {name: at for at, name in enumerate(header)},
        rules,
        matched_by,
        tuple(
            [
                each
                for each in rules
                if each is not matched_by and not given.issuperset(each.properties)
            ]
        ),
        tuple([each.name for each in kind.properties if each.required and each.name not in given]),
    )


def bind_chunk(
    columns: Columns, chunk: Chunk, longest_text: int
) -> tuple[LoadRows, list[LoadFault]]:
    """Check the cells of some rows: the rows that are good, and what is wrong with the others.

    A text whose type sets no limit holds up to `longest_text` characters.
    """
    if not chunk.rows:
        return LoadRows(columns, (), [()] * len(columns.properties)), []
    try:
        held = [
            _column(columns, each, cells, longest_text, text=chunk.text)
            for each, cells in zip(columns.properties, zip(*chunk.rows, strict=True), strict=True)
        ]
    except ValueFault:
        return _one_by_one(columns, chunk, longest_text)
    return LoadRows(columns, chunk.lines, held), []


def _column(
    columns: Columns, held: Property, cells: Sequence[Json], longest_text: int, *, text: bool
) -> Sequence[Stored]:
    if text:
        stored = held.type.from_texts(cast("Sequence[str]", cells))
    else:
        stored = [held.type.from_json(cell) for cell in cells]
    if held is columns.entity_set.type.key_property:
        # an empty cell is no key of any type, though a number that is 0 is one
        empty = "" in cells or any(map(held.type.is_no_key, stored))
    else:
        empty = held.required and held.type.default in stored
    if empty:
        raise ValueFault("is empty, but every record needs it.")
    if isinstance(held.type, Text) and held.type.max_length is None:
        longest = max(map(len, cast("Sequence[str]", stored)))
        if longest > longest_text:
            raise ValueFault(
                f"holds up to {longest_text} characters, as a request's body does, but {longest} "
                "were sent. Shorten it, or raise the setting body_bytes."
            )
    return stored


def _one_by_one(
    columns: Columns, chunk: Chunk, longest_text: int
) -> tuple[LoadRows, list[LoadFault]]:
    lines: list[int] = []
    rows: list[Values] = []
    faults: list[LoadFault] = []
    for line, cells in zip(chunk.lines, chunk.rows, strict=True):
        values: list[Stored] = []
        for held, cell in zip(columns.properties, cells, strict=True):
            try:
                values += _column(columns, held, (cell,), longest_text, text=chunk.text)
            except ValueFault as fault:
                faults.append(LoadFault(line, held.name, str(fault)))
                break
        else:
            lines.append(line)
            rows.append(tuple(values))
    by_column = list(zip(*rows, strict=True)) or [()] * len(columns.properties)
    return LoadRows(columns, lines, by_column), faults
