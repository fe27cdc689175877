"""The operations of OpenAPI, with the parameters and responses that they share."""

from collections.abc import Iterable, Mapping

from comptoir.config import Settings
from comptoir.edm.model import EntitySet
from comptoir.edm.types import STREAM, JsonSchema
from comptoir.errors.messages import filled
from comptoir.metadata.annotations import Capabilities
from comptoir.metadata.openapi_schemas import (
    CREATE,
    PAGE,
    REFERENCE,
    REFERENCES,
    UPDATE,
    ErrorResponses,
    Kind,
    reference,
    shared,
)
from comptoir.profiles.record import Profile

_EXPRESSIONS = ("$filter", "$orderby", "$select", "$expand", "$search", "$compute", "$apply")
PAGE_OPTIONS = (*_EXPRESSIONS, "$top", "$skip", "$count", "$format")
_OF_RECORDS = ("$select", "$expand", "$compute", "$apply")
REFERENCE_OPTIONS = tuple(each for each in PAGE_OPTIONS if each not in _OF_RECORDS)
RECORD_OPTIONS = ("$select", "$expand", "$compute", "$format")
COUNT_OPTIONS = ("$filter", "$search", "$apply")

PREFER_PAGE, PREFER_RETURN = "Prefer-page", "Prefer-return"
IF_MATCH, IF_MATCH_OPTIONAL = "If-Match", "If-Match-optional"
IF_NONE_MATCH, IF_NONE = "If-None-Match", "If-None-Match-any"
MAX_VERSION = "OData-MaxVersion"
ACCESS = ("Data-Access-Intent", "Consistency-Token")
REPEATABLE = ("Repeatability-Request-ID", "Repeatability-First-Sent")

_TRACKING = " `odata.track-changes`: a link to later changes."


def parameter(name: str) -> JsonSchema:
    """A reference to a shared parameter."""
    return {"$ref": f"#/components/parameters/{name.lstrip('$')}"}


def parameters(settings: Settings, capabilities: Capabilities) -> Mapping[str, JsonSchema]:
    """The shared parameters by name, query options without their `$`.

    `$skiptoken` and `$deltatoken` are not listed, because clients only follow links with them.
    """
    rules = settings.behaviour.writes
    facts = {
        "page_size": f"{settings.page_size:,}",
        "max_page_size": f"{settings.max_page_size:,}",
        "tracking": _TRACKING if capabilities.tracks_changes else "",
        "short_by": rules.short_by,
    }
    found = {
        name: {**each, "description": filled(str(each["description"]), facts)}
        for name, each in shared()["parameters"].items()
        if each["name"] not in capabilities.unsupported
    }
    if not rules.if_none_match:
        del found[IF_NONE]
        found[IF_MATCH_OPTIONAL]["description"] = found[IF_MATCH]["description"]
    return found


JSON = "application/json"
_BYTES: JsonSchema = {}
"""Any bytes (OpenAPI 3.1, section 4.8.14.3)."""

_OAUTH2, _BEARER = "oauth2", "bearer"
TEXT = "text/plain"

_TAG = ("ETag", "The record's ETag.")
_LOCATION = ("Location", "The record's address.")
_APPLIED = ("Preference-Applied", "The preferences that were applied.")
_REPEATED = ("Repeatability-Result", "`accepted`: the request can be repeated.")
_TOKEN = ("Consistency-Token", "A token for reads that must include this write.")
_ON_CREATE = (
    "`If-Match` applies to an existing record with the same key: 412 if its ETag does not match, "
    "otherwise 409. It is optional with `OData-Version` or `OData-MaxVersion`."
)
_ON_REPLACE = "Replaces the whole record with `If-Match`, or creates it with `If-None-Match: *`."


def security(*scopes: str) -> list[JsonSchema]:
    """A token with some scopes, however the client got it."""
    return [{scheme: list(scopes)} for scheme in (_OAUTH2, _BEARER)]


def security_schemes(capabilities: Capabilities) -> JsonSchema:
    """The sources of tokens: the token endpoint, or the operator."""
    scopes = {
        capabilities.read_scope: "Read records.",
        capabilities.write_scope: "Create, update and delete records.",
    }
    flow = {"tokenUrl": capabilities.token_url, "scopes": scopes}
    schemes = shared()["securitySchemes"]
    return {**schemes, _OAUTH2: {**schemes[_OAUTH2], "flows": {"clientCredentials": flow}}}


class Operations:
    """Builds the operations of entity sets. An operation id consists of the set and the verb."""

    def __init__(
        self, capabilities: Capabilities, profile: Profile, errors: ErrorResponses
    ) -> None:
        self._errors = errors
        self._rules = profile.writes
        self._tag_of_created = (_TAG,) if profile.writes.tag_of_created else ()
        self._read = security(capabilities.read_scope)
        self._write = security(capabilities.write_scope)
        self._unsupported = capabilities.unsupported

    def list(self, entity_set: EntitySet, target: EntitySet, name: str) -> JsonSchema:
        """List `target`: the set itself, or the set of a navigation property."""
        schema = reference(f"{target.type.name}{PAGE}")
        page = _response("A page of records.", JSON, schema, (_APPLIED,))
        return self._operation(
            entity_set,
            name,
            f"List records of {target.name}",
            (*PAGE_OPTIONS, PREFER_PAGE, MAX_VERSION),
            {"200": page},
            "page",
        )

    def count(self, entity_set: EntitySet, target: EntitySet, name: str) -> JsonSchema:
        """Count the records of `target`."""
        number = _response("The number of records.", TEXT, {"type": "integer"})
        summary = f"Count the records of {target.name}"
        return self._operation(entity_set, name, summary, COUNT_OPTIONS, {"200": number})

    def read(
        self, entity_set: EntitySet, target: EntitySet, name: str, *, related: bool = False
    ) -> JsonSchema:
        """Read one record of `target`; operation 9 returns a page unless the protocol is named.

        A navigation property (`related`) may lead to no record.
        """
        options: tuple[str, ...] = RECORD_OPTIONS
        schema = reference(target.type.name)
        if target.key_narrows and target is entity_set:
            options = PAGE_OPTIONS
            schema = {"anyOf": [reference(f"{target.type.name}{PAGE}"), schema]}
        return self._operation(
            entity_set,
            name,
            f"Read a record of {target.name}",
            (*options, IF_NONE_MATCH, MAX_VERSION),
            {
                "200": _response("The record.", JSON, schema, (_TAG,)),
                **_no_related(related),
                "304": _bodiless("The record has not changed."),
            },
        )

    def property(self, entity_set: EntitySet, *, raw: bool) -> JsonSchema:
        """Read a property of a record, in an object or as plain text."""
        value: JsonSchema = {"type": "string"}
        if not raw:
            value = {"type": "object", "required": ["value"], "properties": {"value": {}}}
        return self._operation(
            entity_set,
            "value" if raw else "property",
            "Read a property as text" if raw else "Read a property",
            (),
            {"200": _response("The value.", TEXT if raw else JSON, value)},
        )

    def read_stream(self, entity_set: EntitySet, name: str) -> JsonSchema:
        """Read the bytes of a stream, if it has any."""
        return self._operation(
            entity_set,
            f"read-{name}",
            f"Read the content of {name}",
            (IF_NONE_MATCH,),
            {
                "200": _response("The content.", STREAM.media_type, _BYTES, (_TAG,)),
                "204": _bodiless("It is empty.", _TAG),
                "304": _bodiless("The record has not changed."),
            },
        )

    def replace_stream(self, entity_set: EntitySet, name: str) -> JsonSchema:
        """Replace the bytes of a stream."""
        operation = self._operation(
            entity_set,
            f"update-{name}",
            f"Replace the content of {name}",
            (*self._guards(entity_set, "PATCH"), *REPEATABLE),
            {"204": _bodiless("Updated.", _TAG, _REPEATED, _TOKEN)},
            "write",
        )
        return {**operation, "requestBody": {"content": {STREAM.media_type: {"schema": _BYTES}}}}

    def references(
        self, entity_set: EntitySet, name: str, *, many: bool = False, related: bool = False
    ) -> JsonSchema:
        """Read the addresses of records: of one, of a `related` one if any, or of a page."""
        summary = "Read the addresses of records" if many else "Read the address of a record"
        schema = reference(REFERENCES if many else REFERENCE)
        response = _response("A page of addresses." if many else "The address.", JSON, schema)
        return self._operation(
            entity_set,
            name,
            summary,
            REFERENCE_OPTIONS if many else (),
            {"200": response, **_no_related(related)},
            "page" if many else "read",
        )

    def create(self, entity_set: EntitySet) -> JsonSchema:
        """Create a record."""
        guards = self._guards(entity_set, "POST") if entity_set.create_guarded else ()
        return self._operation(
            entity_set,
            "create",
            f"Create a record of {entity_set.name}",
            (*guards, PREFER_RETURN, *REPEATABLE),
            {
                "201": self._created(entity_set),
                "204": _bodiless("Created.", *self._tag_of_created, _LOCATION, _REPEATED, _TOKEN),
            },
            "write",
            body=CREATE,
            description=_ON_CREATE if guards else "",
        )

    def update(self, entity_set: EntitySet, name: str) -> JsonSchema:
        """Update some properties of a record."""
        return self._operation(
            entity_set,
            name,
            f"Update a record of {entity_set.name}",
            (*self._guards(entity_set, "PATCH"), PREFER_RETURN, *REPEATABLE),
            {
                "200": _with_record(entity_set, "Updated.", _TAG),
                "204": _bodiless("Updated.", _TAG, _REPEATED, _TOKEN),
            },
            "write",
            body=UPDATE,
        )

    def replace(self, entity_set: EntitySet, name: str) -> JsonSchema:
        """Replace a record, or only the properties that are sent, or create it."""
        upserts, replaces = self._rules.if_none_match, self._rules.put_replaces
        created = {"201": self._created(entity_set)} if upserts else {}
        return self._operation(
            entity_set,
            name,
            f"{'Replace' if replaces else 'Update'} a record of {entity_set.name}",
            (
                *((IF_MATCH_OPTIONAL, IF_NONE) if upserts else self._guards(entity_set, "PUT")),
                PREFER_RETURN,
                *REPEATABLE,
            ),
            {
                "200": _with_record(entity_set, "Replaced." if replaces else "Updated.", _TAG),
                **created,
                "204": _bodiless(
                    "Replaced or created." if upserts else "Updated.", _TAG, _REPEATED, _TOKEN
                ),
            },
            "write",
            body=CREATE if replaces else UPDATE,
            description=_ON_REPLACE if upserts else "",
        )

    def act(self, entity_set: EntitySet, name: str) -> JsonSchema:
        """Change a record by an action."""
        return self._operation(
            entity_set,
            f"action-{name}",
            f"Do the action {name} on a record of {entity_set.name}",
            (IF_MATCH_OPTIONAL, *REPEATABLE),
            {"204": _bodiless("Done.", _TAG, _REPEATED, _TOKEN)},
            "write",
        )

    def delete(self, entity_set: EntitySet, name: str) -> JsonSchema:
        """Delete a record."""
        return self._operation(
            entity_set,
            name,
            f"Delete a record of {entity_set.name}",
            (*self._guards(entity_set, "DELETE"), *REPEATABLE),
            {"204": _bodiless("Deleted.", _REPEATED, _TOKEN)},
            "write",
        )

    def _guards(self, entity_set: EntitySet, method: str) -> tuple[str, ...]:
        """The parameter for the ETag of the record that a method writes."""
        required = IF_MATCH if entity_set.if_match else IF_MATCH_OPTIONAL
        guards = {"required": (required,), "optional": (IF_MATCH_OPTIONAL,), "ignored": ()}
        return guards[self._rules.tags[method]]

    def _created(self, entity_set: EntitySet) -> JsonSchema:
        return _with_record(entity_set, "Created.", *self._tag_of_created, headers=(_LOCATION,))

    def _operation(
        self,
        entity_set: EntitySet,
        verb: str,
        summary: str,
        names: Iterable[str],
        responses: Mapping[str, JsonSchema],
        kind: Kind = "read",
        *,
        body: str = "",
        description: str = "",
    ) -> JsonSchema:
        """An operation with the parameters `names`; a write requires the write scope.

        `body` is the ending of the name of the body's schema.
        """
        writes = kind == "write"
        listed = [*names, *(() if writes else ACCESS)]
        operation: dict[str, object] = {
            "operationId": f"{entity_set.name}-{verb}",
            "tags": [entity_set.name],
            "summary": summary,
            "security": self._write if writes else self._read,
            "parameters": [parameter(name) for name in listed if name not in self._unsupported],
            "responses": {**responses, **self._errors.references(kind)},
        }
        if description:
            operation["description"] = description
        if body:
            schema = reference(f"{entity_set.type.name}{body}")
            operation["requestBody"] = {"required": True, "content": {JSON: {"schema": schema}}}
        return operation


def _response(
    description: str, media_type: str, schema: JsonSchema, headers: Iterable[tuple[str, str]] = ()
) -> JsonSchema:
    content = {media_type: {"schema": schema}}
    return {**_bodiless(description, *headers), "content": content}


def _no_related(related: bool) -> Mapping[str, JsonSchema]:
    """The response of a navigation property that leads to no record."""
    return {"204": _bodiless("No record is related.")} if related else {}


def _with_record(
    entity_set: EntitySet,
    description: str,
    *tags: tuple[str, str],
    headers: Iterable[tuple[str, str]] = (),
) -> JsonSchema:
    return _response(
        description,
        JSON,
        reference(entity_set.type.name),
        (*tags, _APPLIED, _REPEATED, _TOKEN, *headers),
    )


def _bodiless(description: str, *headers: tuple[str, str]) -> JsonSchema:
    if not headers:
        return {"description": description}
    listed = {name: {"description": text, "schema": {"type": "string"}} for name, text in headers}
    return {"description": description, "headers": listed}
