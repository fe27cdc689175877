"""The schemas of records, pages, batches and errors in OpenAPI (JSON Schema 2020-12)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

from comptoir.edm.model import EntitySet, Model, NavigationProperty, Property
from comptoir.edm.types import JsonSchema, Text
from comptoir.errors.messages import filled
from comptoir.errors.refusal import ErrorType
from comptoir.errors.table import (
    BODY_TOO_LARGE,
    ENTITY_CHANGED,
    ERROR_TABLE,
    INVALID_CREDENTIALS,
    ISOLATION_NOT_SUPPORTED,
    KEY_EXISTS,
    LINK_EXPIRED,
    METHOD_NOT_ALLOWED,
    PRECONDITION_REQUIRED,
    RECORD_NOT_FOUND,
    UNSUPPORTED_MEDIA_TYPE,
)
from comptoir.metadata.annotations import Capabilities
from comptoir.profiles.record import Profile, ResponseOverride

CREATE, UPDATE, PAGE = "-create", "-update", "-page"
"""The endings of the names of an entity type's other schemas."""

_EXPANDED = " Only with `$expand`."

_NEW_RELATED: JsonSchema = {
    "type": "array",
    "items": {"type": "object"},
    "description": "Related records to create, without the properties that relate them.",
}
_ADDRESS: JsonSchema = {"type": "string", "format": "uri"}


Kind = Literal["read", "page", "write"]
"""The kind of an operation: it reads, reads a page, or writes."""


class Response(msgspec.Struct, frozen=True):
    """A response, with the names of its headers."""

    description: str
    headers: Sequence[str] = ()
    content: Mapping[str, object] = {}


class Operation(msgspec.Struct, frozen=True):
    """An operation, with the names of its parameters."""

    summary: str
    responses: Mapping[str, Response]
    parameters: Sequence[str] = ()
    kind: Kind = "read"
    description: str = ""
    requestBody: Mapping[str, object] = {}  # noqa: N815 - the name in OpenAPI


class Shared(msgspec.Struct, frozen=True):
    """The parts of the document that do not depend on the model, from `openapi.toml`."""

    about: str
    parameters: Mapping[str, dict[str, object]]
    securitySchemes: Mapping[str, dict[str, object]]  # noqa: N815 - the name in OpenAPI
    schemas: Mapping[str, JsonSchema]
    page: JsonSchema
    headers: Mapping[str, str]
    refused: Mapping[str, JsonSchema]
    operations: Mapping[str, Operation]


@cache
def shared() -> Shared:
    """The parts of the document that do not depend on the model."""
    folder = files(__name__.rpartition(".")[0])
    return msgspec.toml.decode(folder.joinpath("openapi.toml").read_bytes(), type=Shared)


def with_facts(part: JsonSchema, facts: Mapping[str, str]) -> JsonSchema:
    """A part of the document, with facts in its texts in place of their names in braces."""
    return {name: _filled(each, facts) for name, each in part.items()}


def _filled(part: object, facts: Mapping[str, str]) -> object:
    if isinstance(part, str):
        return filled(part, facts) if "{" in part else part
    if isinstance(part, list):
        return [_filled(each, facts) for each in part]
    return with_facts(part, facts) if isinstance(part, dict) else part


def reference(name: str) -> JsonSchema:
    """A reference to a schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def schemas(model: Model, capabilities: Capabilities) -> Mapping[str, JsonSchema]:
    """The schemas by name: of each entity type, and of the service."""
    found: dict[str, JsonSchema] = {}
    for each in model.sets:
        name = each.type.name
        found[name] = _record(model, each)
        found[f"{name}{PAGE}"] = _page(each)
        if not each.read_only:
            found[f"{name}{CREATE}"] = _create(model, each, capabilities)
            found[f"{name}{UPDATE}"] = _update(each)
    return {**found, **shared().schemas}


def _record(model: Model, entity_set: EntitySet) -> JsonSchema:
    """A record in a response; with `$select` any property may be missing."""
    entity_type = entity_set.type
    properties: dict[str, JsonSchema] = {
        "@odata.context": _ADDRESS,
        "@odata.etag": {"type": "string", "description": "The record's ETag."},
    }
    for declared in entity_type.properties:
        if declared.is_stream:
            link = {**_ADDRESS, **_annotations(declared), "readOnly": True}
            properties[f"{declared.name}@odata.mediaEditLink"] = link
            properties[f"{declared.name}@odata.mediaReadLink"] = link
            continue
        read_only = {"readOnly": True} if declared.is_computed else {}
        properties[declared.name] = {
            **declared.type.json_schema,
            **_annotations(declared),
            **read_only,
        }
    for navigation in entity_type.navigation:
        properties[navigation.name] = _related(model, navigation)
    for each in model.contained(entity_set).values():
        records = {"type": "array", "items": reference(each.type.name)}
        properties[each.name] = {**records, "description": f"{each.type.description}{_EXPANDED}"}
    return {"type": "object", "description": entity_type.description, "properties": properties}


def _related(model: Model, declared: NavigationProperty) -> JsonSchema:
    target = reference(model.by_name[declared.target].type.name)
    documentation = {"description": f"{declared.description}{_EXPANDED}"}
    if declared.collection:
        return {"type": "array", "items": target, **documentation}
    return {"anyOf": [target, {"type": "null"}], **documentation}


def _page(entity_set: EntitySet) -> JsonSchema:
    name = entity_set.type.name
    page = with_facts(shared().page, {"type": name})
    if not entity_set.single_inline:
        return page
    text = "If one record matches and `$filter` is the only option, its properties are here too."
    return {"description": text, "allOf": [page, reference(name)]}


def _create(model: Model, entity_set: EntitySet, capabilities: Capabilities) -> JsonSchema:
    entity_type, any_key = entity_set.type, not capabilities.refuses_computed
    properties: dict[str, JsonSchema] = {}
    for declared in entity_type.properties:
        if not declared.is_stream and entity_type.accepts(declared, creating=True, any_key=any_key):
            schema = _accepted(declared)
            if not declared.required and not entity_type.has_computed_default(declared):
                schema["default"] = declared.type.wire(declared.initial)
            properties[declared.name] = schema
    if capabilities.behaviour.writes.related:
        for navigation in entity_type.navigation:
            if navigation.collection and not model.by_name[navigation.target].read_only:
                properties[navigation.name] = _NEW_RELATED
    required = [each.name for each in entity_type.required]
    about = f"A new {entity_type.name}. Omitted properties get their default."
    return {**_body(about, properties), **({"required": required} if required else {})}


def _update(entity_set: EntitySet) -> JsonSchema:
    entity_type = entity_set.type
    properties = {
        declared.name: _accepted(declared)
        for declared in entity_type.properties
        if entity_type.accepts(declared, creating=False, any_key=True) and not declared.is_stream
    }
    about = f"The changes to a {entity_type.name}. Omitted properties keep their value."
    return _body(about, properties)


def _body(about: str, properties: JsonSchema) -> JsonSchema:
    schema = {"type": "object", "description": about, "properties": properties}
    return {**schema, "additionalProperties": False}


def _accepted(declared: Property) -> dict[str, object]:
    least = {"minLength": 1} if declared.required and isinstance(declared.type, Text) else {}
    return {**declared.type.accepted_json_schema, **least, **_annotations(declared)}


def _annotations(declared: Property) -> JsonSchema:
    """The description of a property; suggested values are examples, since any value is valid."""
    documentation: dict[str, object] = {}
    if declared.description:
        documentation["description"] = declared.description
    if declared.suggested:
        documentation["examples"] = list(declared.suggested)
    return documentation


_OF_WRITES = (
    KEY_EXISTS, ENTITY_CHANGED, BODY_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, PRECONDITION_REQUIRED,
)  # fmt: skip
_NOT_OF: Mapping[Kind, Sequence[ErrorType]] = {
    "read": (*_OF_WRITES, LINK_EXPIRED, METHOD_NOT_ALLOWED),
    "page": (*_OF_WRITES, METHOD_NOT_ALLOWED),
    "write": (LINK_EXPIRED, METHOD_NOT_ALLOWED),
}
"""The errors whose statuses an operation of a kind does not have, or does not document."""

_IN_ONE_GROUP: Mapping[str, str] = {
    INVALID_CREDENTIALS.code: "BAD_CREDENTIALS",
    RECORD_NOT_FOUND.code: "NO_RECORD",
    PRECONDITION_REQUIRED.code: "NO_TAG",
}
"""Errors that do not occur under a profile with an override of their only group."""


_REFUSED = "refused-"


def error_responses(profile: Profile) -> Mapping[str, JsonSchema]:
    """The error responses that operations share, each with its codes and their meanings."""
    texts: dict[int, list[tuple[str, str]]] = {}
    for status, code, text in _rows(profile):
        texts.setdefault(status, []).append((code, text))
    return {f"{_REFUSED}{status}": _response(status, texts[status]) for status in sorted(texts)}


def error_references(kind: Kind, names: Iterable[str]) -> Mapping[str, JsonSchema]:
    """References to those of the error responses that operations of a kind have, by status."""
    left_out = {f"{_REFUSED}{each.status}" for each in _NOT_OF[kind]}
    return {
        name.removeprefix(_REFUSED): {"$ref": f"#/components/responses/{name}"}
        for name in names
        if name not in left_out
    }


def _rows(profile: Profile) -> Iterator[tuple[int, str, str]]:
    """The errors of the service that occur under a profile, and then its verdicts in JSON."""
    for each in ERROR_TABLE:
        if _occurs(each, profile):
            override = profile.codes.get(each.code)
            shown: ErrorType | ResponseOverride = each if override is None else override
            yield shown.status, shown.code, f"{each.meaning} {each.remedy}"
    for override in profile.errors.values():
        if override.media == "json":
            yield override.status, override.code, override.message


def _occurs(error: ErrorType, profile: Profile) -> bool:
    if error is LINK_EXPIRED:
        return profile.queries.tracks_changes
    if error is ISOLATION_NOT_SUPPORTED:
        return not profile.batches.snapshot
    if error is ENTITY_CHANGED:
        return profile.writes.if_none_match or "STALE_TAG" not in profile.errors
    return _IN_ONE_GROUP.get(error.code) not in profile.errors


def _response(status: int, texts: Sequence[tuple[str, str]]) -> JsonSchema:
    codes = {"properties": {"code": {"enum": list(dict.fromkeys(code for code, _ in texts))}}}
    schema = {"allOf": [reference("error"), {"properties": {"error": codes}}]}
    return {
        "description": "\n".join(f"- `{code}`: {text}" for code, text in texts),
        "content": {"application/json": {"schema": schema}},
        **shared().refused.get(str(status), {}),
    }
