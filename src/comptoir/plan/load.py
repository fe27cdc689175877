"""Files bound to the model: columns to properties, cells to values, all of a file checked."""

from collections.abc import Iterator, Sequence
from typing import cast

import msgspec

from comptoir.edm.entity import Property, UniqueRule
from comptoir.edm.model import EntitySet
from comptoir.edm.primitive import Stored, ValueFault
from comptoir.jsonvalue import Json
from comptoir.plan.target import Company
from comptoir.request.tabular import Chunk

Values = tuple[Stored, ...]


class LoadFault(msgspec.Struct, frozen=True):
    """What is wrong with a line of a file: the line counts from 1, the column may be several."""

    line: int
    column: str
    reason: str


class HeaderFault(Exception):  # noqa: N818 - says what is wrong with a file, not with the program
    """A file whose columns cannot be loaded as they are."""


class Columns(msgspec.Struct, frozen=True):
    """The properties that a file gives, in its order, and how its rows find their records.

    `matched_by` are the properties of the key or of a unique rule; those that the file leaves out
    have their default.
    """

    entity_set: EntitySet
    properties: tuple[Property, ...]
    matched_by: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple([each.name for each in self.properties])


class LoadRow(msgspec.Struct, frozen=True, gc=False):
    """One checked row: its line in the file, and its values in the order of the columns."""

    line: int
    values: Values


class LoadPlan(msgspec.Struct, frozen=True):
    """Rows to be written in one unit of work.

    `digest` and `rows_done` are the mark from which an interrupted load goes on; `finishes` is
    whether these are the file's last.
    """

    company: Company
    columns: Columns
    rows: Sequence[LoadRow]
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
                f"{name!r} is no property of {entity_set.name}; take the column out, or rename it "
                f"to one of: {', '.join(kind.by_name)}."
            )
        if header.count(name) > 1:
            raise HeaderFault(f"the column {name} stands there twice; take one out.")
    if kind.key in header:
        matched_by: tuple[str, ...] = (kind.key,)
    else:
        rule = next((each for each in kind.unique if set(each.properties) & set(header)), None)
        if rule is None:
            rules = [kind.key, *(each.name for each in kind.unique)]
            raise HeaderFault(
                f"there is no column that tells records apart; add one of: {'; '.join(rules)}."
            )
        matched_by = rule.properties
    return Columns(entity_set, tuple([kind.by_name[name] for name in header]), matched_by)


def bind_chunk(columns: Columns, chunk: Chunk) -> tuple[list[LoadRow], list[LoadFault]]:
    """Check the cells of some rows: the rows that are good, and what is wrong with the others."""
    key = columns.entity_set.type.key
    try:
        held = [
            _column(each, cells, text=chunk.text, is_key=each.name == key)
            for each, cells in zip(columns.properties, zip(*chunk.rows, strict=True), strict=True)
        ]
    except ValueFault:
        return _one_by_one(columns, chunk)
    values = zip(*held, strict=True)
    return [LoadRow(line, row) for line, row in zip(chunk.lines, values, strict=True)], []


def _column(held: Property, cells: Sequence[Json], *, text: bool, is_key: bool) -> Sequence[Stored]:
    if text:
        stored = held.type.from_texts(cast("Sequence[str]", cells))
    else:
        stored = [held.type.from_json(cell) for cell in cells]
    if (is_key and "" in cells) or (held.required and held.type.default in stored):
        raise ValueFault("is empty, but every record needs it.")
    return stored


def _one_by_one(columns: Columns, chunk: Chunk) -> tuple[list[LoadRow], list[LoadFault]]:
    key = columns.entity_set.type.key
    rows: list[LoadRow] = []
    faults: list[LoadFault] = []
    for line, cells in zip(chunk.lines, chunk.rows, strict=True):
        values: list[Stored] = []
        for held, cell in zip(columns.properties, cells, strict=True):
            try:
                values += _column(held, (cell,), text=chunk.text, is_key=held.name == key)
            except ValueFault as fault:
                faults.append(LoadFault(line, held.name, str(fault)))
                break
        else:
            rows.append(LoadRow(line, tuple(values)))
    return rows, faults


def identities(columns: Columns, row: LoadRow) -> Iterator[tuple[str, Values]]:
    """What no other row of the file may repeat: a rule's name and this row's values for it.

    The key and every unique rule of which the file gives a property; blanks that are free are not
    among them.
    """
    kind = columns.entity_set.type
    positions = {name: at for at, name in enumerate(columns.names)}
    key_rule = UniqueRule((kind.key,))
    for rule in (key_rule, *kind.unique):
        if positions.keys().isdisjoint(rule.properties):
            continue
        values = tuple(
            [
                row.values[positions[name]]
                if name in positions
                else kind.by_name[name].type.default
                for name in rule.properties
            ]
        )
        if not (rule.blank_is_free and values == ("",)):
            yield rule.name, values
