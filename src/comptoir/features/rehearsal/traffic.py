"""Watches the requests to a rehearsal, and notes the traps that clients have met."""

from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from functools import partial

import msgspec
from starlette.types import Scope
from typing_extensions import override

from comptoir.edm.times import Clock, instant
from comptoir.errors import table
from comptoir.features.rehearsal.entries import NOT_APPLICABLE, Firing, Sent, Trap, TrapLine
from comptoir.features.rehearsal.fault import Fault
from comptoir.http.exchange import Exchange, Observer
from comptoir.http.redaction import Redactor
from comptoir.response.response import Pieces, Response
from comptoir.service import Request

MOST_BODY_BYTES = 64 << 10
"""Bytes of a body that is kept; a longer one is left out."""

MOST_REQUESTS = 1_000
"""The most requests that are kept; the oldest is forgotten."""

MOST_CLIENTS = 100
"""The most clients whose traps are counted; the one that was first seen is forgotten."""

MOST_OPEN = 500
"""The most requests of a client whose recovery is awaited; the oldest has not recovered."""

_LONGEST = 2_000
"""Characters of a path or a header that are kept."""

_NEXT_LINK = b'"@odata.nextLink"'


OF_SIGNS: Mapping[str, Trap] = {
    table.PRECONDITION_REQUIRED.code: Trap.MISSING_TAG,
    table.ENTITY_CHANGED.code: Trap.STALE_TAG,
    table.TOO_MANY_REQUESTS.code: Trap.THROTTLING,
    table.LINK_EXPIRED.code: Trap.EXPIRED_LINK,
    table.INVALID_CREDENTIALS.code: Trap.EXPIRED_TOKEN,
    "LINK_GONE": Trap.EXPIRED_LINK,
    "LOCKED": Trap.LOCK,
    "ALTERNATIVES": Trap.REFUSED_OR,
    **dict.fromkeys(
        ("TOO_LONG", "NO_OPTION", "WRONG_TYPE", "NULL_VALUE", "NO_VALUE"), Trap.REFUSED_VALUE
    ),
}
"""The trap that a refusal shows, by its group, else by the code of its error."""


class TrapTarget(msgspec.Struct, frozen=True):
    """The target of a client's request: a success there shows that it has recovered."""

    client: str
    method: str
    path: str


class _Party:
    """The traps that one client has met.

    `open` has the requests whose recovery is awaited, each with its traps and when it may be sent
    again. `lost` are the traps of those that are not awaited any longer.
    """

    def __init__(self) -> None:
        self.lines = {
            trap: TrapLine(trap, trap.meaning, trap.remedy, 0, 0, 0, None) for trap in Trap
        }
        self.open: dict[TrapTarget, dict[Trap, float]] = {}
        self.lost: set[Trap] = set()

    def report(self) -> Sequence[TrapLine]:
        awaited = self.lost.union(*self.open.values())
        for trap, line in self.lines.items():
            if line.met:
                seen = "yes" if trap.is_visible else "unknown"
                line.recovered = "no" if line.too_early or trap in awaited else seen
        return list(self.lines.values())


class Traffic:
    """The requests of clients, and the traps that they have met; for one event loop only."""

    def __init__(self, redactor: Redactor, clock: Clock) -> None:
        self._clock = clock
        self.redactor = redactor
        self.requests: deque[Sent] = deque(maxlen=MOST_REQUESTS)
        """The last requests that have ended."""
        self._parties: dict[str, _Party] = {}

    def forget(self) -> None:
        """Forget the requests that have ended, and the traps."""
        self.requests.clear()
        self._parties.clear()

    def observe(self, exchange: Exchange, _: Scope) -> Observer:
        """Watch an exchange that begins."""
        return Underway(self, exchange)

    def deliver(self, fault: Fault, firing: Firing) -> None:
        """Note a fault that a delivery has met."""
        address = TrapTarget(firing.client, firing.method, firing.path)
        for trap in fault.traps():
            self.meet(trap, address, by_fault=True)

    def meet(
        self, trap: Trap, address: TrapTarget, *, by_fault: bool = False, wait: float = 0.0
    ) -> None:
        """Count a trap; `wait` is the seconds in `Retry-After`."""
        party = self._parties.setdefault(address.client, _Party())
        if len(self._parties) > MOST_CLIENTS:
            del self._parties[next(iter(self._parties))]
        line = party.lines[trap]
        line.met += 1
        line.by_fault += by_fault
        if trap.is_visible:
            party.open.setdefault(address, {})[trap] = self._clock() + wait
        if len(party.open) > MOST_OPEN:
            party.lost.update(party.open.pop(next(iter(party.open))))

    def ask(self, address: TrapTarget) -> None:
        """Note that a request has arrived, before anything else is known about it."""
        party = self._parties.get(address.client)
        if party is not None:
            for trap, due in party.open.get(address, {}).items():
                party.lines[trap].too_early += self._clock() < due

    def succeed(self, address: TrapTarget) -> None:
        """Note that a request has got the answer that it asks for."""
        party = self._parties.get(address.client)
        if party is not None:
            party.open.pop(address, None)

    def report(self) -> Mapping[str, Sequence[TrapLine]]:
        """A line for each trap, also for those that were not met, by client."""
        return {client: party.report() for client, party in self._parties.items()}


class Underway(Observer):
    """A request until its end, with the faults that it has met.

    Of an exchange without an API's request or an error, such as a page, nothing is noted.
    """

    def __init__(self, traffic: Traffic, exchange: Exchange) -> None:
        self.met: list[tuple[Fault, Firing]] = []
        self._traffic = traffic
        self._exchange = exchange
        self._began = datetime.now(UTC)
        self._request: Request | None = None
        self._company = ""
        self._body: msgspec.Raw | None = None
        self._is_noted = False

    @classmethod
    def of(cls, exchange: Exchange) -> "Underway":
        """The observer of an exchange."""
        return next(each for each in exchange.observers if isinstance(each, cls))

    def begin(self, request: Request, company: str) -> None:
        """Note the request of the exchange; those of a batch are parts of its body.

        `company` is the id of the company that the request is about, empty without one.
        """
        if self._request is None:
            self._request, self._company = request, company
            self._traffic.ask(self._address)
            request.read_body = partial(self._read, request.read_body)

    @property
    def _address(self) -> TrapTarget:
        return TrapTarget(self._exchange.subject, self._exchange.method, self._exchange.path)

    async def _read(self, read_body: Callable[[], Awaitable[bytes]]) -> bytes:
        body = await read_body()
        if len(body) <= MOST_BODY_BYTES:
            shown = self._traffic.redactor.sent(body).text
            self._body = None if shown is None else msgspec.Raw(shown)
        return body

    @override
    def note_response(self, response: Response | None) -> None:
        """Note the end of a request before its client knows of it and sends the next one."""
        self._note(self._exchange.status if response is None else response.status)
        if response is None:
            return
        if not isinstance(response.body, bytes):
            response.body = self._watched(response.body)
        elif _NEXT_LINK in response.body:
            self._traffic.meet(Trap.PAGE_LIMIT, self._address)

    @override
    def end(self) -> None:
        self._note(self._exchange.status)

    def _note(self, status: int) -> None:
        """Note the end of the exchange, unless that is done."""
        exchange, traffic, address = self._exchange, self._traffic, self._address
        if self._is_noted or (self._request is None and not exchange.refused):
            return
        self._is_noted = True
        traffic.requests.append(self._sent(status))
        faults = [fault for fault, firing in self.met if firing.outcome != NOT_APPLICABLE]
        by_fault = {trap: fault.wait_seconds for fault in faults for trap in fault.traps()}
        if status < 400 and not exchange.refused and not by_fault:
            traffic.succeed(address)
            # who the client is was not known when its token was refused
            traffic.succeed(msgspec.structs.replace(address, client=""))
        for trap, wait in by_fault.items():
            traffic.meet(trap, address, by_fault=True, wait=wait)
        for refused in exchange.refused:
            known = OF_SIGNS.get(refused.group) or OF_SIGNS.get(refused.code)
            if known is not None and known not in by_fault:
                traffic.meet(known, address, wait=refused.wait)

    def _sent(self, status: int) -> Sent:
        exchange, request, redactor = self._exchange, self._request, self._traffic.redactor
        headers = () if request is None else map(redactor.header, request.headers.items())
        return Sent(
            at=instant(self._began),
            request=exchange.id,
            client=exchange.subject,
            method=exchange.method[:20],
            path=exchange.path[:_LONGEST],
            company=self._company,
            query="" if request is None else redactor.query(request.query),
            headers={name: value[:_LONGEST] for name, value in headers},
            body=self._body,
            status=status,
            fault=exchange.fault,
        )

    async def _watched(self, body: Pieces) -> Pieces:
        async with aclosing(body):
            async for piece in body:
                if _NEXT_LINK in piece:
                    self._traffic.meet(Trap.PAGE_LIMIT, self._address)
                yield piece
