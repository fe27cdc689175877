"""Records of any model, generated from its declarations, and what a request for them must return.

So one test concerns the sets of every catalog, and a new option is tested where it is declared.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast
from urllib.parse import quote
from uuid import NAMESPACE_OID, uuid5

import msgspec

from comptoir.catalog import read_catalog
from comptoir.edm.model import EntitySet, Model, Property
from comptoir.edm.numbers import DecimalNumber, Int32
from comptoir.edm.times import Date, DateTimeOffset
from comptoir.edm.types import (
    Base64Text,
    Boolean,
    CodeText,
    EnumText,
    Guid,
    PrimitiveType,
    Stored,
    Text,
)
from support.client import Record
from support.companies import exact

EVERY_OPTION = Path(__file__).with_name("every-option.toml")
"""A catalog with every option of sets, properties and navigation properties, and every type."""

Place = tuple[str, str]
"""A property of a set."""

Value = str | int | float | bool


def added_options(folder: Path) -> Path:
    """The file of a catalog that adds every option to the built-in one."""
    file = folder / "added.toml"
    named = 'namespace = "Every.Option"\ncontainer = "Everything"\n'
    text = EVERY_OPTION.read_text(encoding="utf-8").replace(named, 'base = "built-in"\n')
    file.write_text(text, encoding="utf-8")
    return file


def every_option() -> Model:
    """The model of `EVERY_OPTION`."""
    return read_catalog(EVERY_OPTION)


def stored(edm_type: PrimitiveType, value: Value) -> Stored:
    """The stored form of a value in JSON."""
    return edm_type.from_json(exact(value))


def wire(edm_type: PrimitiveType, stored_form: Stored) -> Value:
    """The value in JSON of a stored form."""
    converted = stored_form if edm_type.to_wire is None else edm_type.to_wire(stored_form)
    return cast("Value", msgspec.json.decode(msgspec.json.encode(converted)))


def literal(edm_type: PrimitiveType, value: Value) -> str:
    """A value as in `$filter`, and as in a key."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(edm_type, Text):
        return "'" + str(value).replace("'", "''") + "'"
    return f"{value:.5f}" if isinstance(value, float) else str(value)


def address(entity_set: EntitySet, record: Record, *names: str) -> str:
    """The path of a record by its key, or by the alternate key of some properties."""

    def text(name: str) -> str:
        return quote(literal(entity_set.type.by_name[name].type, record[name]), safe="'")

    if names:
        return f"{entity_set.name}({','.join(f'{name}={text(name)}' for name in names)})"
    return f"{entity_set.name}({text(entity_set.type.key)})"


def sent(entity_set: EntitySet, record: Record, *, creating: bool) -> Record:
    """What a client may write of a record."""
    accepts = entity_set.type.accepts
    return {
        name: record[name]
        for name, each in entity_set.type.by_name.items()
        if name in record and accepts(each, creating=creating, any_key=True)
    }


def guard(entity_set: EntitySet) -> Mapping[str, str]:
    """The headers that a create of a record needs."""
    return {"If-None-Match": "*"} if entity_set.create_guarded else {}


def samples(model: Model, count: int) -> Mapping[str, list[Record]]:
    """Records of each stored set, that differ in all values but those of a few: the first is blank.

    Records with the same number are related by all navigation properties.
    """
    shared = _shared(model)
    return {
        each.name: [_sample(each, number, model, shared) for number in range(count)]
        for each in model.stored
    }


def _sample(
    entity_set: EntitySet, number: int, model: Model, shared: Mapping[Place, list[Place]]
) -> Record:
    entity_type = entity_set.type
    identifying = {entity_type.key}.union(*(each.properties for each in entity_type.unique))
    fixed = _only(model, entity_set.name, number)
    record: Record = {}
    for each in entity_type.properties:
        if each.is_stream:
            continue
        if not number and each.name not in identifying and not each.required:
            record[each.name] = wire(each.type, each.initial)
        elif each.name in fixed:
            record[each.name] = wire(each.type, fixed[each.name])
        else:
            places = shared.get((entity_set.name, each.name), [(entity_set.name, each.name)])
            types = [model.by_name[name].type.by_name[member].type for name, member in places]
            record[each.name] = _value(types, ".".join(places[0]), number + 1)
    return record


_VALUES: Mapping[type[PrimitiveType], Callable[[int], Value]] = {
    Base64Text: lambda number: f"PGI+RGVzaw{'ABCDEFGH'[number % 8]}=",
    Boolean: lambda number: bool(number % 2),
    Date: lambda number: f"2024-02-{number:02}",
    DateTimeOffset: lambda number: f"2024-02-{number:02}T10:20:30.456Z",
    Int32: lambda number: number,
}


def _value(types: Sequence[PrimitiveType], place: str, number: int) -> Value:
    """A value that several types accept; that of another number is another one."""
    edm_type = types[0]
    if isinstance(edm_type, EnumText):
        # the first member is empty
        return edm_type.options[1 + number % (len(edm_type.options) - 1)]
    if isinstance(edm_type, Guid):
        return str(uuid5(NAMESPACE_OID, f"{place} {number}"))
    if isinstance(edm_type, DecimalNumber):
        return number + 0.5 if edm_type.scale else number
    for each, value in _VALUES.items():
        if isinstance(edm_type, each):
            return value(number)
    # a database compares codes in upper case, in which ß has two letters
    letter = "Ä" if any(isinstance(each, CodeText) for each in types) else "ß"
    text = f"{number}{letter} {place}"
    for one in types:
        assert isinstance(one, Text)
        text = str(one.from_text(text[: one.max_length]))
    return text


def _only(model: Model, name: str, number: int) -> Mapping[str, Stored]:
    """The values that a navigation property requires of the records of a set, by turns."""
    navigation = (each for entity_set in model.sets for each in entity_set.type.navigation)
    found = [{}, *(each.only for each in navigation if each.target == name and each.only)]
    return found[number % len(found)]


def _shared(model: Model) -> Mapping[Place, list[Place]]:
    """The properties that have equal values in related records, by each of them."""
    groups: dict[Place, list[Place]] = {}
    for entity_set in model.sets:
        for each in entity_set.type.navigation:
            places = (entity_set.name, each.on[0]), (each.target, each.on[1])
            found = [each for place in places for each in groups.get(place, [place])]
            joined = list(dict.fromkeys(found))
            groups |= dict.fromkeys(joined, joined)
    return groups


def compared(entity_set: EntitySet) -> Iterator[Property]:
    """A property of each type by which records are filtered."""
    queried = (each for each in entity_set.type.properties if each.is_queried)
    return iter({(type(each.type), each.type.edm_name): each for each in queried}.values())
