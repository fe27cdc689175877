"""Bind the columns of a file to properties and its cells to values, and check them.

KeyValues are kept by column, as they are checked and as they are written: a row has no object.
"""

from collections.abc import Mapping, Sequence
from itertools import compress, repeat
from typing import cast

import msgspec

from comptoir.edm.model import EntitySet, KeyValues, Property, UniqueRule
from comptoir.edm.types import Guid, Stored, Text, ValueFault, empty_fault, length_fault
from comptoir.jsonvalue import Json
from comptoir.plan.read import Row
from comptoir.transfer.files import Chunk


class LoadFault(msgspec.Struct, frozen=True):
    """A fault in a line of a file, numbered from 1; `column` may name several columns."""

    line: int
    column: str
    reason: str


class HeaderFault(Exception):  # noqa: N818 - says what is wrong with a file, not with the program
    """A file whose columns cannot be loaded; `column` is the wrong one, blank when it is none."""

    def __init__(self, column: str, reason: str) -> None:
        super().__init__(reason)
        self.column = column
        self.reason = reason


class Columns(msgspec.Struct, frozen=True):
    """The properties that a file has columns for, in its order, and how rows match records.

    `rules` are the key and the alternate keys that no two rows may share. Rows match records by
    one of them, `matched_by`; its properties without a column have their default. `incomplete` are
    other rules with some properties without a column. `lacking` are the properties without a
    column that a new record needs.
    """

    entity_set: EntitySet
    properties: tuple[Property, ...]
    position: Mapping[str, int]
    rules: tuple[UniqueRule, ...]
    matched_by: UniqueRule
    incomplete: tuple[UniqueRule, ...]
    lacking: tuple[str, ...]


class LoadRows(msgspec.Struct, frozen=True):
    """Checked rows: their lines in the file, and the values of each column."""

    columns: Columns
    lines: Sequence[int]
    by_column: Sequence[Sequence[Stored]]

    def values(self, name: str) -> Sequence[Stored] | None:
        """The values of a property, None when the file has no column for it."""
        at = self.columns.position.get(name)
        return None if at is None else self.by_column[at]

    def at(self, number: int) -> tuple[Stored, ...]:
        """The values of one row, in the order of the columns."""
        return tuple([column[number] for column in self.by_column])

    def alone(self, number: int) -> "LoadRows":
        """One of the rows."""
        by_column = [(column[number],) for column in self.by_column]
        return LoadRows(self.columns, (self.lines[number],), by_column)

    def only(self, wanted: Sequence[bool]) -> "LoadRows":
        """The rows that are wanted."""
        by_column = [list(compress(column, wanted)) for column in self.by_column]
        return LoadRows(self.columns, list(compress(self.lines, wanted)), by_column)

    def matches(self) -> list[KeyValues | None]:
        """The key values that each row matches a record by; None for a row without any."""
        return self._identities(self.columns.matched_by)

    def identities(
        self, rule: UniqueRule, own: Mapping[KeyValues | None, Row]
    ) -> list[KeyValues | None]:
        """Each row's key values under a rule; None where there is nothing to compare.

        `own` are the records that the rows match: they complete an incomplete rule.
        """
        if rule not in self.columns.incomplete:
            return self._identities(rule)
        return [
            self._completed(rule, number, own.get(match))
            for number, match in enumerate(self.matches())
        ]

    def _identities(self, rule: UniqueRule) -> list[KeyValues | None]:
        by_name = self.columns.entity_set.type.by_name
        given = [
            repeat(by_name[name].type.default, len(self.lines)) if column is None else column
            for name, column in zip(rule.properties, map(self.values, rule.properties), strict=True)
        ]
        found: list[KeyValues | None] = list(zip(*given, strict=True))
        if rule.blank_is_free and ("",) in found:
            return [None if values == ("",) else values for values in found]
        return found

    def _completed(self, rule: UniqueRule, number: int, own: Row | None) -> KeyValues | None:
        kind = self.columns.entity_set.type
        values: list[Stored] = []
        for name in rule.properties:
            column = self.values(name)
            if column is not None:
                values.append(column[number])
            elif own is not None:
                values.append(own[kind.column_of[name]])
            elif kind.by_name[name].numbered:
                # the record will get a free number
                return None
            else:
                values.append(kind.by_name[name].type.default)
        return None if rule.blank_is_free and values == [""] else tuple(values)


def bind_columns(entity_set: EntitySet, header: Sequence[str]) -> Columns:
    """Bind the names of a file's columns; raises `HeaderFault`."""
    kind = entity_set.type
    for name in header:
        if name not in kind.by_name:
            raise HeaderFault(
                name[:100],
                f"is not a property of {entity_set.name}. Remove the column, or rename it to one "
                f"of: {', '.join(kind.by_name)}.",
            )
        if header.count(name) > 1:
            raise HeaderFault(name, "occurs twice. Remove one of the columns.")
    given = frozenset(header)
    key = UniqueRule((kind.key,))
    others = [each for each in kind.unique if each.properties != key.properties]
    rules = (key, *others) if kind.key in given else tuple(others)
    matched_by = next((each for each in rules if not given.isdisjoint(each.properties)), None)
    # a key is generated for a new record when it is a Guid
    if matched_by is None or not (kind.key in given or isinstance(kind.key_property.type, Guid)):
        names = "; ".join(each.name for each in (key, *others))
        raise HeaderFault("", f"no column identifies the records. Add one of: {names}.")
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
    """Check the cells of some rows; returns the rows without a fault, and the faults of others.

    `longest_text` is the most characters of a text whose type sets no limit.
    """
    if not chunk.rows:
        return LoadRows(columns, (), [()] * len(columns.properties)), []
    try:
        by_column = [
            _column(columns, each, cells, longest_text, text=chunk.text)
            for each, cells in zip(columns.properties, zip(*chunk.rows, strict=True), strict=True)
        ]
    except ValueFault:
        return _one_by_one(columns, chunk, longest_text)
    return LoadRows(columns, chunk.lines, by_column), []


def _column(
    columns: Columns, declared: Property, cells: Sequence[Json], longest_text: int, *, text: bool
) -> Sequence[Stored]:
    if text:
        stored = declared.type.from_texts(cast("Sequence[str]", cells))
    else:
        stored = [declared.type.from_json(cell) for cell in cells]
    if declared is columns.entity_set.type.key_property:
        # an empty cell is not a key, whatever its type, but the number 0 is
        empty = "" in cells or any(map(declared.type.is_blank_key, stored))
    else:
        empty = declared.required and declared.type.default in stored
    if empty:
        raise empty_fault()
    if isinstance(declared.type, Text) and declared.type.max_length is None:
        longest = max(map(len, cast("Sequence[str]", stored)))
        if longest > longest_text:
            raise ValueFault(
                length_fault(longest, longest_text).problem,
                "Shorten it, or raise the setting body_bytes.",
            )
    return stored


def _one_by_one(
    columns: Columns, chunk: Chunk, longest_text: int
) -> tuple[LoadRows, list[LoadFault]]:
    lines: list[int] = []
    rows: list[tuple[Stored, ...]] = []
    faults: list[LoadFault] = []
    for line, cells in zip(chunk.lines, chunk.rows, strict=True):
        values: list[Stored] = []
        for declared, cell in zip(columns.properties, cells, strict=True):
            try:
                values += _column(columns, declared, (cell,), longest_text, text=chunk.text)
            except ValueFault as fault:
                faults.append(LoadFault(line, declared.name, str(fault)))
                break
        else:
            lines.append(line)
            rows.append(tuple(values))
    by_column = list(zip(*rows, strict=True)) or [()] * len(columns.properties)
    return LoadRows(columns, lines, by_column), faults
