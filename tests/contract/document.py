"""The OpenAPI document of the service, with the keys of records that there are.

The schemas of Decimals are made exact. The document itself states the digits of Decimals in words,
because validators that compute with binary floats refuse 33.6442 as a multiple of 0.00001.
"""

import msgspec

from comptoir.catalog import MODEL
from comptoir.edm.model import EntitySet
from comptoir.edm.numbers import DECIMAL, UNIT, WHOLE_DIGITS
from comptoir.edm.types import JsonSchema
from support.client import Record
from support.samples import SAMPLES

Document = dict[str, object]

_EXACT_DECIMAL: JsonSchema = {
    **DECIMAL.json_schema,
    "multipleOf": 1 / UNIT,
    "exclusiveMinimum": -(10**WHOLE_DIGITS),
    "exclusiveMaximum": 10**WHOLE_DIGITS,
}
"""The Decimals that the service accepts, for a validator that computes exactly."""

_UNDER_COMPANY = "/companies({company_id})/"
_NO_RECORD: dict[str, object] = {
    "Edm.Guid": "deadbeef-dead-4eef-8ead-deadbeefdead",
    "Edm.String": "NONE",
    "Edm.Int32": 2_000_000_000,
}


def pointed(document: Document, company_id: str) -> Document:
    """The document with the company's key and keys of its records as the values of paths."""
    paths = msgspec.convert(document["paths"], dict[str, Document])
    components = msgspec.convert(document["components"], Document)
    schemas = msgspec.convert(components["schemas"], dict[str, Document])
    return {
        **document,
        "paths": {path: _at(path, item, company_id) for path, item in paths.items()},
        "components": {
            **components,
            "schemas": {name: with_exact_decimals(schema) for name, schema in schemas.items()},
        },
    }


def part_of(document: Document, tag: str) -> Document:
    """The document with only the paths of a tag: to read all of them takes long."""
    paths = msgspec.convert(document["paths"], dict[str, Document])
    return {**document, "paths": {path: item for path, item in paths.items() if tag in _tags(item)}}


def _tags(item: Document) -> set[str]:
    """The tags of the operations of a path."""
    operations = msgspec.convert(
        [each for each in item.values() if isinstance(each, dict)], list[Document]
    )
    return {tag for each in operations for tag in msgspec.convert(each["tags"], list[str])}


def with_exact_decimals(schema: Document) -> Document:
    """The schema of an object, whose Decimals are those that the service accepts."""
    properties = msgspec.convert(schema.get("properties", {}), dict[str, Document])
    exact = {
        name: {**declared, **_EXACT_DECIMAL} if declared.get("format") == "decimal" else declared
        for name, declared in properties.items()
    }
    return {**schema, "properties": exact} if exact else schema


def _at(path: str, item: Document, company_id: str) -> Document:
    known = {"company_id": [company_id], **_keys(path)}
    declared = msgspec.convert(item.get("parameters", []), list[Document])
    parameters = [
        {**each, "schema": {"enum": known[str(each["name"])]}} if each["name"] in known else each
        for each in declared
    ]
    return {**item, "parameters": parameters}


def _keys(path: str) -> dict[str, list[object]]:
    """The keys in addresses of an entity set's records: the sample's values, and unused ones."""
    entity_set = MODEL.by_name.get(path.removeprefix(_UNDER_COMPANY).partition("(")[0])
    if entity_set is None or not entity_set.per_company:
        return {}
    known: dict[str, list[object]] = {name: [value] for name, value in _sample(entity_set).items()}
    key = entity_set.type.key
    known[key].append(_NO_RECORD[entity_set.type.by_name[key].type.edm_name])
    return known


def _sample(entity_set: EntitySet) -> Record:
    if entity_set.view is None:
        return SAMPLES[entity_set.name]
    base = SAMPLES[entity_set.view.base]
    return {name: base[column] for name, column in entity_set.view.columns.items()}
