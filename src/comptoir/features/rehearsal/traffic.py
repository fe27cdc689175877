"""Watches the requests to a rehearsal, and notes the traps that clients have met."""

from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from types import MappingProxyType

import msgspec

from comptoir.edm.model import Model
from comptoir.edm.times import Clock, instant
from comptoir.errors.table import (
    ENTITY_CHANGED,
    INVALID_CREDENTIALS,
    LINK_EXPIRED,
    PRECONDITION_REQUIRED,
    TOO_MANY_REQUESTS,
)
from comptoir.features.rehearsal.effects import APPLICABLE, DATE_SECONDS, Firing
from comptoir.features.rehearsal.faults import Fault
from comptoir.features.rehearsal.traps import Trap, TrapLine, TrapTally, TrapTarget
from comptoir.http.exchange import Exchange, Refused
from comptoir.http.feature import Observer
from comptoir.jsonvalue import Json
from comptoir.request.headers import Headers
from comptoir.response.response import Pieces, Response
from comptoir.service import Request

MOST_BODY_BYTES = 64 << 10
"""Bytes of a body that is kept; a longer one is left out."""

MOST_REQUESTS = 1_000
"""The most requests that are kept; the oldest is forgotten."""

_LONGEST = 2_000
"""Characters of a path or a header that are kept."""

_OF_FAULT: Mapping[str, Trap] = MappingProxyType(
    {
        "throttle": Trap.THROTTLING,
        "reset": Trap.LOST_ANSWER,
        "stale-read": Trap.STALE_READ,
        "lock": Trap.LOCK,
        "link-expired": Trap.EXPIRED_LINK,
        "token-expired": Trap.EXPIRED_TOKEN,
        "batch-rollback": Trap.BATCH_ROLLED_BACK,
    }
)
_PRIVATE = frozenset({"authorization", "cookie", "proxy-authorization", "clientstate"})
"""Headers, and members of bodies, that contain secrets; in lower case."""
_NEXT_LINK = b'"@odata.nextLink"'

_OF_CODE: Mapping[str, Trap] = MappingProxyType(
    {
        PRECONDITION_REQUIRED.code: Trap.MISSING_TAG,
        ENTITY_CHANGED.code: Trap.STALE_TAG,
        TOO_MANY_REQUESTS.code: Trap.THROTTLING,
        LINK_EXPIRED.code: Trap.EXPIRED_LINK,
        INVALID_CREDENTIALS.code: Trap.EXPIRED_TOKEN,
    }
)
_OF_GROUP: Mapping[str, Trap] = MappingProxyType(
    {
        "LINK_GONE": Trap.EXPIRED_LINK,
        "LOCKED": Trap.LOCK,
        "ALTERNATIVES": Trap.REFUSED_OR,
        "TOO_LONG": Trap.REFUSED_VALUE,
        "NO_OPTION": Trap.REFUSED_VALUE,
        "WRONG_TYPE": Trap.REFUSED_VALUE,
        "NULL_VALUE": Trap.REFUSED_VALUE,
        "NO_VALUE": Trap.REFUSED_VALUE,
    }
)


class Sent(msgspec.Struct, rename="camel"):
    """A request as a client has sent it; `body` is null unless it is JSON.

    Neither tokens nor secret properties are in it. `company` is that of `Firing`, and `fault` names
    the rules that have acted on it.
    """

    at: str
    request: str
    client: str
    method: str
    path: str
    company: str = ""
    query: str = ""
    headers: Mapping[str, str] = {}
    body: msgspec.Raw = msgspec.Raw(b"null")
    status: int = 0
    fault: str = ""


class _Underway(msgspec.Struct):
    """A request until its end, with the faults that it has met."""

    sent: Sent
    met: list[tuple[Fault, Firing]] = []
    is_noted: bool = False


class Traffic(Observer):
    """What clients have sent, and the traps that they have met; for one event loop only."""

    def __init__(self, model: Model, clock: Clock) -> None:
        self._clock = clock
        self.forget()
        self._secrets = _PRIVATE.union(
            [
                each.name.lower()
                for held in model.sets
                for each in held.type.properties
                if each.secret
            ]
        )
        self._underway: dict[str, _Underway] = {}

    def note_request(self, request: Request, exchange: Exchange, company: str) -> None:
        """Note the request of an exchange; those of a batch are parts of its body.

        `company` is the id of the company that the request is about, empty without one.
        """
        if exchange.id in self._underway:
            return
        underway = _Underway(_sent(exchange))
        underway.sent.company, underway.sent.query = company, request.query
        underway.sent.headers = _shown(request.headers)
        self._underway[exchange.id] = underway
        self._tally.ask(_address(exchange), self._clock())
        request.read_body = self._kept(request.read_body, underway.sent)

    def meet(self, exchange: Exchange, fault: Fault, firing: Firing) -> None:
        """Note a fault that acts on an exchange."""
        self._underway[exchange.id].met.append((fault, firing))

    def deliver(self, fault: Fault, firing: Firing) -> None:
        """Note a fault that a delivery has met."""
        address = TrapTarget(firing.client, firing.method, firing.path)
        for trap in traps_of(fault):
            self._tally.meet(trap, address, self._clock(), by_fault=True)

    def respond(self, exchange: Exchange, response: Response | None) -> None:
        """Note the end of a request before its client knows of it and sends the next one.

        None is the end of its connection.
        """
        if response is None:
            self._note(exchange, exchange.status)
            return
        has_next_link = isinstance(response.body, bytes) and _NEXT_LINK in response.body
        self._note(exchange, response.status, has_next_link=has_next_link)
        if not isinstance(response.body, bytes):
            response.body = self._watched(response.body, exchange)

    def end(self, exchange: Exchange) -> None:
        """Note the end of an exchange, unless that is done."""
        self._note(exchange, exchange.status)
        self._underway.pop(exchange.id, None)

    def _note(self, exchange: Exchange, status: int, *, has_next_link: bool = False) -> None:
        underway = self._underway.get(exchange.id)
        if underway is None:
            if not exchange.refused:
                # a page, or the control endpoint
                return
            underway = self._underway[exchange.id] = _Underway(_sent(exchange))
        if underway.is_noted:
            return
        underway.is_noted = True
        underway.sent.status, underway.sent.fault = status, exchange.fault
        faults = [fault for fault, firing in underway.met if firing.outcome == APPLICABLE]
        by_fault = {trap: _seconds(fault) for fault in faults for trap in traps_of(fault)}
        address, now = _address(exchange), self._clock()
        if status < 400 and not exchange.refused and not by_fault:
            self._tally.succeed(address)
            # who the client is was not known when its token was refused
            self._tally.succeed(msgspec.structs.replace(address, client=""))
        for trap, wait in by_fault.items():
            self._tally.meet(trap, address, now, by_fault=True, wait=wait)
        for refused in exchange.refused:
            known = _trap_of(refused)
            if known is not None and known not in by_fault:
                self._tally.meet(known, address, now, by_fault=False, wait=refused.wait)
        if has_next_link:
            self._meet_page(address)
        self._requests.append(underway.sent)

    def _meet_page(self, address: TrapTarget) -> None:
        self._tally.meet(Trap.PAGE_LIMIT, address, self._clock(), by_fault=False)

    async def _watched(self, body: Pieces, exchange: Exchange) -> Pieces:
        async with aclosing(body):
            async for piece in body:
                if _NEXT_LINK in piece:
                    self._meet_page(_address(exchange))
                yield piece

    def forget(self) -> None:
        """Forget the requests that have ended, and the traps."""
        self._requests: deque[Sent] = deque(maxlen=MOST_REQUESTS)
        self._tally = TrapTally()

    def requests(self) -> Sequence[Sent]:
        """The last requests that have ended."""
        return list(self._requests)

    def report(self) -> Mapping[str, Sequence[TrapLine]]:
        """A line for each trap, by client."""
        return self._tally.report()

    def _kept(
        self, read_body: Callable[[], Awaitable[bytes]], sent: Sent
    ) -> Callable[[], Awaitable[bytes]]:
        async def read() -> bytes:
            body = await read_body()
            if len(body) <= MOST_BODY_BYTES:
                with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                    public = self._public(msgspec.json.decode(body))
                    sent.body = msgspec.Raw(msgspec.json.encode(public))
            return body

        return read

    def _public(self, value: Json) -> Json:
        """JSON without the secret properties."""
        if isinstance(value, list):
            return [self._public(each) for each in value]
        if isinstance(value, dict):
            return {
                name: self._public(each)
                for name, each in value.items()
                # also those that a client has misspelled
                if name.lower() not in self._secrets
            }
        return value


def traps_of(fault: Fault) -> Iterator[Trap]:
    """The traps into which a fault leads a client."""
    parameters = fault.parameters
    if fault.name in _OF_FAULT:
        yield _OF_FAULT[fault.name]
    if parameters.get("kind") in ("html", "502", "xml") or parameters.get("status") == "504":
        yield Trap.GATEWAY_PAGE
    if fault.window:
        yield Trap.UPDATE_WINDOW
    if parameters.get("mode") == "duplicate":
        yield Trap.REPEATED_NOTIFICATION
    if fault.name == "timeout" and parameters["phase"] == "after":
        yield Trap.LOST_ANSWER


def _trap_of(refused: Refused) -> Trap | None:
    return _OF_GROUP.get(refused.group) or _OF_CODE.get(refused.code)


def _seconds(fault: Fault) -> float:
    """The seconds in the `Retry-After` of a fault."""
    wish = fault.parameters.get("retry-after", 0)
    if wish == "date":
        return DATE_SECONDS
    return 0.0 if wish == "none" else float(wish)


def _sent(exchange: Exchange) -> Sent:
    at = instant(datetime.now(UTC))
    return Sent(at, exchange.id, exchange.subject, exchange.method[:20], exchange.path[:_LONGEST])


def _address(exchange: Exchange) -> TrapTarget:
    return TrapTarget(exchange.subject, exchange.method, exchange.path)


def _shown(headers: Headers) -> Mapping[str, str]:
    shown = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers.items()}
    return {name: value[:_LONGEST] for name, value in shown.items() if name not in _PRIVATE}
