"""The OpenAPI 3.1 document, for clients that do not use CSDL."""

from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import urlsplit

import msgspec

from comptoir import __version__
from comptoir.config import Settings
from comptoir.edm.model import EntitySet, Model, Property
from comptoir.edm.numbers import SCALE, WHOLE_DIGITS
from comptoir.edm.types import JsonSchema
from comptoir.errors.messages import filled
from comptoir.metadata.annotations import Capabilities
from comptoir.metadata.csdl import JSON as CSDL_JSON
from comptoir.metadata.csdl import XML as CSDL_XML
from comptoir.metadata.openapi_operations import (
    JSON,
    MAX_VERSION,
    REPEATABLE,
    Operations,
    parameter,
    parameters,
    security,
    security_schemes,
)
from comptoir.metadata.openapi_schemas import (
    BATCH,
    BATCH_RESPONSE,
    PARTS,
    PARTS_RESPONSE,
    SERVICE,
    ErrorResponses,
    Kind,
    reference,
    schemas,
    shared,
)

_encode = msgspec.json.Encoder(decimal_format="number").encode


def openapi_document(model: Model, settings: Settings, capabilities: Capabilities) -> bytes:
    """The paths and methods of the API, as JSON (OpenAPI 3.1.0).

    The first server is absolute, because generators of clients use the first one, and many do not
    support relative URLs. The second is relative to the document's address, for a service with
    several host names; with `admin_port`, the API is not there.
    """
    base_url = settings.base_url
    profile = settings.behaviour
    errors = ErrorResponses(profile)
    about = str(shared()["texts"]["about"]["description"])
    about = filled(about, {"whole_digits": WHOLE_DIGITS, "scale": SCALE})
    operations = Operations(capabilities, profile, errors)
    here = {"url": urlsplit(base_url).path, "description": "The host of this document."}
    relative = [] if settings.admin_port else [here]
    return _encode(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "Comptoir",
                "version": __version__,
                "description": about + _other_names(model.aliases),
                "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
            },
            "servers": [{"url": base_url, "description": "The configured address."}, *relative],
            "security": security(),
            "tags": [
                {"name": each.name, "description": each.type.description} for each in model.sets
            ]
            + [{"name": "service", "description": "The service documents, and batches."}],
            "paths": _paths(model, operations, errors),
            "components": {
                "schemas": schemas(model, capabilities),
                "parameters": parameters(settings, capabilities),
                "responses": errors.shared(),
                "securitySchemes": security_schemes(capabilities),
            },
        }
    )


_COMPANY = "company_id"
_MULTIPART = "multipart/mixed"

Paths = Iterator[tuple[str, JsonSchema]]


def _other_names(aliases: Mapping[str, str]) -> str:
    """A sentence on the names that sets have besides their own."""
    if not aliases:
        return ""
    named = ", ".join(f"`{alias}` is `{name}`" for alias, name in aliases.items())
    return f"\nSome entity sets have a second name, with the same records: {named}.\n"


def _paths(
    model: Model, operations: Operations, errors: ErrorResponses
) -> Mapping[str, JsonSchema]:
    """The paths with their operations: of the root, then of each set."""
    companies = model.companies
    key = companies.type.key_property
    outer = [_path_parameter(_COMPANY, key)]
    company = f"/{companies.name}({{{_COMPANY}}})"
    found: dict[str, JsonSchema] = {}
    found.update(_root_paths("", "", [], errors))
    found.update(_SetPaths(model, operations, "", []).paths(companies))
    found.update(_root_paths(company, "company-", outer, errors))
    company_sets = _SetPaths(model, operations, company, outer)
    for each in model.per_company:
        found.update(company_sets.paths(each))
    return found


def _root_paths(
    prefix: str, id_prefix: str, variables: list[JsonSchema], errors: ErrorResponses
) -> Paths:
    """The paths of a service root: its service document, its metadata, and batches."""

    def content(types: Mapping[str, JsonSchema]) -> JsonSchema:
        return {name: {"schema": schema} for name, schema in types.items()}

    def item(
        method: str,
        name: str,
        summary: str,
        options: Iterable[str],
        success: tuple[str, Mapping[str, JsonSchema]],
        kind: Kind = "read",
        **members: JsonSchema,
    ) -> JsonSchema:
        description, types = success
        response: JsonSchema = {"description": description, "content": content(types)}
        operation: dict[str, object] = {
            "tags": ["service"],
            "operationId": f"{id_prefix}{name}",
            "summary": summary,
            "parameters": [parameter(each) for each in options],
            **members,
            "responses": {"200": response, **errors.references(kind)},
        }
        return {method: operation, **({"parameters": variables} if variables else {})}

    sets = ("The entity sets.", {JSON: reference(SERVICE)})
    yield f"{prefix}/", item("get", "service", "List the entity sets", ("$format",), sets)
    model = ("The model in CSDL.", {CSDL_XML: {"type": "string"}, CSDL_JSON: {"type": "object"}})
    summary = "Read the entity types and the capabilities of each set"
    metadata = item("get", "metadata", summary, ("$format", MAX_VERSION), model)
    yield f"{prefix}/$metadata", metadata
    requests = content({JSON: reference(BATCH), _MULTIPART: reference(PARTS)})
    batch = item(
        "post",
        "batch",
        "Send several requests in one",
        REPEATABLE,
        (
            "A response to each request.",
            {JSON: reference(BATCH_RESPONSE), _MULTIPART: reference(PARTS_RESPONSE)},
        ),
        "write",
        requestBody={"required": True, "content": requests},
    )
    yield f"{prefix}/$batch", batch


class _SetPaths:
    """The paths of sets at and below `prefix`, whose parameters are `outer`."""

    def __init__(
        self, model: Model, operations: Operations, prefix: str, outer: list[JsonSchema]
    ) -> None:
        self._model = model
        self._operations = operations
        self._prefix = prefix
        self._outer = outer

    def paths(self, entity_set: EntitySet) -> Paths:
        """The paths of a set, its records, and their properties and navigation properties."""
        operations = self._operations
        address = f"{self._prefix}/{entity_set.name}"
        collection = {"get": operations.list(entity_set, entity_set, "list")}
        if not entity_set.read_only:
            collection["post"] = operations.create(entity_set)
        yield address, self._item((), collection)
        yield from self._collection_paths(entity_set, entity_set, address, (), "")
        key = entity_set.type.key_property
        name = key.name if entity_set.per_company else _COMPANY
        record, variables = f"{address}({_placeholder(name, key)})", [_path_parameter(name, key)]
        yield record, self._item(variables, self._record(entity_set, ""))
        link = operations.references(entity_set, "reference")
        yield f"{record}/$ref", self._item(variables, {"get": link})
        yield from self._property_paths(entity_set, record, variables)
        yield from self._alternate_key_paths(entity_set, address)

    def _record(self, entity_set: EntitySet, ending: str) -> Mapping[str, JsonSchema]:
        """The operations on a record; `ending` keeps the operation ids of its keys apart."""
        operations = self._operations
        found = {"get": operations.read(entity_set, entity_set, f"read{ending}")}
        if not entity_set.read_only:
            found["patch"] = operations.update(entity_set, f"update{ending}")
            found["put"] = operations.replace(entity_set, f"replace{ending}")
            found["delete"] = operations.delete(entity_set, f"delete{ending}")
        return found

    def _collection_paths(
        self,
        entity_set: EntitySet,
        target: EntitySet,
        address: str,
        variables: Iterable[JsonSchema],
        id_prefix: str,
    ) -> Paths:
        """The paths of the count of the records at an address, and of references to them."""
        operations = self._operations
        count = operations.count(entity_set, target, f"{id_prefix}count")
        yield f"{address}/$count", self._item(variables, {"get": count})
        references = operations.references(entity_set, f"{id_prefix}references", many=True)
        yield f"{address}/$ref", self._item(variables, {"get": references})

    def _property_paths(
        self, entity_set: EntitySet, record: str, variables: list[JsonSchema]
    ) -> Paths:
        operations = self._operations
        for navigation in entity_set.type.navigation:
            target = self._model.by_name[navigation.target]
            name, path = f"related-{navigation.name}", f"{record}/{navigation.name}"
            if navigation.collection:
                listed = operations.list(entity_set, target, name)
                content = {"get": listed}
                if navigation.contained and not target.read_only:
                    created = f"{entity_set.name}-create-{navigation.name}"
                    content["post"] = {**operations.create(target), "operationId": created}
                yield path, self._item(variables, content)
                yield from self._collection_paths(entity_set, target, path, variables, f"{name}-")
            else:
                related = operations.read(entity_set, target, name, related=True)
                yield path, self._item(variables, {"get": related})
                link = operations.references(entity_set, f"{name}-reference", related=True)
                yield f"{path}/$ref", self._item(variables, {"get": link})
        for action in entity_set.type.actions:
            if action.change:
                path = f"{record}/{entity_set.type.namespace}.{action.name}"
                done = operations.act(entity_set, action.name)
                yield path, self._item(variables, {"post": done})
        for name in entity_set.type.streams:
            content = {
                "get": operations.read_stream(entity_set, name),
                "patch": operations.replace_stream(entity_set, name),
            }
            yield f"{record}/{name}", self._item(variables, content)
        names = [each.name for each in entity_set.type.properties if not each.is_stream]
        chosen: JsonSchema = {
            "name": "property",
            "in": "path",
            "required": True,
            "schema": {"type": "string", "enum": names},
        }
        for ending, raw in (("", False), ("/$value", True)):
            operation = operations.property(entity_set, raw=raw)
            item = self._item([*variables, chosen], {"get": operation})
            yield f"{record}/{{property}}{ending}", item

    def _alternate_key_paths(self, entity_set: EntitySet, address: str) -> Paths:
        entity_type = entity_set.type
        for number, rule in enumerate(entity_type.unique, 1):
            parts = [entity_type.by_name[name] for name in rule.properties]
            written = ",".join(f"{each.name}={_placeholder(each.name, each)}" for each in parts)
            variables = [_path_parameter(each.name, each, blank=len(parts) > 1) for each in parts]
            found = self._record(entity_set, f"-by-rule-{number}")
            yield f"{address}({written})", self._item(variables, found)

    def _item(
        self, variables: Iterable[JsonSchema], operations: Mapping[str, JsonSchema]
    ) -> JsonSchema:
        parameters = [*self._outer, *variables]
        return {**({"parameters": parameters} if parameters else {}), **operations}


def _placeholder(name: str, declared: Property) -> str:
    """The placeholder of a key value in a path, in quotes if the type needs them."""
    return f"'{{{name}}}'" if declared.type.quoted else f"{{{name}}}"


def _path_parameter(name: str, declared: Property, *, blank: bool = False) -> JsonSchema:
    """A path parameter: a key, or a part of one that may be `blank`."""
    schema = dict(declared.type.json_schema)
    if declared.type.quoted:
        schema["pattern"] = f"^([^']|''){'*' if blank else '+'}$"
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": declared.description,
        "schema": schema,
    }
