"""The rights of a principal, judged for every entity set that a request names.

A client without the right to read an entity set learns nothing about its records: neither by a path
nor by a query option along a navigation property, since a condition on a record can be guessed by
asking often enough.
"""

from collections.abc import Mapping

from comptoir.auth import Right, Rights
from comptoir.edm.model import EntitySet
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import (
    Refusal,
    refuse,
)
from comptoir.plan.target import Target
from comptoir.request.headers import Headers, entity_tags

_RIGHT_OF: Mapping[str, Right] = {
    "GET": Right.READ,
    "HEAD": Right.READ,
    "POST": Right.INSERT,
    "PATCH": Right.MODIFY,
    "PUT": Right.MODIFY,
    "DELETE": Right.DELETE,
}

_DOING: Mapping[Right, str] = {
    Right.READ: "reading",
    Right.INSERT: "creating records in",
    Right.MODIFY: "changing records of",
    Right.DELETE: "deleting records of",
}

Readable = frozenset[str] | None
"""The names of the entity sets whose records a principal may read; None without roles."""


def right_for(method: str, headers: Headers, *, upserts: bool) -> Right:
    """The right that a method needs; if updates may be `upserts`, one with If-None-Match: *."""
    right = _RIGHT_OF[method]
    return Right.INSERT if right is Right.MODIFY and upserts and _creates(headers) else right


def authorize_target(target: Target, right: Right, rights: Rights) -> None:
    """Raise `Refusal` (403) unless the rights include one on the resource that a path names.

    A path along navigation properties needs the right to read each of its sets, whatever the
    method, because its response depends on their records.
    """
    if target.steps:
        for step in target.steps:
            check_readable(step.entity_set, rights.readable)
        check_readable(target.entity_set, rights.readable)
    check_right(target.entity_set, right, rights)


def may_read(entity_set: EntitySet, readable: Readable) -> bool:
    """Whether a principal may read the records of a set; the list of companies needs no right."""
    return readable is None or entity_set.name in readable or not entity_set.per_company


def check_readable(
    entity_set: EntitySet,
    readable: Readable,
    option: str | None = None,
    position: int | None = None,
) -> None:
    """Raise `Refusal` (403) unless a principal may read the records of a set.

    `option` names the set at this offset of its text.
    """
    if not may_read(entity_set, readable):
        raise _denied(entity_set, Right.READ, option, position)


def _creates(headers: Headers) -> bool:
    """Whether a PATCH or PUT creates the record."""
    tags = entity_tags(headers, b"if-none-match")
    return tags is not None and tags.any and entity_tags(headers, b"if-match") is None


def check_right(entity_set: EntitySet, right: Right, rights: Rights) -> None:
    """Raise `Refusal` (403) unless the rights include one on a set."""
    if entity_set.per_company and not rights.allow(right, entity_set.name):
        raise _denied(entity_set, right)


def _denied(
    entity_set: EntitySet, right: Right, option: str | None = None, position: int | None = None
) -> Refusal:
    return refuse(
        rows.RIGHT_MISSING,
        option,
        position,
        doing=_DOING[right],
        name=entity_set.name,
        right=right.name.capitalize(),
        table=entity_set.type.table,
    )
