"""The answers that refuse, one for each status of the table of errors."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from types import MappingProxyType

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
from comptoir.metadata.openapi.schemas import ERROR, reference

_OF_WRITES = {
    each.status
    for each in (
        KEY_EXISTS,
        ENTITY_CHANGED,
        BODY_TOO_LARGE,
        UNSUPPORTED_MEDIA_TYPE,
        PRECONDITION_REQUIRED,
    )
}
_OF_LINKS = {LINK_EXPIRED.status}
_OF_NO_OPERATION = {METHOD_NOT_ALLOWED.status}
_ALL = {each.status for each in ERROR_TABLE}

OF_READS = frozenset(_ALL - _OF_WRITES - _OF_LINKS - _OF_NO_OPERATION)
"""The statuses with which a read can be refused."""

OF_PAGES = OF_READS | _OF_LINKS
OF_WRITES = OF_READS | _OF_WRITES

_RETRY = ("Retry-After", "Seconds to wait.", "integer")
_HEADERS: Mapping[int, tuple[str, str, str]] = MappingProxyType(
    {
        INVALID_CREDENTIALS.status: ("WWW-Authenticate", "RFC 6750.", "string"),
        METHOD_NOT_ALLOWED.status: ("Allow", "The methods that there are.", "string"),
        TOO_MANY_REQUESTS.status: _RETRY,
        UNAVAILABLE.status: _RETRY,
    }
)


def refused(statuses: Iterable[int]) -> Mapping[str, JsonSchema]:
    """The responses of an operation that can be refused with these statuses."""
    return {
        str(status): {"$ref": f"#/components/responses/refused-{status}"}
        for status in sorted(statuses)
    }


def error_responses() -> Mapping[str, JsonSchema]:
    """The shared responses by name; each says its codes, what they mean, and what to do."""

    def status(each: ErrorType) -> int:
        return each.status

    by_status = groupby(sorted(ERROR_TABLE, key=status), key=status)
    return {f"refused-{number}": _response(number, list(kinds)) for number, kinds in by_status}


def _response(status: int, kinds: list[ErrorType]) -> JsonSchema:
    codes = {"properties": {"code": {"enum": [each.code for each in kinds]}}}
    schema = {"allOf": [reference(ERROR), {"properties": {"error": codes}}]}
    said = "\n".join(f"- `{each.code}`: {each.meaning} {each.remedy}" for each in kinds)
    response = {"description": said, "content": {"application/json": {"schema": schema}}}
    if status not in _HEADERS:
        return response
    name, meaning, kind = _HEADERS[status]
    return {**response, "headers": {name: {"description": meaning, "schema": {"type": kind}}}}
