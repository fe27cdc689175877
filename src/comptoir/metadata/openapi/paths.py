"""The paths: every address of the interface with what it takes."""

from collections.abc import Iterable, Iterator, Mapping

from comptoir.edm.model import EntitySet, Model, Property
from comptoir.edm.types import JsonSchema
from comptoir.metadata.csdl import JSON as CSDL_JSON
from comptoir.metadata.csdl import XML as CSDL_XML
from comptoir.metadata.openapi.operations import JSON, Operations
from comptoir.metadata.openapi.parameters import MAX_VERSION, REPEATABLE, parameter
from comptoir.metadata.openapi.responses import OF_READS, OF_WRITES, refused
from comptoir.metadata.openapi.schemas import (
    BATCH,
    BATCH_ANSWER,
    PARTS,
    PARTS_ANSWER,
    SERVICE,
    reference,
)

_COMPANY = "company_id"
_MULTIPART = "multipart/mixed"

Paths = Iterator[tuple[str, JsonSchema]]


def paths(model: Model, operations: Operations) -> Mapping[str, JsonSchema]:
    """Every path with its operations, those of the root first, then those of each set."""
    companies = model.companies
    key = companies.type.key_property
    above = [_variable(_COMPANY, key)]
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
    """A service root: its service document, its metadata, and batches."""

    def item(method: str, operation: JsonSchema) -> JsonSchema:
        whole = {"tags": ["service"], **operation}
        return {method: whole, **({"parameters": variables} if variables else {})}

    def content(types: Mapping[str, JsonSchema]) -> JsonSchema:
        return {name: {"schema": schema} for name, schema in types.items()}

    listed = content({JSON: reference(SERVICE)})
    document = {
        "operationId": f"{named}service",
        "summary": "What stands here",
        "parameters": [parameter("$format")],
        "responses": {"200": {"description": "A list.", "content": listed}, **refused(OF_READS)},
    }
    yield f"{prefix}/", item("get", document)
    described = content({CSDL_XML: {"type": "string"}, CSDL_JSON: {"type": "object"}})
    metadata = {
        "operationId": f"{named}metadata",
        "summary": "The types, and what can be done with each set",
        "parameters": [parameter("$format"), parameter(MAX_VERSION)],
        "responses": {"200": {"description": "CSDL.", "content": described}, **refused(OF_READS)},
    }
    yield f"{prefix}/$metadata", item("get", metadata)
    answers = content({JSON: reference(BATCH_ANSWER), _MULTIPART: reference(PARTS_ANSWER)})
    batch = {
        "operationId": f"{named}batch",
        "summary": "Several requests in one",
        "parameters": [parameter(name) for name in REPEATABLE],
        "requestBody": {
            "required": True,
            "content": content({JSON: reference(BATCH), _MULTIPART: reference(PARTS)}),
        },
        "responses": {
            "200": {"description": "An answer to each.", "content": answers},
            **refused(OF_WRITES),
        },
    }
    yield f"{prefix}/$batch", item("post", batch)


class _Sets:
    """The paths of sets that stand below `prefix`, whose variables are `above`."""

    def __init__(
        self, model: Model, operations: Operations, prefix: str, above: list[JsonSchema]
    ) -> None:
        self._model = model
        self._operations = operations
        self._prefix = prefix
        self._above = above

    def of(self, entity_set: EntitySet) -> Paths:
        """Every path of a set: it, its records, their properties and relations."""
        do = self._operations
        address = f"{self._prefix}/{entity_set.name}"
        collection = {"get": do.list(entity_set, entity_set, "list")}
        if not entity_set.read_only:
            collection["post"] = do.create(entity_set)
        yield address, self._item((), collection)
        yield from self._of_many(entity_set, entity_set, address, (), "")
        key = entity_set.type.key_property
        name = key.name if entity_set.per_company else _COMPANY
        one, variables = f"{address}({_placed(name, key)})", [_variable(name, key)]
        yield one, self._item(variables, self._record(entity_set, ""))
        place = self._operations.references(entity_set, "reference")
        yield f"{one}/$ref", self._item(variables, {"get": place})
        yield from self._inside(entity_set, one, variables)
        yield from self._alternates(entity_set, address)

    def _record(self, entity_set: EntitySet, ending: str) -> Mapping[str, JsonSchema]:
        """The operations on a record; their names have an ending where it is found otherwise."""
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
        """How many records there are at an address, and where they stand."""
        do = self._operations
        count = do.count(entity_set, target, f"{beginning}count")
        yield f"{address}/$count", self._item(variables, {"get": count})
        places = do.references(entity_set, f"{beginning}references", many=True)
        yield f"{address}/$ref", self._item(variables, {"get": places})

    def _inside(self, entity_set: EntitySet, one: str, variables: list[JsonSchema]) -> Paths:
        do = self._operations
        for relation in entity_set.type.navigation:
            target = self._model.by_name[relation.target]
            name, there = f"related-{relation.name}", f"{one}/{relation.name}"
            if relation.collection:
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
        kind = entity_set.type
        for number, rule in enumerate(kind.unique, 1):
            parts = [kind.by_name[name] for name in rule.properties]
            written = ",".join(f"{each.name}={_placed(each.name, each)}" for each in parts)
            variables = [_variable(each.name, each, blank=len(parts) > 1) for each in parts]
            found = self._record(entity_set, f"-by-rule-{number}")
            yield f"{address}({written})", self._item(variables, found)

    def _item(
        self, variables: Iterable[JsonSchema], operations: Mapping[str, JsonSchema]
    ) -> JsonSchema:
        held = [*self._above, *variables]
        return {**({"parameters": held} if held else {}), **operations}


def _placed(name: str, held: Property) -> str:
    """The place of a key's value in a path, within quotes if it needs them."""
    return f"'{{{name}}}'" if held.type.quoted else f"{{{name}}}"


def _variable(name: str, held: Property, *, blank: bool = False) -> JsonSchema:
    """A variable of a path, which is a key or a part of one; `blank`: it may be empty."""
    schema = dict(held.type.json_schema)
    if held.type.quoted:
        schema["pattern"] = f"^([^']|''){'*' if blank else '+'}$"
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": held.description,
        "schema": schema,
    }
