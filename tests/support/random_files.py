"""Random files to load: their rows match records, repeat one another, or are invalid."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from uuid import UUID

from comptoir.catalog import MODEL
from comptoir.edm.model import EntityType, Property
from comptoir.edm.numbers import DecimalNumber, Int32
from comptoir.edm.times import Date, DateTimeOffset
from comptoir.edm.types import Boolean, Guid, PrimitiveType

RESOURCES = (
    *("contactsExt", "customersExt", "itemAttributesExt", "itemTranslationsExt"),
    "unitsOfMeasureExt",
)

Cell = str | int | bool
Row = dict[str, Cell]

_VALUES: Mapping[type[PrimitiveType], Callable[[int], Cell]] = {
    Guid: lambda number: str(UUID(int=number + 1)),
    Boolean: lambda number: number % 2 == 0,
    Int32: lambda number: number + 1,
    DecimalNumber: lambda number: number,
    Date: lambda number: f"2020-01-{1 + number % 28:02}",
    DateTimeOffset: lambda number: f"2020-01-01T00:00:{number % 60:02}.000Z",
}


@dataclass(frozen=True)
class MadeFile:
    """A file, and whether its valid rows are written if others are invalid."""

    name: str
    content: str
    keep_good: bool


def random_files(seed: int, count: int) -> Iterator[MadeFile]:
    """Files that insert, change and repeat records, with some invalid rows."""
    random = Random(seed)
    resource, rows = "", list[Row]()
    for _ in range(count):
        if rows and random.random() < 0.6:
            rows = _changed(random, MODEL.by_name[resource].type, rows)
        else:
            resource = random.choice(RESOURCES)
            rows = _rows(random, MODEL.by_name[resource].type, random.choice((3, 30, 150)))
        if all(row.keys() == rows[0].keys() for row in rows) and random.random() < 0.5:
            name, content = f"{resource}.csv", _as_csv(rows)
        else:
            name, content = f"{resource}.ndjson", "".join(f"{json.dumps(row)}\n" for row in rows)
        yield MadeFile(name, content, random.random() < 0.9)


def _rows(random: Random, entity_type: EntityType, size: int) -> list[Row]:
    """Rows of up to two shapes; most of them match records by values of their own."""
    shapes = [_columns(random, entity_type) for _ in range(random.choice((1, 1, 2)))]
    numbers = random.sample(range(2 * size), size)
    if random.random() < 0.3:
        numbers[-1] = numbers[0]
    return [
        {each.name: _cell(random, each, number, size) for each in random.choice(shapes)}
        for number in numbers
    ]


def _changed(random: Random, entity_type: EntityType, rows: Sequence[Row]) -> list[Row]:
    """The same rows, with changed values in none, some or all of them."""
    finding = set().union(*_finding(entity_type))
    names = [name for name in rows[0] if name not in finding]
    share = random.choice((0.0, 0.1, 1.0)) if names else 0.0
    return [
        row
        | {name: _cell(random, entity_type.by_name[name], None, len(rows)) for name in names[:3]}
        if random.random() < share
        else row
        for row in rows
    ]


def _columns(random: Random, entity_type: EntityType) -> list[Property]:
    """Columns with an identifying one, and with those that a new record needs."""
    must = {each.name for each in entity_type.properties if each.required}
    others = sorted(entity_type.by_name.keys() - {entity_type.key} - must)
    must.update(random.sample(others, min(random.choice((2, 5, 9)), len(others))))
    must.update(random.choice(_finding(entity_type)))
    return [each for each in entity_type.properties if each.name in must]


def _finding(entity_type: EntityType) -> Sequence[tuple[str, ...]]:
    """The names of the properties of each key."""
    return [(entity_type.key,), *(rule.properties for rule in entity_type.unique)]


def _cell(random: Random, column: Property, own: int | None, size: int) -> Cell:
    """A valid value for a row; an identifying value contains the row's number."""
    other = random.randrange(2 * size)
    for type_, value in _VALUES.items():
        if isinstance(column.type, type_):
            return value(other if own is None else own)
    if column.name == "type":
        return random.choice(("Company", "Person"))
    if column.name == "companyNumber":
        return random.choice(("", f"N{other}", f"N{other}"))
    if column.name in ("number", "code", "itemNo"):
        return f"N{own}" if random.random() < 0.9 and own is not None else ""
    return random.choice(("", "Straße", f"Ä name {other % 7}", f"name {other}"))


def _as_csv(rows: Sequence[Row]) -> str:
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(rows[0])
    for row in rows:
        cells = row.values()
        writer.writerow([str(cell).lower() if isinstance(cell, bool) else cell for cell in cells])
    return written.getvalue()
