"""The error responses of OpenAPI, with the statuses and the codes of a profile."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType
from typing import Literal

from comptoir.edm.types import JsonSchema
from comptoir.errors import (
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
    TOO_MANY_REQUESTS,
    UNAVAILABLE,
    UNSUPPORTED_MEDIA_TYPE,
    ErrorType,
)
from comptoir.metadata.openapi_schemas import ERROR, reference
from comptoir.profiles.record import Profile, ResponseOverride

Kind = Literal["read", "page", "write"]
"""The kind of an operation: it reads, reads a page, or writes."""

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

_IN_ONE_GROUP: Mapping[str, str] = MappingProxyType(
    {
        INVALID_CREDENTIALS.code: "BAD_CREDENTIALS",
        RECORD_NOT_FOUND.code: "NO_RECORD",
        PRECONDITION_REQUIRED.code: "NO_TAG",
    }
)
"""Errors that do not occur under a profile with an override of their only group."""

_RETRY = ("Retry-After", "The seconds to wait.", "integer")
_HEADERS: Mapping[int, tuple[str, str, str]] = MappingProxyType(
    {
        INVALID_CREDENTIALS.status: ("WWW-Authenticate", "The challenge (RFC 6750).", "string"),
        METHOD_NOT_ALLOWED.status: ("Allow", "The allowed methods.", "string"),
        TOO_MANY_REQUESTS.status: _RETRY,
        UNAVAILABLE.status: _RETRY,
    }
)


@dataclass(frozen=True, slots=True)
class _Row:
    """An error as a client meets it; `text` says when."""

    status: int
    code: str
    text: str


class ErrorResponses:
    """The error responses of the operations, which share them."""

    def __init__(self, profile: Profile) -> None:
        self._rows = list(_rows(profile))
        found = {each.status for each in self._rows}
        reads = found - _WRITE_ONLY - _LINK_ONLY - _UNDOCUMENTED_METHODS
        self._statuses: Mapping[Kind, set[int]] = {
            "read": reads,
            "page": reads | (_LINK_ONLY & found),
            "write": reads | (_WRITE_ONLY & found),
        }

    def references(self, kind: Kind) -> Mapping[str, JsonSchema]:
        """References to the responses of operations of a kind."""
        return {
            str(status): {"$ref": f"#/components/responses/refused-{status}"}
            for status in sorted(self._statuses[kind])
        }

    def shared(self) -> Mapping[str, JsonSchema]:
        """The responses by name, each with its codes and their meanings."""

        def status(each: _Row) -> int:
            return each.status

        by_status = groupby(sorted(self._rows, key=status), key=status)
        return {f"refused-{number}": _response(number, list(rows)) for number, rows in by_status}


def _rows(profile: Profile) -> Iterator[_Row]:
    """The errors of the service that occur under a profile, and then its verdicts in JSON."""
    for each in ERROR_TABLE:
        if _occurs(each, profile):
            override = profile.codes.get(each.code)
            shown: ErrorType | ResponseOverride = each if override is None else override
            yield _Row(shown.status, shown.code, f"{each.meaning} {each.remedy}")
    for override in profile.errors.values():
        if override.media == "json":
            yield _Row(override.status, override.code, override.message)


def _occurs(error: ErrorType, profile: Profile) -> bool:
    if error is LINK_EXPIRED:
        return profile.queries.tracks_changes
    if error is ISOLATION_NOT_SUPPORTED:
        return not profile.batches.snapshot
    if error is ENTITY_CHANGED:
        return profile.writes.if_none_match or "STALE_TAG" not in profile.errors
    return _IN_ONE_GROUP.get(error.code) not in profile.errors


def _response(status: int, rows: list[_Row]) -> JsonSchema:
    codes = {"properties": {"code": {"enum": list(dict.fromkeys(each.code for each in rows))}}}
    schema = {"allOf": [reference(ERROR), {"properties": {"error": codes}}]}
    description = "\n".join(f"- `{each.code}`: {each.text}" for each in rows)
    response = {"description": description, "content": {"application/json": {"schema": schema}}}
    if status not in _HEADERS:
        return response
    name, meaning, json_type = _HEADERS[status]
    return {**response, "headers": {name: {"description": meaning, "schema": {"type": json_type}}}}
