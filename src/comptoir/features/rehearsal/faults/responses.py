"""The faults that act on a request or a notification: on its records, its response or its time."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence

import msgspec
from typing_extensions import override

from comptoir.auth.roles import Principal
from comptoir.auth.tokens import Scope
from comptoir.edm.model import Company, EntitySet, Property
from comptoir.edm.types import Text
from comptoir.errors.refusal import Refusal
from comptoir.features.rehearsal import errors
from comptoir.features.rehearsal.entries import NOT_APPLICABLE
from comptoir.features.rehearsal.faults.fault import (
    HEADER,
    AffectedRequest,
    Candidate,
    Fault,
    Stage,
    gateway_page,
    has_changes,
    lose,
    parameter,
    word,
)
from comptoir.features.rehearsal.pinned_reads import StaleReads
from comptoir.features.rehearsal.traps import Trap
from comptoir.http.compression import IDENTITY
from comptoir.http.exchange import ConnectionCutError
from comptoir.outgoing import DeliveryFault, DeliveryMode
from comptoir.request.headers import Headers
from comptoir.request.path import READ_METHODS
from comptoir.response.response import Pieces, Response, whole_body
from comptoir.service import Request

_DRIP_BYTES = 64
_DRIPS = 1_000
"""The most pieces of a response that drips."""

_PAGE = dict[str, msgspec.Raw]
_RECORDS = list[msgspec.Raw]

_XML_ERROR = (
    b'<?xml version="1.0" encoding="utf-8"?>'
    b'<error xmlns="http://docs.oasis-open.org/odata/ns/metadata"><code>Unknown</code>'
    b"<message>An error occurred while processing the request.</message></error>"
)
_EMPTY_ERROR = b'{"error":{"code":"Unknown","message":""}}'


_JOB = Principal("fault:touch", frozenset({Scope.RECORDS_READ, Scope.RECORDS_WRITE}), None)
"""The one who changes a record that a client has read."""

_SHORT = 10
"""Characters that the text of each property may have."""


class Slow(Fault):
    """The answer comes late, or in small pieces."""

    seconds: float = parameter("How much longer the answer takes.", 5, 0.001, 600, is_whole=False)
    kind: str = word("The first byte is late, or the body drips.", "first-byte", "drip")

    @override
    async def act(self, affected: AffectedRequest) -> Response:
        if self.kind == "first-byte":
            await asyncio.sleep(self.seconds)
            return await affected.perform()
        response = await affected.perform()
        # compression would gather the pieces
        affected.exchange.coding = IDENTITY
        response.body = self._dripping(await whole_body(response))
        return response

    async def _dripping(self, body: bytes) -> Pieces:
        size = max(_DRIP_BYTES, -(-len(body) // _DRIPS))
        pieces = [body[at : at + size] for at in range(0, len(body), size)]
        for piece in pieces:
            await asyncio.sleep(self.seconds / len(pieces))
            yield piece


class Timeout(Fault):
    """The request times out, before or after its commit."""

    status: str = word("The status.", "408", "504")
    phase: str = word("Whether a write is committed.", "before", "after")
    seconds: float = parameter("The time until the answer.", 0, 0, 600, is_whole=False)

    @override
    def traps(self) -> Sequence[Trap]:
        met = [Trap.GATEWAY_PAGE] if self.status == "504" else []
        return [*met, Trap.LOST_ANSWER] if self.phase == "after" else met

    @override
    async def act(self, affected: AffectedRequest) -> Response:
        if self.phase == "after":
            await lose(affected)
        await asyncio.sleep(self.seconds)
        if self.status == "504":
            return gateway_page(504)
        raise errors.UNFINISHED()


class Reset(Fault):
    """The connection is cut."""

    trap = Trap.LOST_ANSWER
    phase: str = word(
        "Before the request is run, after its commit, or within the body.",
        "before",
        "after",
        "body",
    )
    bytes: int | None = parameter(
        "The bytes of the body that still arrive.", 0, 0, 100_000_000, only_with=("phase", "body")
    )

    @override
    async def act(self, affected: AffectedRequest) -> Response:
        if self.phase == "body":
            response = await affected.perform()
            # a compressed body would have another length
            affected.exchange.coding = IDENTITY
            body = await whole_body(response)
            if body and affected.exchange.method != "HEAD":
                response.body = _cut(body[: self.bytes])
                return response
        if self.phase == "after":
            await lose(affected)
        raise ConnectionCutError


async def _cut(body: bytes) -> AsyncGenerator[bytes, None]:
    """A body that ends with the connection."""
    yield body
    raise ConnectionCutError


class StaleRead(Fault):
    """Reads show the state before the last writes, as from a replica that lags."""

    trap = Trap.STALE_READ
    needs_set = True
    methods = READ_METHODS
    remembers = True
    lag: int | None = parameter(
        "The most changes by which reads lag.", 1, 1, 1_000_000, never_with="seconds"
    )
    seconds: float | None = parameter(
        "The longest time by which reads lag.", None, 0.001, 60, is_whole=False
    )
    reads: str = word("All reads, or those with `Data-Access-Intent: ReadOnly`.", "all", "readonly")

    @override
    async def before_write(self, company: Company, views: StaleReads) -> None:
        await views.prepare(company, self.lag or 1, self.seconds)

    @override
    async def act(self, affected: AffectedRequest) -> Response:
        request = affected.request
        intent = None if request.access is None else request.access.intent
        view = affected.views.of(affected.target.company_id or "", self.seconds)
        if view is None or (self.reads == "readonly" and intent != "readonly"):
            affected.firing.outcome = NOT_APPLICABLE
            return await affected.perform()
        async with view.reads() as request.reads:
            response = await affected.perform()
            response.body = await whole_body(response)
        return response


class PageShift(Fault):
    """Records appear or vanish between two pages."""

    methods = frozenset({"GET"})
    n: int = parameter(
        "The records that the next page repeats, or skips if negative.", 1, -100, 100
    )

    @override
    def can_meet(self, asked: Candidate) -> bool:
        return asked.page > 1

    @override
    async def act(self, affected: AffectedRequest) -> Response:
        response = await affected.perform()
        page = msgspec.json.decode(await whole_body(response), type=_PAGE)
        listed = msgspec.json.decode(page["value"], type=_RECORDS)
        if self.n > 0:
            earlier = msgspec.structs.replace(affected.request, query=affected.previous)
            content = await whole_body(await affected.service.handle(earlier))
            before = msgspec.json.decode(content, type=_PAGE)
            listed = msgspec.json.decode(before["value"], type=_RECORDS)[-self.n :] + listed
        else:
            listed = listed[-self.n :]
        page["value"] = msgspec.Raw(msgspec.json.encode(listed))
        response.body = msgspec.json.encode(page)
        return response


class Body(Fault):
    """The body of the answer is not the expected JSON."""

    kind: str = word(
        "Truncated JSON, an error in XML, or 500 with an empty message.",
        "truncated",
        "xml",
        "empty",
    )

    @override
    def traps(self) -> Sequence[Trap]:
        return (Trap.GATEWAY_PAGE,) if self.kind == "xml" else ()

    @override
    async def act(self, affected: AffectedRequest) -> Response:
        if self.kind == "xml":
            return Response(500, [(b"content-type", b"application/xml")], _XML_ERROR)
        if self.kind == "empty":
            return Response(500, [(b"content-type", b"application/json")], _EMPTY_ERROR)
        response = await affected.perform()
        body = await whole_body(response)
        response.body = body[: len(body) // 2]
        return response


class Hook(Fault):
    """Notifications of a subscription come otherwise than expected."""

    stage = Stage.DELIVERY
    mode: str = word(
        "They come twice, in the opposite order, later, or not at all; the subscription is "
        "deleted; or a single `collection` replaces them.",
        *DeliveryMode,
    )
    seconds: float | None = parameter(
        "The delay, by the clock of the profile.",
        60,
        0.001,
        86_400,
        is_whole=False,
        only_with=("mode", "delay"),
    )

    @override
    def traps(self) -> Sequence[Trap]:
        return (Trap.REPEATED_NOTIFICATION,) if self.mode == DeliveryMode.DUPLICATE else ()

    @override
    def delivery(self, note: Callable[[], None]) -> DeliveryFault:
        return DeliveryFault(DeliveryMode(self.mode), self.seconds or 0, note)


class Touch(Fault):
    """A background job changes the record after it was read, so that its ETag is stale."""

    methods = frozenset({"GET"})
    field: str | None = parameter("The property that changes; by default, the first text.", None)

    @override
    def check(self, sets: Sequence[EntitySet], place: str) -> None:
        if self.field is None or any(
            has_changes(each) and self.field in touchable(each) for each in sets
        ):
            return
        owner = sets[0].name if len(sets) == 1 else "an entity set"
        raise errors.TOUCHED_FIELD(place, value=self.field, place=place, owner=owner)

    @override
    def check_header(self, principal: Principal) -> None:
        # it writes, and a header needs no right to set rules
        if not principal.may(Scope.RECORDS_WRITE) or principal.rights is not None:
            raise errors.TOUCH_DENIED(HEADER, scope=Scope.RECORDS_WRITE)

    @override
    def can_meet(self, asked: Candidate) -> bool:
        return asked.is_record

    @override
    async def act(self, affected: AffectedRequest) -> Response:
        response = await affected.perform()
        if response.status in (200, 304):
            try:
                await self._change(affected, affected.target.entity_set)
            except Refusal:
                affected.firing.outcome = NOT_APPLICABLE
        return response

    async def _change(self, affected: AffectedRequest, entity_set: EntitySet) -> None:
        """Change a text of the record that a request has read, as a background job does."""
        names = [each for each in touchable(entity_set) if self.field in (None, each)]
        if not names:
            affected.firing.outcome = NOT_APPLICABLE
            return
        name = names[0]
        handle = affected.service.handle
        read = _by_job(affected.request, "GET", f"$select={name}", {}, b"")
        found = msgspec.json.decode(await whole_body(await handle(read)), type=dict[str, object])
        body = msgspec.json.encode({name: _other(str(found[name]))})
        sent = {b"if-match": b"*", b"content-type": b"application/json"}
        await whole_body(await handle(_by_job(affected.request, "PATCH", "", sent, body)))


def touchable(entity_set: EntitySet) -> Sequence[str]:
    """The properties that the fault can change."""
    return [each.name for each in entity_set.type.properties if _is_plain(entity_set, each)]


def _is_plain(entity_set: EntitySet, each: Property) -> bool:
    """Whether any text is valid for a property of all records."""
    entity_type = entity_set.type
    identifying = {
        entity_type.key,
        *(name for rule in entity_type.unique for name in rule.properties),
    }
    return (
        type(each.type) is Text
        and each.name not in identifying
        and not (each.required or each.secret or each.suggested or each.is_unlimited)
        and not each.is_restricted
    )


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
