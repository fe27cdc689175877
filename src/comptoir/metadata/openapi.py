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
from comptoir.metadata.openapi_schemas import (
    Operation,
    Response,
    error_references,
    error_responses,
    schemas,
    shared,
    with_facts,
)

_ACCESS = ("Data-Access-Intent", "Consistency-Token")
"""The parameters of all reads of records."""

_COMPANY = "company_id"
_OAUTH2, _BEARER = "oauth2", "bearer"
_TRACKING = " `odata.track-changes`: a link to later changes."

_encode = msgspec.json.Encoder(decimal_format="number").encode

Paths = Iterator[tuple[str, JsonSchema]]


def openapi_document(model: Model, settings: Settings, capabilities: Capabilities) -> bytes:
    """The paths and methods of the API, as JSON (OpenAPI 3.1.0).

    The first server is absolute, because generators of clients use the first one, and many do not
    support relative URLs. The second is relative to the document's address, for a service with
    several host names; with `admin_port`, the API is not there.
    """
    base_url = settings.base_url
    errors = error_responses(settings.behaviour)
    about = filled(shared().about, {"whole_digits": WHOLE_DIGITS, "scale": SCALE})
    here = {"url": urlsplit(base_url).path, "description": "The host of this document."}
    relative = [] if settings.admin_port else [here]
    tags = [{"name": each.name, "description": each.type.description} for each in model.sets]
    paths = _Paths(model, capabilities, errors)
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
            "security": _security(),
            "tags": [
                *tags,
                {"name": "service", "description": "The service documents, and batches."},
            ],
            "paths": dict(paths.all()),
            "components": {
                "schemas": schemas(model, capabilities),
                "parameters": _parameters(settings),
                "responses": errors,
                "securitySchemes": _security_schemes(capabilities),
            },
        }
    )


def _other_names(aliases: Mapping[str, str]) -> str:
    """A sentence on the names that sets have besides their own."""
    if not aliases:
        return ""
    named = ", ".join(f"`{alias}` is `{name}`" for alias, name in aliases.items())
    return f"\nSome entity sets have a second name, with the same records: {named}.\n"


def _parameters(settings: Settings) -> Mapping[str, JsonSchema]:
    """The shared parameters by name, query options without their `$`.

    `$skiptoken` and `$deltatoken` are not listed, because clients only follow links with them.
    """
    rules, queries = settings.behaviour.writes, settings.behaviour.queries
    facts = {
        "page_size": f"{settings.page_size:,}",
        "max_page_size": f"{settings.max_page_size:,}",
        "tracking": _TRACKING if queries.tracks_changes else "",
        "short_by": rules.short_by,
    }
    found = {
        name: {**each, "description": filled(str(each["description"]), facts)}
        for name, each in shared().parameters.items()
        if each["name"] not in queries.unsupported
    }
    if not rules.if_none_match:
        del found["If-None-Match-any"]
        found["If-Match-optional"]["description"] = found["If-Match"]["description"]
    return found


def _security(*scopes: str) -> list[JsonSchema]:
    """A token with some scopes, however the client got it."""
    return [{scheme: list(scopes)} for scheme in (_OAUTH2, _BEARER)]


def _security_schemes(capabilities: Capabilities) -> Mapping[str, JsonSchema]:
    """The sources of tokens: the token endpoint, or the operator."""
    scopes = {
        capabilities.read_scope: "Read records.",
        capabilities.write_scope: "Create, update and delete records.",
    }
    flow = {"tokenUrl": capabilities.token_url, "scopes": scopes}
    schemes = shared().securitySchemes
    return {**schemes, _OAUTH2: {**schemes[_OAUTH2], "flows": {"clientCredentials": flow}}}


class _Paths:
    """The paths of the API with their operations, whose ids consist of the set and the verb."""

    def __init__(self, model: Model, capabilities: Capabilities, errors: Iterable[str]) -> None:
        self._model = model
        self._capabilities = capabilities
        self._rules = capabilities.behaviour.writes
        self._errors = errors

    def all(self) -> Paths:
        """The paths of the root, then of a company, and of each of its sets."""
        companies = self._model.companies
        yield from self._root("", "", {})
        yield from self._of_set(companies, "", [])
        outer = [_path_parameter(_COMPANY, companies.type.key_property)]
        company = f"/{companies.name}({{{_COMPANY}}})"
        yield from self._root(company, "company-", {"parameters": outer})
        for each in self._model.per_company:
            yield from self._of_set(each, company, outer)

    def _root(self, prefix: str, id_prefix: str, shared_members: JsonSchema) -> Paths:
        """The paths of a service root: its service document, its metadata, and batches."""
        paths = {"service": ("/", "get"), "metadata": ("/$metadata", "get")}
        for name, (path, method) in {**paths, "batch": ("/$batch", "post")}.items():
            found = shared().operations[name]
            operation = {
                "tags": ["service"],
                "operationId": f"{id_prefix}{name}",
                **self._members(found, found.parameters, {}),
            }
            yield f"{prefix}{path}", {method: operation, **shared_members}

    def _of_set(self, entity_set: EntitySet, prefix: str, outer: list[JsonSchema]) -> Paths:
        """The paths of a set, its records, and their properties and navigation properties."""
        address, entity_type = f"{prefix}/{entity_set.name}", entity_set.type
        collection = {"get": self._operation("list", entity_set)}
        if not entity_set.read_only:
            collection["post"] = self._create(entity_set, entity_set)
        yield address, _item(outer, collection)
        yield from self._of_collection(entity_set, entity_set, address, outer, "")
        key = entity_type.key_property
        name = key.name if entity_set.per_company else _COMPANY
        record = f"{address}({_placeholder(name, key)})"
        variables = [*outer, _path_parameter(name, key)]
        yield record, _item(variables, self._record(entity_set, ""))
        link = self._operation("reference", entity_set)
        yield f"{record}/$ref", _item(variables, {"get": link})
        yield from self._of_record(entity_set, record, variables)
        for number, rule in enumerate(entity_type.unique, 1):
            parts = [entity_type.by_name[name] for name in rule.properties]
            written = ",".join(f"{each.name}={_placeholder(each.name, each)}" for each in parts)
            values = [_path_parameter(each.name, each, blank=len(parts) > 1) for each in parts]
            found = self._record(entity_set, f"-by-rule-{number}")
            yield f"{address}({written})", _item([*outer, *values], found)

    def _record(self, entity_set: EntitySet, ending: str) -> Mapping[str, JsonSchema]:
        """The operations on a record; `ending` keeps the operation ids of its keys apart."""
        reads = "read-narrowed" if entity_set.key_narrows else "read"
        found = {"get": self._operation(reads, entity_set, f"read{ending}")}
        if entity_set.read_only:
            return found
        # without upserts, PUT only updates
        replaces = "replace" if self._rules.if_none_match else "update"
        return {
            **found,
            "patch": self._operation("update", entity_set, f"update{ending}"),
            "put": self._operation(replaces, entity_set, f"replace{ending}", method="PUT"),
            "delete": self._operation("delete", entity_set, f"delete{ending}", method="DELETE"),
        }

    def _create(self, entity_set: EntitySet, target: EntitySet, verb: str = "create") -> JsonSchema:
        """Create a record of `target`, which may be contained in one of the set."""
        is_guarded = target.create_guarded and self._rules.tags["POST"] != "ignored"
        kind = "create-guarded" if is_guarded else "create"
        created = self._operation(kind, target, "create", method="POST")
        return {**created, "operationId": f"{entity_set.name}-{verb}"}

    def _of_collection(
        self,
        entity_set: EntitySet,
        target: EntitySet,
        address: str,
        variables: list[JsonSchema],
        id_prefix: str,
    ) -> Paths:
        """The paths of the count of the records at an address, and of references to them."""
        count = self._operation("count", entity_set, f"{id_prefix}count", target)
        yield f"{address}/$count", _item(variables, {"get": count})
        references = self._operation("references", entity_set, f"{id_prefix}references", target)
        yield f"{address}/$ref", _item(variables, {"get": references})

    def _of_record(self, entity_set: EntitySet, record: str, variables: list[JsonSchema]) -> Paths:
        """The paths below a record."""
        for navigation in entity_set.type.navigation:
            target = self._model.by_name[navigation.target]
            name, path = f"related-{navigation.name}", f"{record}/{navigation.name}"
            if navigation.collection:
                content = {"get": self._operation("list", entity_set, name, target)}
                if navigation.contained and not target.read_only:
                    created = f"create-{navigation.name}"
                    content["post"] = self._create(entity_set, target, created)
                yield path, _item(variables, content)
                yield from self._of_collection(entity_set, target, path, variables, f"{name}-")
            else:
                related = self._operation("read-related", entity_set, name, target)
                yield path, _item(variables, {"get": related})
                link = self._operation("reference-related", entity_set, f"{name}-reference")
                yield f"{path}/$ref", _item(variables, {"get": link})
        for action in entity_set.type.actions:
            if action.change:
                path = f"{record}/{entity_set.type.namespace}.{action.name}"
                verb = f"action-{action.name}"
                done = self._operation("act", entity_set, verb, name=action.name)
                yield path, _item(variables, {"post": done})
        for name in entity_set.type.streams:
            verbs = {"get": ("read-stream", "read"), "patch": ("replace-stream", "update")}
            content = {
                method: self._operation(kind, entity_set, f"{verb}-{name}", name=name)
                for method, (kind, verb) in verbs.items()
            }
            yield f"{record}/{name}", _item(variables, content)
        names = [each.name for each in entity_set.type.properties if not each.is_stream]
        values: JsonSchema = {"type": "string", "enum": names}
        chosen = {"name": "property", "in": "path", "required": True, "schema": values}
        for ending, kind in (("", "property"), ("/$value", "value")):
            read = self._operation(kind, entity_set)
            yield f"{record}/{{property}}{ending}", _item([*variables, chosen], {"get": read})

    def _operation(
        self,
        kind: str,
        entity_set: EntitySet,
        verb: str = "",
        target: EntitySet | None = None,
        *,
        method: str = "PATCH",
        name: str = "",
    ) -> JsonSchema:
        """An operation of a kind; a write requires the write scope.

        `verb` is by default the kind, `target` the set, and `method` what the rules of tags call a
        write. `name` is that of a stream or an action.
        """
        found, target = shared().operations[kind], target or entity_set
        writes = found.kind == "write"
        scopes = self._capabilities
        guards = {"If-Match": self._guard(entity_set, method)}
        listed = [guards.get(each, each) for each in found.parameters]
        facts = {"target": target.name, "type": target.type.name, "name": name}
        return {
            "operationId": f"{entity_set.name}-{verb or kind}",
            "tags": [entity_set.name],
            "security": _security(scopes.write_scope if writes else scopes.read_scope),
            **self._members(found, [*listed, *(() if writes else _ACCESS)], facts),
        }

    def _guard(self, entity_set: EntitySet, method: str) -> str:
        """The parameter for the ETag of the record that a method writes, blank for none."""
        required = "If-Match" if entity_set.if_match else "If-Match-optional"
        guards = {"required": required, "optional": "If-Match-optional", "ignored": ""}
        return guards[self._rules.tags[method]]

    def _members(
        self, found: Operation, parameters: Iterable[str], facts: Mapping[str, str]
    ) -> JsonSchema:
        """The members of an operation that do not depend on its address."""
        unsupported = self._capabilities.behaviour.queries.unsupported
        listed = [each for each in parameters if each and f"${each}" not in unsupported]
        operation: dict[str, object] = {
            "summary": filled(found.summary, facts),
            "parameters": [{"$ref": f"#/components/parameters/{each}"} for each in listed],
            "responses": {
                **{status: self._response(each, facts) for status, each in found.responses.items()},
                **error_references(found.kind, self._errors),
            },
        }
        if found.description:
            operation["description"] = found.description
        if found.requestBody:
            operation["requestBody"] = with_facts(found.requestBody, facts)
        return operation

    def _response(self, response: Response, facts: Mapping[str, str]) -> JsonSchema:
        found: dict[str, object] = {"description": response.description}
        names = {"ETag-of-created": "ETag" if self._rules.tag_of_created else ""}
        headers = [name for each in response.headers if (name := names.get(each, each))]
        if headers:
            text: JsonSchema = {"type": "string"}
            texts = shared().headers
            found["headers"] = {n: {"description": texts[n], "schema": text} for n in headers}
        if response.content:
            found["content"] = with_facts(response.content, facts)
        return found


def _item(variables: Iterable[JsonSchema], operations: Mapping[str, JsonSchema]) -> JsonSchema:
    parameters = list(variables)
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
