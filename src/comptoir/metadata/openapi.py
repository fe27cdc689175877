"""The OpenAPI 3.1 document: the paths and methods of the API for clients that do not use CSDL."""

from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import urlsplit

import msgspec

from comptoir import __version__
from comptoir.config import Settings
from comptoir.edm.model import EntitySet, Model, Property
from comptoir.edm.types import JsonSchema
from comptoir.metadata.annotations import Capabilities
from comptoir.metadata.csdl import JSON as CSDL_JSON
from comptoir.metadata.csdl import XML as CSDL_XML
from comptoir.metadata.openapi_operations import (
    JSON,
    MAX_VERSION,
    OF_READS,
    OF_WRITES,
    REPEATABLE,
    Operations,
    error_responses,
    parameter,
    parameters,
    refused,
)
from comptoir.metadata.openapi_schemas import (
    BATCH,
    BATCH_RESPONSE,
    PARTS,
    PARTS_RESPONSE,
    SERVICE,
    reference,
    schemas,
)

_ABOUT = """\
Business records over HTTP and JSON: an OData 4.01 API, described for other clients.

Records have an ETag, `@odata.etag`. Send it as `If-Match` to update or delete a record.
Properties are never null: `""`, `0`, `false`, `0001-01-01` and the all-zero Guid are empty values.
Text must not contain NUL characters or unpaired surrogates. All errors have the same form and
stable codes. `$metadata` has the capabilities of each entity set.

Decimals are JSON numbers, or strings if the media type has `IEEE754Compatible=true`. Double a quote
in a key, and percent-encode special characters: `unitsOfMeasureExt('1%2F2''')`.
"""


def openapi_document(model: Model, settings: Settings, capabilities: Capabilities) -> bytes:
    """The paths and methods of the API, as JSON (OpenAPI 3.1.0).

    The first server is absolute, because generators of clients use the first one, and many do not
    support relative URLs. The second is relative to the document's address, for a service with
    several host names.
    """
    base_url = settings.base_url
    operations = Operations(capabilities)
    scopes = f"`{capabilities.read_scope}` to read, `{capabilities.write_scope}` to write"
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "Comptoir",
                "version": __version__,
                "description": _ABOUT,
                "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
            },
            "servers": [
                {"url": base_url, "description": "The configured address."},
                {"url": urlsplit(base_url).path, "description": "The host of this document."},
            ],
            "security": [{"bearer": []}],
            "tags": [
                {"name": each.name, "description": each.type.description} for each in model.sets
            ]
            + [{"name": "service", "description": "The service documents, and batches."}],
            "paths": _paths(model, operations),
            "components": {
                "schemas": schemas(model),
                "parameters": parameters(settings),
                "responses": error_responses(),
                "securitySchemes": {
                    "bearer": {
                        "type": "http",
                        "scheme": "bearer",
                        "bearerFormat": "JWT",
                        "description": f"A token from `comptoir token`. Scopes: {scopes}.",
                    }
                },
            },
        }
    )


_COMPANY = "company_id"
_MULTIPART = "multipart/mixed"

Paths = Iterator[tuple[str, JsonSchema]]


def _paths(model: Model, operations: Operations) -> Mapping[str, JsonSchema]:
    """The paths with their operations: of the root, then of each set."""
    companies = model.companies
    key = companies.type.key_property
    above = [_parameter(_COMPANY, key)]
    company = f"/{companies.name}({{{_COMPANY}}})"
    found: dict[str, JsonSchema] = {}
    found.update(_of_root("", "", []))
    found.update(_Sets(model, operations, "", []).of(companies))
    found.update(_of_root(company, "company-", above))
    below = _Sets(model, operations, company, above)
    for each in model.per_company:
        found.update(below.of(each))
    return found


def _of_root(prefix: str, named: str, variables: list[JsonSchema]) -> Paths:
    """The paths of a service root: its service document, its metadata, and batches."""

    def item(method: str, operation: JsonSchema) -> JsonSchema:
        whole = {"tags": ["service"], **operation}
        return {method: whole, **({"parameters": variables} if variables else {})}

    def content(types: Mapping[str, JsonSchema]) -> JsonSchema:
        return {name: {"schema": schema} for name, schema in types.items()}

    listed = content({JSON: reference(SERVICE)})
    document = {
        "operationId": f"{named}service",
        "summary": "List the entity sets",
        "parameters": [parameter("$format")],
        "responses": {
            "200": {"description": "The entity sets.", "content": listed},
            **refused(OF_READS),
        },
    }
    yield f"{prefix}/", item("get", document)
    described = content({CSDL_XML: {"type": "string"}, CSDL_JSON: {"type": "object"}})
    metadata = {
        "operationId": f"{named}metadata",
        "summary": "Read the entity types and the capabilities of each set",
        "parameters": [parameter("$format"), parameter(MAX_VERSION)],
        "responses": {
            "200": {"description": "The model in CSDL.", "content": described},
            **refused(OF_READS),
        },
    }
    yield f"{prefix}/$metadata", item("get", metadata)
    responses = content({JSON: reference(BATCH_RESPONSE), _MULTIPART: reference(PARTS_RESPONSE)})
    batch = {
        "operationId": f"{named}batch",
        "summary": "Send several requests in one",
        "parameters": [parameter(name) for name in REPEATABLE],
        "requestBody": {
            "required": True,
            "content": content({JSON: reference(BATCH), _MULTIPART: reference(PARTS)}),
        },
        "responses": {
            "200": {"description": "A response to each request.", "content": responses},
            **refused(OF_WRITES),
        },
    }
    yield f"{prefix}/$batch", item("post", batch)


class _Sets:
    """The paths of sets below `prefix`, which has the variables `above`."""

    def __init__(
        self, model: Model, operations: Operations, prefix: str, above: list[JsonSchema]
    ) -> None:
        self._model = model
        self._operations = operations
        self._prefix = prefix
        self._above = above

    def of(self, entity_set: EntitySet) -> Paths:
        """The paths of a set, its records, and their properties and navigation properties."""
        do = self._operations
        address = f"{self._prefix}/{entity_set.name}"
        collection = {"get": do.list(entity_set, entity_set, "list")}
        if not entity_set.read_only:
            collection["post"] = do.create(entity_set)
        yield address, self._item((), collection)
        yield from self._of_many(entity_set, entity_set, address, (), "")
        key = entity_set.type.key_property
        name = key.name if entity_set.per_company else _COMPANY
        one, variables = f"{address}({_placeholder(name, key)})", [_parameter(name, key)]
        yield one, self._item(variables, self._record(entity_set, ""))
        place = self._operations.references(entity_set, "reference")
        yield f"{one}/$ref", self._item(variables, {"get": place})
        yield from self._inside(entity_set, one, variables)
        yield from self._alternates(entity_set, address)

    def _record(self, entity_set: EntitySet, ending: str) -> Mapping[str, JsonSchema]:
        """The operations on a record; `ending` distinguishes those by an alternate key."""
        do = self._operations
        record = {"get": do.read(entity_set, entity_set, f"read{ending}")}
        if not entity_set.read_only:
            record["patch"] = do.update(entity_set, f"update{ending}")
            record["put"] = do.replace(entity_set, f"replace{ending}")
            record["delete"] = do.delete(entity_set, f"delete{ending}")
        return record

    def _of_many(
        self,
        entity_set: EntitySet,
        target: EntitySet,
        address: str,
        variables: Iterable[JsonSchema],
        beginning: str,
    ) -> Paths:
        """The number of the records at an address, and their own addresses."""
        do = self._operations
        count = do.count(entity_set, target, f"{beginning}count")
        yield f"{address}/$count", self._item(variables, {"get": count})
        places = do.references(entity_set, f"{beginning}references", many=True)
        yield f"{address}/$ref", self._item(variables, {"get": places})

    def _inside(self, entity_set: EntitySet, one: str, variables: list[JsonSchema]) -> Paths:
        do = self._operations
        for navigation in entity_set.type.navigation:
            target = self._model.by_name[navigation.target]
            name, there = f"related-{navigation.name}", f"{one}/{navigation.name}"
            if navigation.collection:
                listed = do.list(entity_set, target, name)
                yield there, self._item(variables, {"get": listed})
                yield from self._of_many(entity_set, target, there, variables, f"{name}-")
            else:
                related = do.read(entity_set, target, name, related=True)
                yield there, self._item(variables, {"get": related})
                place = do.references(entity_set, f"{name}-reference", related=True)
                yield f"{there}/$ref", self._item(variables, {"get": place})
        names = [each.name for each in entity_set.type.properties]
        chosen: JsonSchema = {
            "name": "property",
            "in": "path",
            "required": True,
            "schema": {"type": "string", "enum": names},
        }
        for ending, raw in (("", False), ("/$value", True)):
            operation = do.property(entity_set, raw=raw)
            item = self._item([*variables, chosen], {"get": operation})
            yield f"{one}/{{property}}{ending}", item

    def _alternates(self, entity_set: EntitySet, address: str) -> Paths:
        entity_type = entity_set.type
        for number, rule in enumerate(entity_type.unique, 1):
            parts = [entity_type.by_name[name] for name in rule.properties]
            written = ",".join(f"{each.name}={_placeholder(each.name, each)}" for each in parts)
            variables = [_parameter(each.name, each, blank=len(parts) > 1) for each in parts]
            found = self._record(entity_set, f"-by-rule-{number}")
            yield f"{address}({written})", self._item(variables, found)

    def _item(
        self, variables: Iterable[JsonSchema], operations: Mapping[str, JsonSchema]
    ) -> JsonSchema:
        parameters = [*self._above, *variables]
        return {**({"parameters": parameters} if parameters else {}), **operations}


def _placeholder(name: str, declared: Property) -> str:
    """The placeholder of a key value in a path, in quotes if the type needs them."""
    return f"'{{{name}}}'" if declared.type.quoted else f"{{{name}}}"


def _parameter(name: str, declared: Property, *, blank: bool = False) -> JsonSchema:
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
