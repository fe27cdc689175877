"""Watches the requests to a rehearsal, and notes the traps that clients have met."""

from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from functools import partial

import msgspec
from typing_extensions import override

from comptoir.edm.model import Model
from comptoir.edm.times import Clock, instant
from comptoir.features.rehearsal.entries import NOT_APPLICABLE, Firing, Sent, TrapLine
from comptoir.features.rehearsal.fault import Fault
from comptoir.features.rehearsal.traps import OF_SIGNS, Trap, TrapTally, TrapTarget
from comptoir.http.exchange import Exchange, Observer
from comptoir.http.redaction import Redactor
from comptoir.jsonvalue import Json
from comptoir.response.response import Pieces, Response
from comptoir.service import Request

MOST_BODY_BYTES = 64 << 10
"""Bytes of a body that is kept; a longer one is left out."""

MOST_REQUESTS = 1_000
"""The most requests that are kept; the oldest is forgotten."""

_LONGEST = 2_000
"""Characters of a path or a header that are kept."""

_NEXT_LINK = b'"@odata.nextLink"'


class _Underway(msgspec.Struct):
    """A request until its end, with the faults that it has met."""

    sent: Sent
    met: list[tuple[Fault, Firing]] = []
    is_noted: bool = False


class Traffic(Observer):
    """What clients have sent, and the traps that they have met; for one event loop only."""

    def __init__(self, model: Model, clock: Clock) -> None:
        self._clock = clock
        self._redactor = Redactor.of(model)
        self._underway: dict[str, _Underway] = {}
        self.forget()

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

    def note_request(self, request: Request, exchange: Exchange, company: str) -> None:
        """Note the request of an exchange; those of a batch are parts of its body.

        `company` is the id of the company that the request is about, empty without one.
        """
        if exchange.id in self._underway:
            return
        sent = _sent(exchange)
        sent.company, sent.query = company, self._redactor.query(request.query)
        shown = dict(map(self._redactor.header, request.headers.items()))
        sent.headers = {
            name: value[:_LONGEST]
            for name, value in shown.items()
            if not self._redactor.names_secret(name)
        }
        self._underway[exchange.id] = _Underway(sent)
        self._tally.ask(_address(exchange), self._clock())
        request.read_body = partial(self._read, request.read_body, sent)

    async def _read(self, read_body: Callable[[], Awaitable[bytes]], sent: Sent) -> bytes:
        body = await read_body()
        if len(body) <= MOST_BODY_BYTES:
            with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                public = self._public(msgspec.json.decode(body))
                sent.body = msgspec.Raw(msgspec.json.encode(public))
        return body

    def _public(self, value: Json) -> Json:
        """JSON without what may be secret by its name, also if a client has misspelled that."""
        if isinstance(value, list):
            return [self._public(each) for each in value]
        if isinstance(value, dict):
            return {
                name: self._public(each)
                for name, each in value.items()
                if not self._redactor.names_secret(name)
            }
        return value

    def meet(self, exchange: Exchange, fault: Fault, firing: Firing) -> None:
        """Note a fault that acts on an exchange."""
        self._underway[exchange.id].met.append((fault, firing))

    def deliver(self, fault: Fault, firing: Firing) -> None:
        """Note a fault that a delivery has met."""
        address = TrapTarget(firing.client, firing.method, firing.path)
        for trap in fault.traps():
            self._tally.meet(trap, address, self._clock(), by_fault=True)

    @override
    def respond(self, exchange: Exchange, response: Response | None) -> None:
        """Note the end of a request before its client knows of it and sends the next one."""
        if response is None:
            self._note(exchange, exchange.status)
            return
        self._note(exchange, response.status)
        if not isinstance(response.body, bytes):
            response.body = self._watched(response.body, exchange)
        elif _NEXT_LINK in response.body:
            self._meet_page(exchange)

    @override
    def end(self, exchange: Exchange) -> None:
        """Note the end of an exchange, unless that is done."""
        self._note(exchange, exchange.status)
        self._underway.pop(exchange.id, None)

    def _note(self, exchange: Exchange, status: int) -> None:
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
        self._requests.append(underway.sent)
        faults = [fault for fault, firing in underway.met if firing.outcome != NOT_APPLICABLE]
        by_fault = {trap: fault.wait_seconds for fault in faults for trap in fault.traps()}
        address, now = _address(exchange), self._clock()
        if status < 400 and not exchange.refused and not by_fault:
            self._tally.succeed(address)
            # who the client is was not known when its token was refused
            self._tally.succeed(msgspec.structs.replace(address, client=""))
        for trap, wait in by_fault.items():
            self._tally.meet(trap, address, now, by_fault=True, wait=wait)
        for refused in exchange.refused:
            known = OF_SIGNS.get(refused.group) or OF_SIGNS.get(refused.code)
            if known is not None and known not in by_fault:
                self._tally.meet(known, address, now, by_fault=False, wait=refused.wait)

    def _meet_page(self, exchange: Exchange) -> None:
        self._tally.meet(Trap.PAGE_LIMIT, _address(exchange), self._clock(), by_fault=False)

    async def _watched(self, body: Pieces, exchange: Exchange) -> Pieces:
        async with aclosing(body):
            async for piece in body:
                if _NEXT_LINK in piece:
                    self._meet_page(exchange)
                yield piece


def _sent(exchange: Exchange) -> Sent:
    return Sent(
        at=instant(datetime.now(UTC)),
        request=exchange.id,
        client=exchange.subject,
        method=exchange.method[:20],
        path=exchange.path[:_LONGEST],
    )


def _address(exchange: Exchange) -> TrapTarget:
    return TrapTarget(exchange.subject, exchange.method, exchange.path)
