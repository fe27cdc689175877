"""The schemas of records, pages, batches and errors (JSON Schema 2020-12)."""

from collections.abc import Mapping

import msgspec

from comptoir.edm.model import EntitySet, Model, NavigationProperty, Property
from comptoir.edm.types import JsonSchema, Text
from comptoir.metadata.traits import has_computed_default, is_computed

CREATE, UPDATE, PAGE = "-create", "-update", "-page"
"""What the names of a kind's further schemas end in."""

ERROR, SERVICE, BATCH, BATCH_ANSWER = "error", "service", "batch", "batch-answer"
PARTS, PARTS_ANSWER = "batch-parts", "batch-parts-answer"
REFERENCE, REFERENCES = "reference", "references"

_OF_PARTS = "Requests as parts, between lines of the boundary that `Content-Type` names."
_PARTS = """\
--batch_1
Content-Type: application/http

GET companies HTTP/1.1
Accept: application/json


--batch_1--
""".replace("\n", "\r\n")
_OF_ANSWERS = "An answer to each request, as parts between lines of a boundary."
_ANSWERS = """\
--batch_1
Content-Type: application/http

HTTP/1.1 200 OK
Content-Type: application/json;odata.metadata=minimal
OData-Version: 4.0

{"value":[]}
--batch_1--
""".replace("\n", "\r\n")
"""A batch in multipart/mixed is text: OpenAPI has no words for parts that are requests."""
_EXPANDED = " With `$expand` alone."

_TEXT: JsonSchema = {"type": "string"}
_ADDRESS: JsonSchema = {"type": "string", "format": "uri"}


def reference(name: str) -> JsonSchema:
    """A schema by its name."""
    return {"$ref": f"#/components/schemas/{name}"}


def schemas(model: Model) -> Mapping[str, JsonSchema]:
    """Every schema by its name: those of each kind, and those of the service."""
    found: dict[str, JsonSchema] = {}
    for each in model.sets:
        name = each.type.name
        found[name] = _record(model, each)
        found[f"{name}{PAGE}"] = _page(each)
        if not each.read_only:
            found[f"{name}{CREATE}"] = _create(each)
            found[f"{name}{UPDATE}"] = _update(each)
    return {**found, **_of_service()}


def _record(model: Model, entity_set: EntitySet) -> JsonSchema:
    """A record in an answer; nothing is required, since `$select` asks for less."""
    kind = entity_set.type
    properties: dict[str, JsonSchema] = {
        "@odata.context": _ADDRESS,
        "@odata.etag": {"type": "string", "description": "The record's entity tag."},
    }
    for held in kind.properties:
        read_only = {"readOnly": True} if is_computed(held) else {}
        properties[held.name] = {**held.type.json_schema, **_words(held), **read_only}
    for relation in kind.navigation:
        properties[relation.name] = _related(model, relation)
    for each in model.contained(entity_set).values():
        records = {"type": "array", "items": reference(each.type.name)}
        properties[each.name] = {**records, "description": f"{each.type.description}{_EXPANDED}"}
    return {"type": "object", "description": kind.description, "properties": properties}


def _related(model: Model, held: NavigationProperty) -> JsonSchema:
    target = reference(model.by_name[held.target].type.name)
    said = {"description": f"{held.description}{_EXPANDED}"}
    if held.collection:
        return {"type": "array", "items": target, **said}
    return {"anyOf": [target, {"type": "null"}], **said}


def _page(entity_set: EntitySet) -> JsonSchema:
    page: JsonSchema = {
        "type": "object",
        "required": ["value"],
        "properties": {
            "@odata.context": _ADDRESS,
            "@odata.count": {"type": "integer", "description": "With `$count=true`."},
            "value": {"type": "array", "items": reference(entity_set.type.name)},
            "@odata.nextLink": {**_ADDRESS, "description": "The next page, if there is one."},
            "@odata.deltaLink": {**_ADDRESS, "description": "What will have changed since."},
        },
    }
    if not entity_set.single_inline:
        return page
    text = "When one record matches and `$filter` is the only option, it stands at the top as well."
    return {"description": text, "allOf": [page, reference(entity_set.type.name)]}


def _create(entity_set: EntitySet) -> JsonSchema:
    kind = entity_set.type
    properties: dict[str, JsonSchema] = {}
    for held in kind.properties:
        if is_computed(held):
            continue
        schema = {**_accepted(held), **_words(held)}
        if not held.required and not has_computed_default(kind, held):
            schema["default"] = msgspec.json.decode(held.type.no_value)
        properties[held.name] = schema
    required = [each.name for each in kind.properties if each.required]
    return {
        "type": "object",
        "description": f"A new {kind.name}. What is left out gets its default.",
        "properties": properties,
        "additionalProperties": False,
        **({"required": required} if required else {}),
    }


def _update(entity_set: EntitySet) -> JsonSchema:
    kind = entity_set.type
    return {
        "type": "object",
        "description": f"What to change of a {kind.name}. What is left out stays.",
        "properties": {
            held.name: {**_accepted(held), **_words(held)}
            for held in kind.properties
            if not held.modified_at and held.name != kind.key
        },
        "additionalProperties": False,
    }


def _accepted(held: Property) -> dict[str, object]:
    least = {"minLength": 1} if held.required and isinstance(held.type, Text) else {}
    return {**held.type.accepted_json_schema, **least}


def _words(held: Property) -> JsonSchema:
    """What is said of a property; suggestions are examples, since any value is taken."""
    said: dict[str, object] = {}
    if held.description:
        said["description"] = held.description
    if held.suggested:
        said["examples"] = list(held.suggested)
    return said


def _of_service() -> Mapping[str, JsonSchema]:
    fault: Mapping[str, JsonSchema] = {
        "code": {"type": "string", "description": "Stable; the reference lists all."},
        "message": {"type": "string", "description": "What was wrong, where, and what to do."},
        "target": {"type": "string", "description": "The property, query option or header."},
    }
    detail = _made_of(fault, "code", "message")
    details = {"type": "array", "items": detail, "description": "Where there are several faults."}
    error = _made_of({**fault, "details": details}, "code", "message")
    headers = {"type": "object", "additionalProperties": _TEXT}
    sets = {"type": "object", "properties": {"name": _TEXT, "kind": _TEXT, "url": _TEXT}}
    part = {
        "id": _TEXT,
        "method": {"type": "string", "enum": ["GET", "POST", "PATCH", "PUT", "DELETE"]},
        "url": {"type": "string", "description": "Absolute, or relative to the service root."},
        "headers": headers,
        "body": {},
        "atomicityGroup": {"type": "string", "description": "All of a group is done, or nothing."},
        "dependsOn": {"type": "array", "items": _TEXT},
        "if": _TEXT,
    }
    answer = {"id": _TEXT, "status": {"type": "integer"}, "headers": headers, "body": {}}
    place = {"type": "object", "properties": {"@odata.id": _TEXT}}
    return {
        REFERENCE: place,
        REFERENCES: _listed("value", place),
        ERROR: _made_of({"error": error}, "error"),
        SERVICE: _listed("value", sets),
        BATCH: _alone(_listed("requests", _alone(_made_of(part, "id", "method", "url")))),
        BATCH_ANSWER: _listed("responses", _made_of(answer, "status")),
        PARTS: {**_TEXT, "description": _OF_PARTS, "examples": [_PARTS]},
        PARTS_ANSWER: {**_TEXT, "description": _OF_ANSWERS, "examples": [_ANSWERS]},
    }


def _listed(name: str, item: JsonSchema) -> JsonSchema:
    return _made_of({name: {"type": "array", "items": item}}, name)


def _made_of(properties: Mapping[str, JsonSchema], *required: str) -> JsonSchema:
    return {"type": "object", "required": list(required), "properties": properties}


def _alone(schema: JsonSchema) -> JsonSchema:
    """An object without other members than those described."""
    return {**schema, "additionalProperties": False}
