"""A background job changes the record after it was read, so that its ETag is stale."""

from collections.abc import Sequence
from contextlib import suppress

import msgspec
from typing_extensions import override

from comptoir.auth.roles import Principal
from comptoir.auth.tokens import Scope
from comptoir.edm.model import EntitySet
from comptoir.edm.types import Text
from comptoir.errors.refusal import Refusal
from comptoir.errors.table import BAD_REQUEST, REQUEST_DENIED
from comptoir.features.rehearsal.entries import APPLIED, NOT_APPLICABLE
from comptoir.features.rehearsal.faults.fault import (
    HEADER,
    AffectedRequest,
    Candidate,
    Fault,
    has_changes,
    parameter,
)
from comptoir.request.headers import Headers
from comptoir.response.response import Response, whole_body
from comptoir.service import Request

TOUCHED_FIELD = BAD_REQUEST.row(
    "Invalid value {value!q} for field in {place}",
    "Send the name of a text of {owner} that does not identify records.",
)
TOUCH_DENIED = REQUEST_DENIED.row(
    "touch in Comptoir-Fault needs the scope {scope}, and a client without roles", "Use a rule."
)

_JOB = Principal("fault:touch", frozenset({Scope.RECORDS_READ, Scope.RECORDS_WRITE}), None)
"""The one who changes a record that a client has read."""

_SHORT = 10
"""Characters that the text of each property may have."""


class _Touch(Fault):
    methods = frozenset({"GET"})
    field: str | None = parameter("The property that changes; by default, the first text.", None)

    @override
    def check(self, sets: Sequence[EntitySet], place: str) -> None:
        if self.field is None or any(
            has_changes(each) and self.field in touchable(each) for each in sets
        ):
            return
        owner = sets[0].name if len(sets) == 1 else "an entity set"
        raise TOUCHED_FIELD(place, value=self.field, place=place, owner=owner)

    @override
    def check_header(self, principal: Principal) -> None:
        # it writes, and a header needs no right to set rules
        if not principal.may(Scope.RECORDS_WRITE) or principal.rights is not None:
            raise TOUCH_DENIED(HEADER, scope=Scope.RECORDS_WRITE)

    @override
    def can_meet(self, asked: Candidate) -> bool:
        return asked.is_record

    @override
    async def act(self, affected: AffectedRequest) -> Response:
        response = await affected.perform()
        if response.status in (200, 304):
            affected.firing.outcome = NOT_APPLICABLE
            with suppress(Refusal):
                await self._change(affected, affected.target.entity_set)
        return response

    async def _change(self, affected: AffectedRequest, entity_set: EntitySet) -> None:
        """Change a text of the record that a request has read, as a background job does."""
        names = [each for each in touchable(entity_set) if self.field in (None, each)]
        if not names:
            return
        name = names[0]
        handle = affected.service.handle
        read = _by_job(affected.request, "GET", f"$select={name}", {}, b"")
        found = msgspec.json.decode(await whole_body(await handle(read)), type=dict[str, object])
        body = msgspec.json.encode({name: _other(str(found[name]))})
        sent = {b"if-match": b"*", b"content-type": b"application/json"}
        await whole_body(await handle(_by_job(affected.request, "PATCH", "", sent, body)))
        affected.firing.outcome = APPLIED


def touchable(entity_set: EntitySet) -> Sequence[str]:
    """The properties that the fault can change: any text is valid for them in all records."""
    entity_type = entity_set.type
    identifying = {name for rule in entity_type.unique for name in rule.properties}
    return [
        each.name
        for each in entity_type.properties
        if type(each.type) is Text
        and each.name not in (entity_type.key, *identifying)
        and not (each.required or each.secret or each.suggested or each.is_unlimited)
        and not each.is_restricted
    ]


def _other(text: str) -> str:
    """A text of about the same length."""
    if text.endswith("."):
        return text[:-1]
    return f"{text}." if len(text) < _SHORT else f"{text[:-1]}."


def _by_job(request: Request, method: str, query: str, headers: Headers, body: bytes) -> Request:
    async def read_body() -> bytes:
        return body

    plain = msgspec.structs.replace(request, access=None, reads=None, principal=_JOB)
    return msgspec.structs.replace(
        plain, method=method, query=query, headers=headers, read_body=read_body
    )
