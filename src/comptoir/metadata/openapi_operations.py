"""The operations of OpenAPI, with the parameters and responses that they share."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from types import MappingProxyType

from comptoir.config import Settings
from comptoir.edm.model import EntitySet
from comptoir.edm.types import JsonSchema
from comptoir.errors import (
    BODY_TOO_LARGE,
    ENTITY_CHANGED,
    ERROR_TABLE,
    INVALID_CREDENTIALS,
    KEY_EXISTS,
    LINK_EXPIRED,
    METHOD_NOT_ALLOWED,
    PRECONDITION_REQUIRED,
    TOO_MANY_REQUESTS,
    UNAVAILABLE,
    UNSUPPORTED_MEDIA_TYPE,
    ErrorType,
)
from comptoir.metadata.annotations import Capabilities
from comptoir.metadata.openapi_schemas import (
    CREATE,
    ERROR,
    PAGE,
    REFERENCE,
    REFERENCES,
    UPDATE,
    reference,
)

_EXPRESSIONS: Mapping[str, str] = MappingProxyType(
    {
        "filter": "A condition: `displayName eq 'A' and not privacyBlocked`.",
        "orderby": "The order: `city, displayName desc`.",
        "select": "The properties to return: `id,displayName`.",
        "expand": "The related records to include: `people($top=3)`.",
        "search": 'Words to search for: `chair OR "office desk" NOT red`.',
        "compute": "Computed properties: `unitPrice mul quantity as total`.",
        "apply": "Aggregation, before the other options: `groupby((city),aggregate($count as n))`.",
    }
)
"""The query options whose value is an expression, with an example of each."""

PAGE_OPTIONS = (*(f"${name}" for name in _EXPRESSIONS), "$top", "$skip", "$count", "$format")
_OF_RECORDS = ("$select", "$expand", "$compute", "$apply")
REFERENCE_OPTIONS = tuple(each for each in PAGE_OPTIONS if each not in _OF_RECORDS)
RECORD_OPTIONS = ("$select", "$expand", "$compute", "$format")
COUNT_OPTIONS = ("$filter", "$search", "$apply")

PREFER_PAGE, PREFER_RETURN = "Prefer-page", "Prefer-return"
IF_MATCH, IF_MATCH_OPTIONAL = "If-Match", "If-Match-optional"
IF_NONE_MATCH, IF_NONE = "If-None-Match", "If-None-Match-any"
MAX_VERSION = "OData-MaxVersion"
INTENT, TOKEN = ACCESS = ("Data-Access-Intent", "Consistency-Token")
REQUEST_ID, FIRST_SENT = REPEATABLE = ("Repeatability-Request-ID", "Repeatability-First-Sent")

_STRING: JsonSchema = {"type": "string"}

_TAG_PATTERN = r'(W/)?"[!#-~\u0080-\u00ff]*"'
_TAGS_PATTERN = rf"^(\*|{_TAG_PATTERN}( *, *{_TAG_PATTERN})*)$"
_CONSISTENCY = r"^[0-9a-f]{1,32}\.[0-9]{1,18}$"
_DATE_PATTERN = r"^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT$"


def parameter(name: str) -> JsonSchema:
    """A reference to a shared parameter."""
    return {"$ref": f"#/components/parameters/{name.lstrip('$')}"}


def parameters(settings: Settings) -> Mapping[str, JsonSchema]:
    """The shared parameters by name, query options without their `$`.

    `$skiptoken` and `$deltatoken` are not listed, because clients only follow links with them.
    """
    number: JsonSchema = {"type": "integer", "minimum": 0}
    tags: JsonSchema = {"type": "string", "pattern": _TAGS_PATTERN}
    pages = (
        f"`odata.maxpagesize=N`: the most records of a page, {settings.page_size:,} by default and "
        f"up to {settings.max_page_size:,}. `odata.track-changes`: a link to later changes."
    )
    found = {
        # the format lets generators recognize an expression
        name: _option(f"${name}", text, {"type": "string", "format": f"odata-{name}"})
        for name, text in _EXPRESSIONS.items()
    }
    found["top"] = _option("$top", "The most records to return.", number)
    found["skip"] = _option("$skip", "The number of records to skip.", number)
    text = "Whether to return the number of all matching records."
    found["count"] = _option("$count", text, {"type": "boolean"})
    text = "The media type, instead of `Accept`."
    found["format"] = _option("$format", text, {"type": "string", "minLength": 1})
    text = "The record's `@odata.etag`, a list of ETags, or `*`."
    found[IF_MATCH] = {**_header("If-Match", text, tags), "required": True}
    text = "The record's `@odata.etag`; required to replace it."
    found[IF_MATCH_OPTIONAL] = _header("If-Match", text, tags)
    text = "A known ETag: the response is 304 if the record still has it."
    found[IF_NONE_MATCH] = _header("If-None-Match", text, tags)
    found[IF_NONE] = _header("If-None-Match", "`*`: the record must not exist yet.", _one_of("*"))
    found[PREFER_PAGE] = _header("Prefer", pages)
    text = "`return=minimal`: status 204 without the record."
    found[PREFER_RETURN] = _header("Prefer", text)
    text = "The highest OData version that the client supports. Operations 7 and 9 depend on it."
    found[MAX_VERSION] = _header(MAX_VERSION, text, _one_of("4.0", "4.01"))
    text = "`ReadOnly`: a replica may serve the read in its current state."
    found[INTENT] = _header(INTENT, text, _one_of("ReadOnly", "ReadWrite"))
    text = "The token of a write: a replica may serve the read if it has applied the write."
    found[TOKEN] = _header(TOKEN, text, {"type": "string", "pattern": _CONSISTENCY})
    text = "An id of the request: if the request is sent again with it, it runs only once."
    found[REQUEST_ID] = _header(REQUEST_ID, text, {"type": "string", "format": "uuid"})
    text = "The time at which the request was first sent, as an HTTP date; required with the id."
    found[FIRST_SENT] = _header(FIRST_SENT, text, {"type": "string", "pattern": _DATE_PATTERN})
    return found


def _one_of(*values: str) -> JsonSchema:
    return {"type": "string", "enum": values}


def _option(name: str, description: str, schema: JsonSchema) -> JsonSchema:
    return {"name": name, "in": "query", "description": description, "schema": schema}


def _header(name: str, description: str, schema: JsonSchema = _STRING) -> JsonSchema:
    return {"name": name, "in": "header", "description": description, "schema": schema}


_WRITE_ONLY = {
    each.status
    for each in (
        KEY_EXISTS,
        ENTITY_CHANGED,
        BODY_TOO_LARGE,
        UNSUPPORTED_MEDIA_TYPE,
        PRECONDITION_REQUIRED,
    )
}
_LINK_ONLY = {LINK_EXPIRED.status}
_UNDOCUMENTED_METHODS = {METHOD_NOT_ALLOWED.status}
_ALL = {each.status for each in ERROR_TABLE}

READ_ERRORS = frozenset(_ALL - _WRITE_ONLY - _LINK_ONLY - _UNDOCUMENTED_METHODS)
"""The error statuses of reads."""

PAGE_ERRORS = READ_ERRORS | _LINK_ONLY
WRITE_ERRORS = READ_ERRORS | _WRITE_ONLY

_RETRY = ("Retry-After", "The seconds to wait.", "integer")
_HEADERS: Mapping[int, tuple[str, str, str]] = MappingProxyType(
    {
        INVALID_CREDENTIALS.status: ("WWW-Authenticate", "The challenge (RFC 6750).", "string"),
        METHOD_NOT_ALLOWED.status: ("Allow", "The allowed methods.", "string"),
        TOO_MANY_REQUESTS.status: _RETRY,
        UNAVAILABLE.status: _RETRY,
    }
)


def errors(statuses: Iterable[int]) -> Mapping[str, JsonSchema]:
    """References to the shared error responses with these statuses."""
    return {
        str(status): {"$ref": f"#/components/responses/refused-{status}"}
        for status in sorted(statuses)
    }


def error_responses() -> Mapping[str, JsonSchema]:
    """The shared error responses by name, each with its codes and their meanings."""

    def status(each: ErrorType) -> int:
        return each.status

    by_status = groupby(sorted(ERROR_TABLE, key=status), key=status)
    return {f"refused-{number}": _error_response(number, list(rows)) for number, rows in by_status}


def _error_response(status: int, rows: list[ErrorType]) -> JsonSchema:
    codes = {"properties": {"code": {"enum": [each.code for each in rows]}}}
    schema = {"allOf": [reference(ERROR), {"properties": {"error": codes}}]}
    description = "\n".join(f"- `{each.code}`: {each.meaning} {each.remedy}" for each in rows)
    response = {"description": description, "content": {"application/json": {"schema": schema}}}
    if status not in _HEADERS:
        return response
    name, meaning, json_type = _HEADERS[status]
    return {**response, "headers": {name: {"description": meaning, "schema": {"type": json_type}}}}


JSON = "application/json"
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


class Operations:
    """Builds the operations of entity sets. An operation id consists of the set and the verb."""

    def __init__(self, capabilities: Capabilities) -> None:
        self._read = [{"bearer": [capabilities.read_scope]}]
        self._write = [{"bearer": [capabilities.write_scope]}]

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
            PAGE_ERRORS,
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
            PAGE_ERRORS if many else READ_ERRORS,
        )

    def create(self, entity_set: EntitySet) -> JsonSchema:
        """Create a record."""
        guards = (IF_MATCH,) if entity_set.create_guarded else ()
        return self._operation(
            entity_set,
            "create",
            f"Create a record of {entity_set.name}",
            (*guards, PREFER_RETURN, *REPEATABLE),
            {
                "201": _with_record(entity_set, "Created.", _LOCATION),
                "204": _bodiless("Created.", _TAG, _LOCATION, _REPEATED, _TOKEN),
            },
            WRITE_ERRORS,
            body=CREATE,
            description=_ON_CREATE if entity_set.create_guarded else "",
        )

    def update(self, entity_set: EntitySet, name: str) -> JsonSchema:
        """Update some properties of a record."""
        return self._operation(
            entity_set,
            name,
            f"Update a record of {entity_set.name}",
            (IF_MATCH, PREFER_RETURN, *REPEATABLE),
            {
                "200": _with_record(entity_set, "Updated."),
                "204": _bodiless("Updated.", _TAG, _REPEATED, _TOKEN),
            },
            WRITE_ERRORS,
            body=UPDATE,
        )

    def replace(self, entity_set: EntitySet, name: str) -> JsonSchema:
        """Replace a record."""
        return self._operation(
            entity_set,
            name,
            f"Replace a record of {entity_set.name}",
            (IF_MATCH_OPTIONAL, IF_NONE, PREFER_RETURN, *REPEATABLE),
            {
                "200": _with_record(entity_set, "Replaced."),
                "201": _with_record(entity_set, "Created.", _LOCATION),
                "204": _bodiless("Replaced or created.", _TAG, _REPEATED, _TOKEN),
            },
            WRITE_ERRORS,
            body=CREATE,
            description=_ON_REPLACE,
        )

    def delete(self, entity_set: EntitySet, name: str) -> JsonSchema:
        """Delete a record."""
        return self._operation(
            entity_set,
            name,
            f"Delete a record of {entity_set.name}",
            (IF_MATCH, *REPEATABLE),
            {"204": _bodiless("Deleted.", _REPEATED, _TOKEN)},
            WRITE_ERRORS,
        )

    def _operation(
        self,
        entity_set: EntitySet,
        verb: str,
        summary: str,
        names: Iterable[str],
        responses: Mapping[str, JsonSchema],
        refusals: Iterable[int] = READ_ERRORS,
        *,
        body: str = "",
        description: str = "",
    ) -> JsonSchema:
        """An operation with the parameters `names`, and `refusals` as its error statuses.

        `WRITE_ERRORS` declare a write, which requires the write scope. `body` is the ending of the
        name of the body's schema.
        """
        writes = refusals is WRITE_ERRORS
        operation: dict[str, object] = {
            "operationId": f"{entity_set.name}-{verb}",
            "tags": [entity_set.name],
            "summary": summary,
            "security": self._write if writes else self._read,
            "parameters": [parameter(name) for name in (*names, *(() if writes else ACCESS))],
            "responses": {**responses, **errors(refusals)},
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


def _with_record(entity_set: EntitySet, description: str, *headers: tuple[str, str]) -> JsonSchema:
    return _response(
        description,
        JSON,
        reference(entity_set.type.name),
        (_TAG, _APPLIED, _REPEATED, _TOKEN, *headers),
    )


def _bodiless(description: str, *headers: tuple[str, str]) -> JsonSchema:
    if not headers:
        return {"description": description}
    listed = {name: {"description": text, "schema": {"type": "string"}} for name, text in headers}
    return {"description": description, "headers": listed}
