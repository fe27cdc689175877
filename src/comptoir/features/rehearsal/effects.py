"""The effects of faults: what a request gets instead of its response, and changed responses."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from email.utils import formatdate
from types import MappingProxyType

import msgspec

from comptoir.auth import Principal, Scope
from comptoir.auth.verification import invalid_token
from comptoir.edm.model import EntitySet, Property
from comptoir.edm.types import Text
from comptoir.errors.refusal import (
    Refusal,
    refuse,
)
from comptoir.errors.table import Check
from comptoir.features.rehearsal import errors
from comptoir.features.rehearsal.faults import Fault
from comptoir.features.rehearsal.rules import Rule
from comptoir.http.compression import IDENTITY
from comptoir.http.exchange import ConnectionCutError, Exchange
from comptoir.plan.target import Target, right_for
from comptoir.request.headers import Headers
from comptoir.response.response import Pieces, Response
from comptoir.service import Request, Service
from comptoir.store.pinned_reads import StaleReads

DATE_SECONDS = 30
"""The seconds from now to a date in `Retry-After`."""

_ONE_SECOND: Mapping[str, str] = MappingProxyType({"Retry-After": "1"})

_DRIP_BYTES = 64
_DRIPS = 1_000
"""The most pieces of a response that drips."""

_HTML = b"text/html; charset=us-ascii"
_XML = b"application/xml"

_GATEWAY_PAGES: Mapping[int, str] = MappingProxyType(
    {502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout"}
)
_GATEWAY_TEXTS: Mapping[int, str] = MappingProxyType(
    {
        502: "HTTP Error 502. The gateway received an invalid response.",
        503: "HTTP Error 503. The service is unavailable.",
        504: "HTTP Error 504. The gateway received no response in time.",
    }
)
_XML_ERROR = (
    b'<?xml version="1.0" encoding="utf-8"?>'
    b'<error xmlns="http://docs.oasis-open.org/odata/ns/metadata"><code>Unknown</code>'
    b"<message>An error occurred while processing the request.</message></error>"
)
_EMPTY_ERROR = b'{"error":{"code":"Unknown","message":""}}'

APPLIED = "Comptoir-Fault-Applied"
"""The header with the id of the rule that has acted on a request."""

_JOB = Principal("fault:touch", frozenset({Scope.RECORDS_READ, Scope.RECORDS_WRITE}), None)
"""The one who changes a record that a client has read."""

_SHORT = 10
"""Characters that the text of each property may have."""

_PAGE = dict[str, msgspec.Raw]
_RECORDS = list[msgspec.Raw]

Perform = Callable[[], Awaitable[Response]]

APPLICABLE = "applied"
NOT_APPLICABLE = "not applicable"
"""The outcomes of a rule that acts on a request."""


class Firing(msgspec.Struct, rename="camel"):
    """An entry of the log: a rule has acted on a request, the `count`-th that it has counted.

    For a delivery, `request` is the id of the subscription. `company` is the id of the company that
    the request is about, empty for a batch and whatever is about several or none. `outcome` is
    `applied`, or `not applicable` where the fault had nothing to change.
    """

    number: int
    at: str
    rule: str
    fault: str
    count: int
    client: str
    request: str
    method: str
    path: str
    company: str
    outcome: str = APPLICABLE


class Met(msgspec.Struct, frozen=True):
    """A rule that acts on a request of an exchange.

    `target` is what the request addresses, None if that is not of an entity set. `previous` is the
    query of the page before the requested one, and `firing` the entry of the log.
    """

    rule: Rule
    exchange: Exchange
    request: Request
    target: Target | None
    service: Service
    views: StaleReads
    previous: str
    firing: Firing

    def note_nothing(self) -> None:
        """Note that the fault could not act on the request."""
        self.firing.outcome = NOT_APPLICABLE

    @property
    def fault(self) -> Fault:
        """The fault that the request meets."""
        return self.rule.fault

    @property
    def entity_set(self) -> str:
        """The name of the entity set."""
        return "" if self.target is None else self.target.entity_set.name


def _retry_after(fault: Fault) -> Mapping[str, str]:
    wish = fault.parameters.get("retry-after")
    if wish is None:
        return _ONE_SECOND
    if wish == "none":
        return {}
    # a profile leaves out a header that it names `Retry-After`, but not one that a rule asks for
    if wish == "date":
        return {"retry-after": formatdate(time.time() + DATE_SECONDS, usegmt=True)}
    return {"retry-after": str(wish)}


def _throttled(met: Met) -> Refusal:
    headers = _retry_after(met.fault)
    return refuse(errors.THROTTLED, headers=headers, actual=101, limit=100)


def _locked(met: Met) -> Refusal:
    table = "" if met.target is None else met.target.entity_set.type.caption
    return refuse(errors.LOCKED, set=met.entity_set, table=table)


def _link_expired(_: Met) -> Refusal:
    return refuse(errors.LINK_GONE)


def _token_expired(met: Met) -> Refusal:
    if met.fault.parameters["by"] == "gateway":
        return invalid_token(errors.GATEWAY)
    return invalid_token(errors.TOKEN_EXPIRED)


def _rights_lost(met: Met) -> Refusal:
    right = right_for(met.request.method, met.request.headers, upserts=False).name.capitalize()
    table = "" if met.target is None else met.target.entity_set.type.table
    return refuse(errors.RIGHT_LOST, set=met.entity_set, right=right, table=table)


def _vanished(met: Met) -> Refusal:
    root, path = met.request.root, met.request.path
    refusal = refuse(errors.VANISHED, set=met.entity_set)
    return refusal.grouped(root.unknown, segment=met.entity_set, url=root.address(path))


REFUSED: Mapping[str, Callable[[Met], Refusal]] = MappingProxyType(
    {
        "throttle": _throttled,
        "lock": _locked,
        "link-expired": _link_expired,
        "token-expired": _token_expired,
        "rights-lost": _rights_lost,
        "vanish": _vanished,
    }
)
"""The faults that refuse a request as the service itself would."""


def away(met: Met) -> Refusal:
    """503 of the service itself."""
    return refuse(errors.AWAY, headers=_retry_after(met.fault))


async def _away(met: Met, _: Perform) -> Response:
    kind = met.fault.parameters["kind"]
    if kind == "json":
        raise away(met)
    return _gateway_page(502 if kind == "502" else 503, _retry_after(met.fault))


async def _slow(met: Met, perform: Perform) -> Response:
    seconds = float(met.fault.parameters["seconds"])
    if met.fault.parameters["kind"] == "first-byte":
        await asyncio.sleep(seconds)
        return await perform()
    response = await perform()
    # compression would gather the pieces
    met.exchange.coding = IDENTITY
    response.body = _dripping(await _whole(response), seconds)
    return response


async def _timeout(met: Met, perform: Perform) -> Response:
    parameters = met.fault.parameters
    if parameters["phase"] == "after":
        await _performed(perform)
    await asyncio.sleep(float(parameters["seconds"]))
    if parameters["status"] == "504":
        return _gateway_page(504, {})
    raise refuse(errors.UNFINISHED)


async def _reset(met: Met, perform: Perform) -> Response:
    phase = met.fault.parameters["phase"]
    if phase == "body":
        response = await perform()
        # a compressed body would have another length
        met.exchange.coding = IDENTITY
        body = await _whole(response)
        if body and met.exchange.method != "HEAD":
            response.body = _cut(body[: int(met.fault.parameters["bytes"])])
            return response
    if phase == "after":
        await _performed(perform)
    raise ConnectionCutError


async def _body(met: Met, perform: Perform) -> Response:
    kind = met.fault.parameters["kind"]
    if kind == "xml":
        return Response(500, [(b"content-type", _XML)], _XML_ERROR)
    if kind == "empty":
        return Response(500, [(b"content-type", b"application/json")], _EMPTY_ERROR)
    response = await perform()
    body = await _whole(response)
    response.body = body[: len(body) // 2]
    return response


async def _touch(met: Met, perform: Perform) -> Response:
    response = await perform()
    if response.status in (200, 304) and met.target is not None:
        try:
            await _change(met, met.target.entity_set)
        except Refusal:
            met.note_nothing()
    return response


async def _change(met: Met, entity_set: EntitySet) -> None:
    """Change a text of the record that a request has read, as a background job does."""
    wanted = met.fault.parameters.get("field")
    names = touchable(entity_set)
    name = next((each for each in names if wanted in (None, each)), None)
    if name is None:
        met.note_nothing()
        return
    read = _by_job(met.request, "GET", f"$select={name}", {}, b"")
    found = await _whole(await met.service.handle(read))
    value = msgspec.json.decode(found, type=dict[str, object])[name]
    body = msgspec.json.encode({name: _other(str(value))})
    sent = {b"if-match": b"*", b"content-type": b"application/json"}
    await _discard(await met.service.handle(_by_job(met.request, "PATCH", "", sent, body)))


def touchable(entity_set: EntitySet) -> Sequence[str]:
    """The properties that `touch` can change."""
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
    )


def _other(text: str) -> str:
    """A text of about the same length."""
    if text.endswith("."):
        return text[:-1]
    return f"{text}." if len(text) < _SHORT else f"{text[:-1]}."


def _by_job(request: Request, method: str, query: str, headers: Headers, body: bytes) -> Request:
    async def read_body() -> bytes:
        return body

    return Request(
        method=method,
        root=request.root,
        path=request.path,
        query=query,
        headers=headers,
        principal=_JOB,
        read_body=read_body,
        while_connected=request.while_connected,
    )


async def _stale_read(met: Met, perform: Perform) -> Response:
    parameters, request = met.fault.parameters, met.request
    intent = None if request.access is None else request.access.intent
    company_id = "" if met.target is None else met.target.company_id or ""
    seconds = parameters.get("seconds")
    view = met.views.of(company_id, None if seconds is None else float(seconds))
    if view is None or (parameters["reads"] == "readonly" and intent != "readonly"):
        met.note_nothing()
        return await perform()
    async with view.reads() as request.reads:
        response = await perform()
        response.body = await _whole(response)
    return response


async def _page_shift(met: Met, perform: Perform) -> Response:
    response = await perform()
    number = int(met.fault.parameters["n"])
    page = msgspec.json.decode(await _whole(response), type=_PAGE)
    listed = msgspec.json.decode(page["value"], type=_RECORDS)
    if number > 0:
        earlier = msgspec.structs.replace(met.request, query=met.previous)
        before = msgspec.json.decode(await _whole(await met.service.handle(earlier)), type=_PAGE)
        listed = msgspec.json.decode(before["value"], type=_RECORDS)[-number:] + listed
    else:
        listed = listed[-number:]
    page["value"] = msgspec.Raw(msgspec.json.encode(listed))
    response.body = msgspec.json.encode(page)
    return response


CHANGED: Mapping[str, Callable[[Met, Perform], Awaitable[Response]]] = MappingProxyType(
    {
        "away": _away,
        "slow": _slow,
        "timeout": _timeout,
        "reset": _reset,
        "body": _body,
        "touch": _touch,
        "page-shift": _page_shift,
        "stale-read": _stale_read,
    }
)
"""The faults that replace a response, or change that of the request, which they perform."""


async def acted(met: Met, perform: Perform) -> Response:
    """The response that a fault makes of a request; raises `Refusal` if it has that form."""
    name = met.fault.name
    if name in REFUSED:
        raise refused(met)
    try:
        response = await CHANGED[name](met, perform)
    except Refusal as refusal:
        raise marked(refusal, met.rule) from None
    response.headers.append((APPLIED.lower().encode(), met.rule.id.encode()))
    return response


def refused(met: Met) -> Refusal:
    """The refusal by a fault of `REFUSED`."""
    return marked(REFUSED[met.fault.name](met), met.rule)


def rolled_back(rule: Rule) -> Refusal:
    """The refusal of a request of a batch, which undoes the requests before it."""
    return marked(refuse(errors.UNDONE), rule)


def marked(refusal: Refusal, rule: Rule) -> Refusal:
    """A refusal with the header that names the rule."""
    refusal.headers = {**refusal.headers, APPLIED: rule.id}
    refusal.check = Check.FAULT
    return refusal


def _gateway_page(status: int, headers: Mapping[str, str]) -> Response:
    """The page of a gateway, which has neither the form nor the media type of the service."""
    title, text = _GATEWAY_PAGES[status], _GATEWAY_TEXTS[status]
    page = f"<html><head><title>{title}</title></head><body><p>{text}</p></body></html>"
    sent = [(b"content-type", _HTML)]
    sent += [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    return Response(status, sent, page.encode())


async def _performed(perform: Perform) -> None:
    """Perform a request whose response is lost."""
    with suppress(Refusal):
        response = await perform()
        await _discard(response)


async def _discard(response: Response) -> None:
    if not isinstance(response.body, bytes):
        await response.body.aclose()


async def _whole(response: Response) -> bytes:
    """The whole body of a response."""
    if isinstance(response.body, bytes):
        return response.body
    return b"".join([piece async for piece in response.body])


async def _dripping(body: bytes, seconds: float) -> Pieces:
    size = max(_DRIP_BYTES, -(-len(body) // _DRIPS))
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    for piece in pieces:
        await asyncio.sleep(seconds / len(pieces))
        yield piece


async def _cut(body: bytes) -> AsyncGenerator[bytes, None]:
    """A body that ends with the connection."""
    yield body
    raise ConnectionCutError
