"""The faults, in the order of the reference, and of messages."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import suppress

import msgspec
from typing_extensions import override

from comptoir.auth.roles import Principal
from comptoir.auth.tokens import Scope
from comptoir.auth.verification import invalid_token
from comptoir.edm.model import Company, EntitySet
from comptoir.edm.types import Text
from comptoir.errors.refusal import Refusal
from comptoir.features.rehearsal import errors
from comptoir.features.rehearsal.entries import APPLIED, NOT_APPLICABLE, Trap
from comptoir.features.rehearsal.fault import (
    HEADER,
    AffectedRequest,
    Candidate,
    Fault,
    RetryAfter,
    Stage,
    gateway_page,
    has_changes,
    lose,
    parameter,
    retry_headers,
    retry_parameter,
    word,
)
from comptoir.features.rehearsal.pinned_reads import StaleReads
from comptoir.http.compression import IDENTITY
from comptoir.http.exchange import ConnectionCutError
from comptoir.outgoing import DeliveryFault, DeliveryMode
from comptoir.plan.target import right_for
from comptoir.request.headers import Headers
from comptoir.request.path import READ_METHODS, WRITE_METHODS
from comptoir.response.response import Pieces, Response, whole_body
from comptoir.store.store import Reads

_GET = frozenset({"GET"})


class Throttle(Fault):
    """429: the client has sent too many requests."""

    trap = Trap.THROTTLING
    retry_after: RetryAfter = retry_parameter()

    @override
    def refusal(self, affected: AffectedRequest) -> Refusal:
        return errors.THROTTLED(headers=retry_headers(self.retry_after), actual=101, limit=100)


class Away(Fault):
    """503 or 502: the service is away."""

    traps_with = (
        ("kind=html", Trap.GATEWAY_PAGE),
        ("kind=502", Trap.GATEWAY_PAGE),
        ("window=", Trap.UPDATE_WINDOW),
    )
    kind: str = word(
        "503 with a JSON body, 503 with the gateway's HTML page, or 502.", "json", "html", "502"
    )
    retry_after: RetryAfter = retry_parameter()
    window: int | None = parameter(
        "The seconds for which every request of every client gets this answer.", None, 1, 86_400
    )

    @override
    async def act(self, affected: AffectedRequest) -> Response:
        if self.kind == "json":
            raise self.unavailable()
        return gateway_page(502 if self.kind == "502" else 503, retry_headers(self.retry_after))


_DRIP_BYTES = 64
_DRIPS = 1_000
"""The most pieces of a response that drips."""


class Slow(Fault):
    """The answer comes late, or in small pieces."""

    seconds: float = parameter("How much longer the answer takes.", 5, 0.001, 600)
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

    traps_with = (("status=504", Trap.GATEWAY_PAGE), ("phase=after", Trap.LOST_ANSWER))
    status: str = word("The status.", "408", "504")
    phase: str = word("Whether a write is committed.", "before", "after")
    seconds: float = parameter("The time until the answer.", 0, 0.0, 600)

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
        "The most changes by which reads lag.", 1, 1, 1_000_000, only_with=("seconds", None)
    )
    seconds: float | None = parameter("The longest time by which reads lag.", None, 0.001, 60)
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
        async with view.used:
            request.reads = Reads(view.statements, view)
            response = await affected.perform()
            response.body = await whole_body(response)
        return response


_JOB = Principal("fault:touch", frozenset({Scope.RECORDS_READ, Scope.RECORDS_WRITE}), None)
"""The one who changes a record that a client has read."""

_SHORT = 10
"""Characters that the text of each property may have."""


class Touch(Fault):
    """A background job changes the record after it was read, so that its ETag is stale."""

    methods = _GET
    field: str | None = parameter("The property that changes; by default, the first text.", None)

    @override
    def check(self, sets: Sequence[EntitySet], place: str) -> None:
        if self.field is None or any(
            has_changes(each) and self.field in _touchable(each) for each in sets
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
            affected.firing.outcome = NOT_APPLICABLE
            with suppress(Refusal):
                await self._change(affected)
        return response

    async def _change(self, affected: AffectedRequest) -> None:
        """Change a text of the record that a request has read, as a background job does."""
        names = [
            each for each in _touchable(affected.target.entity_set) if self.field in (None, each)
        ]
        if not names:
            return
        name = names[0]
        read = await _by_job(affected, "GET", f"$select={name}", {}, b"")
        text = str(msgspec.json.decode(read, type=dict[str, object])[name])
        body = msgspec.json.encode({name: _other(text)})
        sent = {b"if-match": b"*", b"content-type": b"application/json"}
        await _by_job(affected, "PATCH", "", sent, body)
        affected.firing.outcome = APPLIED


def _touchable(entity_set: EntitySet) -> Sequence[str]:
    """The properties that `touch` can change: any text is valid for them in all records."""
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


async def _by_job(
    affected: AffectedRequest, method: str, query: str, headers: Headers, body: bytes
) -> bytes:
    """The body of the response to a job's request for the same address; raises `Refusal`."""

    async def read_body() -> bytes:
        return body

    plain = msgspec.structs.replace(affected.request, access=None, reads=None, principal=_JOB)
    request = msgspec.structs.replace(
        plain, method=method, query=query, headers=headers, read_body=read_body
    )
    return await whole_body(await affected.service.handle(request))


class Lock(Fault):
    """503: another session is updating records of the entity set."""

    trap = Trap.LOCK
    needs_set = True
    methods = WRITE_METHODS

    @override
    def refusal(self, affected: AffectedRequest) -> Refusal:
        entity_set = affected.target.entity_set
        return errors.LOCKED(set=entity_set.name, table=entity_set.type.caption)


class LinkExpired(Fault):
    """410: the link to a page is not valid any longer."""

    trap = Trap.EXPIRED_LINK
    methods = _GET
    page: int = parameter("The number of the page.", 2, 2, 1_000_000)

    @override
    def can_meet(self, asked: Candidate) -> bool:
        return asked.page == self.page

    @override
    def refusal(self, affected: AffectedRequest) -> Refusal:
        return errors.LINK_GONE()


class PageShift(Fault):
    """Records appear or vanish between two pages."""

    methods = _GET
    n: int = parameter(
        "The records that the next page repeats, or skips if negative.", 1, -100, 100
    )

    @override
    def can_meet(self, asked: Candidate) -> bool:
        return asked.page > 1

    @override
    async def act(self, affected: AffectedRequest) -> Response:
        response = await affected.perform()
        page, listed = await _page(response)
        if self.n > 0:
            earlier = msgspec.structs.replace(affected.request, query=affected.previous)
            _, before = await _page(await affected.service.handle(earlier))
            listed = before[-self.n :] + listed
        else:
            listed = listed[-self.n :]
        page["value"] = msgspec.Raw(msgspec.json.encode(listed))
        response.body = msgspec.json.encode(page)
        return response


async def _page(response: Response) -> tuple[dict[str, msgspec.Raw], list[msgspec.Raw]]:
    """The members of a page, and the records that it lists."""
    page = msgspec.json.decode(await whole_body(response), type=dict[str, msgspec.Raw])
    return page, msgspec.json.decode(page["value"], type=list[msgspec.Raw])


class TokenExpired(Fault):
    """401 until the client sends another token."""

    trap = Trap.EXPIRED_TOKEN
    ends_token = True
    by: str = word(
        "Who refuses the token: the service, or a gateway in front of it.", "service", "gateway"
    )

    @override
    def refusal(self, affected: AffectedRequest) -> Refusal:
        return invalid_token(errors.GATEWAY if self.by == "gateway" else errors.TOKEN_EXPIRED)


class RightsLost(Fault):
    """403: the client lacks a right on the entity set."""

    needs_set = True

    @override
    def refusal(self, affected: AffectedRequest) -> Refusal:
        request, entity_set = affected.request, affected.target.entity_set
        right = right_for(request.method, request.headers, upserts=False).name.capitalize()
        table = entity_set.type.table
        return errors.RIGHT_LOST(set=entity_set.name, right=right, table=table)


class Hook(Fault):
    """Notifications of a subscription come otherwise than expected."""

    stage = Stage.DELIVERY
    traps_with = (("mode=duplicate", Trap.REPEATED_NOTIFICATION),)
    mode: str = word(
        "They come twice, in the opposite order, later, or not at all; the subscription is "
        "deleted; or a single `collection` replaces them.",
        *DeliveryMode,
    )
    seconds: float | None = parameter(
        "The delay, by the clock of the profile.", 60, 0.001, 86_400, only_with=("mode", "delay")
    )

    @override
    def delivery(self, note: Callable[[], None]) -> DeliveryFault:
        return DeliveryFault(DeliveryMode(self.mode), self.seconds or 0, note)


class BatchRollback(Fault):
    """A batch with a snapshot fails: its answers say 201, and nothing is stored."""

    trap = Trap.BATCH_ROLLED_BACK
    stage = Stage.BATCH
    index: int = parameter("The number of the request that fails, from 0.", 0, 0, 999)

    @override
    def failing(self) -> tuple[int, Refusal]:
        return self.index, errors.UNDONE()


_XML_ERROR = (
    b'<?xml version="1.0" encoding="utf-8"?>'
    b'<error xmlns="http://docs.oasis-open.org/odata/ns/metadata"><code>Unknown</code>'
    b"<message>An error occurred while processing the request.</message></error>"
)
_EMPTY_ERROR = b'{"error":{"code":"Unknown","message":""}}'


class Body(Fault):
    """The body of the answer is not the expected JSON."""

    traps_with = (("kind=xml", Trap.GATEWAY_PAGE),)
    kind: str = word(
        "Truncated JSON, an error in XML, or 500 with an empty message.",
        "truncated",
        "xml",
        "empty",
    )

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


class Vanish(Fault):
    """404: the entity set is missing, as during an upgrade."""

    needs_set = True

    @override
    def refusal(self, affected: AffectedRequest) -> Refusal:
        root, name = affected.request.root, affected.target.entity_set.name
        url = root.address(affected.request.path)
        return errors.VANISHED(set=name).grouped(root.unknown, segment=name, url=url)


FAULTS: Mapping[str, type[Fault]] = {each.name: each for each in Fault.__subclasses__()}
"""All faults, by name."""

_LONGEST_FAULT = 400
"""Characters of a fault."""

_PARAMETER_FORM = "a name, = and a value after each semicolon, such as retry-after=2"


def parse_fault(text: str, place: str) -> Fault:
    """The fault in a text; raises `Refusal` (400) that names `place`, where the text is."""
    return parse_parts(text, place)[0]


def parse_parts(text: str, place: str, others: Sequence[str] = ()) -> tuple[Fault, dict[str, str]]:
    """A fault, and the values of those parameters in its text that `others` names.

    Raises `Refusal` (400) that names `place`, where the text is.
    """
    if len(text) > _LONGEST_FAULT:
        raise errors.LONG_FAULT(place, place=place, limit=_LONGEST_FAULT)
    fault, *parts = map(str.strip, text.split(";"))
    if fault not in FAULTS:
        faults = ", ".join(FAULTS)
        raise errors.UNKNOWN_FAULT(place, known=FAULTS, name=fault, place=place, faults=faults)
    known, texts = FAULTS[fault].parameters, dict[str, str]()
    for part in parts:
        name, _, value = map(str.strip, part.partition("="))
        if not (name and value):
            form_place = f"a parameter in {place}"
            raise errors.INVALID(place, value=part, place=form_place, wanted=_PARAMETER_FORM)
        if name in texts:
            raise errors.TWICE(place, what=name, place=place)
        if name not in (*known, *others):
            raise _unknown_parameter(f"{fault} in {place}", name, list(known), place)
        texts[name] = value
    rest = {each: texts.pop(each) for each in others if each in texts}
    return FAULTS[fault].written(texts, place), rest


def _unknown_parameter(owner: str, name: str, known: Sequence[str], place: str) -> Refusal:
    if name == "times":
        return errors.TIMES_IN_FAULT(place, known=known, owner=owner, name=name)
    if not known:
        return errors.NO_PARAMETERS(place, owner=owner, name=name)
    parameters = ", ".join(known)
    return errors.UNKNOWN_PARAMETER(
        place, known=known, owner=owner, name=name, parameters=parameters
    )
