"""A rehearsal: the requests and notifications that meet faults, and its control endpoint."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

import click
import msgspec
from starlette.requests import Request as PageRequest
from starlette.responses import Response as PageResponse
from starlette.routing import Route
from typing_extensions import override

from comptoir.auth.audit import Act, ActName, Actor
from comptoir.auth.authentication import Authenticator
from comptoir.auth.origins import is_loopback
from comptoir.auth.roles import Principal, require
from comptoir.auth.tokens import Scope
from comptoir.config import Settings, environment_name, load_settings, read_whole
from comptoir.edm.model import Model
from comptoir.errors import operator_rows
from comptoir.errors.refusal import Check, Refusal
from comptoir.features.rehearsal import RehearsalSettings, errors
from comptoir.features.rehearsal import errors as problems
from comptoir.features.rehearsal.documents import (
    LONGEST_DOCUMENT,
    MOST_RULES,
    parse_advance,
    parse_header,
    parse_rule,
    parse_rules,
)
from comptoir.features.rehearsal.entries import APPLIED, NOT_APPLICABLE, Firing, Sent
from comptoir.features.rehearsal.fault import (
    HEADER,
    AffectedRequest,
    Candidate,
    Fault,
    Stage,
    has_changes,
)
from comptoir.features.rehearsal.pinned_reads import LOOK_SECONDS, OLD_SECONDS, StaleReads
from comptoir.features.rehearsal.rules import Rule, RuleState, SeenPage, ShiftedClock
from comptoir.features.rehearsal.traffic import Traffic, Underway
from comptoir.http.exchange import Exchange, read_body
from comptoir.http.feature import Answer, AtomicWrites, Feature, Kernel, Notice
from comptoir.http.redaction import Redactor
from comptoir.outgoing import DeliveryFault
from comptoir.plan.target import Resource, Target, resolve
from comptoir.request.headers import combined
from comptoir.request.path import READ_METHODS, company_id_of, parse_path
from comptoir.response.response import Response
from comptoir.service import Request
from comptoir.store import baselines
from comptoir.store.jobs import Job, every

ACTED = "Comptoir-Fault-Applied"
"""The header with the id of the rule that has acted on a request."""

_LONGEST_DETAIL = 500
_RESET = "fault:reset"
"""The one who restores records."""

_WITHOUT_SET = (Resource.SERVICE, Resource.METADATA)

_log = logging.getLogger(__name__)


class Rehearsal(Feature):
    """Lets requests and notifications meet the faults of rules, on a clock that moves on demand.

    `resets` is how often it has returned to the mark; `clock_moved` is set when the clock moves.
    """

    clock: ShiftedClock
    screen = "comptoir.features.rehearsal.screen:SCREEN"

    def __init__(self, settings: Settings, model: Model) -> None:
        """Begin with the rules of the settings; raises `OperatorError` for wrong ones."""
        self.model = model
        self.settings = settings
        self.clock = self.monotonic = ShiftedClock()
        self.delivery_faults = self
        self.traffic = Traffic(Redactor.of(model), self.clock)
        self._state = RuleState(self._first_rules(), self.clock)
        self._mark: Sequence[baselines.CompanyMark] = ()
        self._changing = asyncio.Lock()
        self.resets = 0
        self.clock_moved = asyncio.Event()

    def _first_rules(self) -> Sequence[Rule]:
        path = self.settings.of(RehearsalSettings).fault_rules
        if not path:
            return ()
        content = read_whole(Path(path), errors.FILE_OF_RULES)
        try:
            return parse_rules(content, self.model.sets)
        except Refusal as refusal:
            raise operator_rows.AT_PLACE(place=path, error=refusal) from None

    @override
    @asynccontextmanager
    async def opened(self, kernel: Kernel) -> AsyncIterator[None]:
        self._kernel = kernel
        kernel.observers.append(self.traffic.observe)
        self._views = StaleReads(kernel.store, self.clock)
        try:
            await self._record(self.rules, Actor("service"))
        except Refusal as refusal:
            _log.warning("the audit log lacks the start with faults: %s", refusal)
        try:
            yield
        finally:
            await self._views.close()

    @override
    def check_start(self, config: str | None) -> None:
        """Raise `OperatorError` for faults by option or variable where others use the service."""
        addresses = filter(None, (self.settings.public_url, self.settings.listening_url))
        foreign = [each for each in addresses if not is_loopback(urlsplit(each).hostname or "")]
        file = config or os.environ.get(environment_name("config"))
        written = load_settings({"config": file}, {}) if foreign and file else Settings()
        if foreign and not written.of(RehearsalSettings).is_on:
            raise problems.FAULTS_FOR_OTHERS(address=foreign[0])

    @override
    def announce(self, *, is_quickstart: bool) -> None:
        click.secho(
            "WARNING: requests may meet faults on demand (--faults). GET "
            f"{urljoin(self.settings.base_url, '/readyz')} lists the rules.",
            fg="red",
            bold=True,
            err=True,
        )

    @override
    def routes(self, operator: Authenticator) -> Sequence[Route]:
        def route(
            path: str,
            act: Callable[[_Call], Awaitable[object]],
            *methods: str,
            of_all: bool = False,
            status: int = 200,
        ) -> Route:
            async def respond(request: PageRequest) -> PageResponse:
                exchange: Exchange = request.scope["exchange"]
                authorization = request.headers.get("authorization")
                sent = None if authorization is None else authorization.encode("latin-1")
                principal = await operator.authenticate(sent)
                exchange.subject = principal.subject
                require(principal, Scope.FAULTS)
                call = _Call(self, request, exchange, principal)
                if of_all:
                    call.check_all()
                content = await act(call)
                if content is None:
                    return PageResponse(status_code=204)
                encoded = msgspec.json.encode(content)
                return PageResponse(encoded, status, media_type="application/json")

            return Route(f"/faults{path}", respond, methods=list(methods))

        return [
            route("", _Call.rules, "GET", "PUT", "DELETE"),
            route("/rules", _Call.add, "POST", status=201),
            route("/rules/{id}", _Call.remove, "DELETE"),
            route("/log", _Call.log, "GET"),
            route("/requests", _Call.requests, "GET"),
            route("/report", _Call.report, "GET", of_all=True),
            route("/mark", _Call.mark, "POST", of_all=True),
            route("/reset", _Call.reset, "POST", of_all=True),
            route("/clock", _Call.clock, "POST", of_all=True),
        ]

    @override
    def notices(self) -> Sequence[Notice]:
        return [Notice(f"{each.id}: {each.fault.text}", each.ends_at) for each in self.rules]

    @override
    def conditions(self) -> Sequence[str]:
        rules = [f"faults: rule {each.id}: {each.fault.text}" for each in self.rules]
        return ["faults: on", *rules]

    @override
    def jobs(self) -> Iterable[Job]:
        return [every(LOOK_SECONDS, partial(self._views.close, OLD_SECONDS))]

    @property
    def rules(self) -> Sequence[Rule]:
        """The rules in force, in the order in which they are compared with a request."""
        return self._state.in_force()

    @property
    def firings(self) -> Sequence[Firing]:
        """The log of faults."""
        return self._state.firings

    async def replace(self, rules: Sequence[Rule], actor: Actor) -> None:
        """Replace the rules; all counts start again, and the tokens that were ended are valid.

        This and each other change is recorded before it is in force.
        """
        async with self._changing:
            await self._record(rules, actor)
            self._state.set_rules(rules)
            await self._views.close()

    async def add(self, body: bytes, actor: Actor, reaches: Callable[[str], bool]) -> Rule:
        """Add the rule of a document after the others, whose counts go on.

        Raises `Refusal` (400, 409; 403 for a company that the actor does not reach).
        """
        # the id and the record in the audit log depend on the rules before
        async with self._changing:
            rules = self.rules
            taken = {each.id for each in rules}
            names = map("rule-{}".format, count(len(rules)))
            name = next(each for each in names if each not in taken)
            rule = parse_rule(body, name, self.model.sets)
            if not reaches(rule.match.company):
                raise errors.OTHER_COMPANY("match.company")
            if len(rules) >= MOST_RULES:
                raise errors.MANY_RULES(limit=MOST_RULES)
            if rule.id in taken:
                raise errors.RULE_EXISTS("id", id=rule.id)
            await self._record((*rules, rule), actor)
            self._state.change_rules((*rules, rule))
        return rule

    async def remove(self, rule_id: str, actor: Actor, reaches: Callable[[str], bool]) -> None:
        """Remove a rule; raises `Refusal` (404) if the actor reaches none with this id."""
        async with self._changing:
            rules = self.rules
            left = [each for each in rules if each.id != rule_id or not reaches(each.match.company)]
            if len(left) == len(rules):
                raise errors.UNKNOWN_RULE(id=rule_id)
            await self._record(left, actor)
            self._state.change_rules(left)

    async def _record(self, rules: Sequence[Rule], actor: Actor) -> None:
        """Record a change of the rules in the audit log."""
        listed = " ".join([each.id for each in rules]) or "no rules"
        act = Act(actor, ActName.FAULTS_CHANGE, "faults", listed[:_LONGEST_DETAIL])
        await self._kernel.store.control.record([act])

    def advance(self, seconds: float) -> float:
        """Move the clock on; returns by how much it is ahead now. Raises `Refusal` (400)."""
        self.clock.advance(seconds)
        self.clock_moved.set()
        return self.clock.shift

    async def remember(self) -> None:
        """Remember what `restore` returns to; raises `Refusal` (400) for too many records."""
        self._mark = await baselines.marked(self._kernel.store, self.model)
        for each in self._kernel.features:
            await each.mark()

    async def restore(self, actor: Actor) -> None:
        """Return to the marked records, without rules, and forget what has happened."""
        await self.replace((), actor)
        for each in self._kernel.features:
            await each.reset()
        self._mark = await baselines.restore(self._kernel.store, self.model, self._mark, _RESET)
        self._state = RuleState((), self.clock)
        if self.clock.shift:
            self.clock.shift = 0.0
            self.clock_moved.set()
        self.resets += 1
        self._kernel.limits.refill()
        self.traffic.forget()

    @override
    def around(self, answer: Answer) -> Answer:
        return partial(self._handle, answer)

    async def _handle(self, answer: Answer, request: Request, exchange: Exchange) -> Response:
        """The response to a request, or the fault that it meets."""
        target = self.target(request)
        Underway.of(exchange).begin(request, _company(target))
        await self.before_write(request, target)
        perform = partial(answer, request, exchange)
        met = self.met(request, exchange, target, perform)
        return await (perform() if met is None else _acted(met))

    @override
    def around_group(self, group: AtomicWrites, exchange: Exchange) -> AtomicWrites:
        return _Group(self, group, exchange)

    @override
    async def failing(self, batch: Request, exchange: Exchange) -> tuple[int, Refusal] | None:
        met = self._chosen(batch, exchange, None, Stage.BATCH)
        if met is None:
            return None
        fault, firing = met
        number, refusal = fault.failing()
        return number, _marked(refusal, firing)

    async def of_delivery(
        self, subscription_id: str, owner: str, entity_set: str, resource: str, company_id: str
    ) -> DeliveryFault | None:
        """The fault that the next delivery for a subscription meets."""
        path = f"/{resource}"
        asked = Candidate("POST", path, entity_set, owner, Stage.DELIVERY, company=company_id)
        met = self._state.meet(asked, subscription_id)
        if met is None:
            return None
        fault, firing = met
        firing.outcome = NOT_APPLICABLE

        def note() -> None:
            firing.outcome = APPLIED
            self.traffic.deliver(fault, firing)

        return fault.delivery(note)

    async def before_write(self, request: Request, target: Target | None) -> None:
        """Keep the state before a write, if a rule shows it to later reads."""
        company_id = _company(target)
        if request.method in READ_METHODS or not company_id:
            return
        for rule in self.rules:
            if rule.fault.remembers and rule.match.company in {"", company_id}:
                company = await self._kernel.store.company(company_id)
                if company is not None:
                    await rule.fault.before_write(company, self._views)
                return

    def met(
        self,
        request: Request,
        exchange: Exchange,
        target: Target | None,
        perform: Callable[[], Awaitable[Response]],
    ) -> AffectedRequest | None:
        """The fault that a request meets, which is noted; raises `Refusal` for a wrong header."""
        page = SeenPage(0)
        if target is not None and target.resource is Resource.COLLECTION:
            page = self._state.page(request.principal.subject, request.path, request.query)
        met = self._chosen(request, exchange, target, Stage.REQUEST, page.number)
        if met is None:
            return None
        service, views, previous = self._kernel.service, self._views, page.previous
        return AffectedRequest(*met, perform, exchange, request, target, service, views, previous)

    def _chosen(
        self,
        request: Request,
        exchange: Exchange,
        target: Target | None,
        stage: Stage,
        page: int = 0,
    ) -> tuple[Fault, Firing] | None:
        """The fault that a request or a batch meets, and its entry of the log."""
        sent, of_header = request.headers.get(HEADER.lower().encode()), None
        if sent is not None:
            of_header = parse_header(sent.decode("latin-1"))
            of_header.fault.check_header(request.principal)
            of_header.fault.check(self.model.sets, HEADER)
        is_record = target is not None and target.resource is Resource.RECORD and not target.steps
        asked = Candidate(
            request.method,
            self.settings.base_path + unquote(request.path),
            "" if target is None else target.entity_set.name,
            request.principal.subject,
            stage,
            page if request.method == "GET" else 0,
            target is not None and is_record and has_changes(target.entity_set),
            unquote(urlsplit(request.root.address(request.path)).path),
            _company(target),
        )
        token = sha256(exchange.authorization).hexdigest() if stage is Stage.REQUEST else ""
        met = self._state.meet(asked, exchange.id, of_header, token)
        if met is not None:
            exchange.fault = f"{exchange.fault} {met[1].rule}".lstrip()
            Underway.of(exchange).met.append(met)
        return met

    def target(self, request: Request) -> Target | None:
        """The target of a request; None if not an entity set, its records or parts of them."""
        path = request.path
        try:
            segments = parse_path(path)
            company_id = company_id_of(segments)
            target = resolve(self.model, segments, company_id, at_root=path.endswith("/"))
        except Refusal:
            return None
        return None if target.resource in _WITHOUT_SET else target


class _Group:
    """The writes of an atomic group, each of which may meet a fault.

    A fault that lets the request be performed acts after the commit, on the responses of all.
    """

    def __init__(self, rehearsal: Rehearsal, group: AtomicWrites, exchange: Exchange) -> None:
        self._rehearsal = rehearsal
        self._group = group
        self._exchange = exchange
        self._met: AffectedRequest | None = None
        self._size = 0

    async def add(self, request: Request) -> str | None:
        """Plan a write; raises `Refusal`, also for a fault that refuses it."""
        target = self._rehearsal.target(request)
        await self._rehearsal.before_write(request, target)
        if self._met is None:
            met = self._rehearsal.met(request, self._exchange, target, self._perform)
            refusal = None if met is None else met.fault.refusal(met)
            if met is not None and refusal is not None:
                raise _marked(refusal, met.firing)
            self._met, self._index = met, self._size
        self._size += 1
        return await self._group.add(request)

    async def commit(self, refused: Refusal | None = None) -> list[Response]:
        """Do all writes or none; the fault changes a response, or refuses all by a `Refusal`."""
        self._refused = refused
        if self._met is None:
            return await self._group.commit(refused)
        self._responses: list[Response] = []
        changed = await _acted(self._met)
        if not self._responses:
            # the page of a gateway, which never sees the requests of a batch
            raise _marked(self._met.fault.unavailable(), self._met.firing)
        self._responses[self._index] = changed
        return self._responses

    async def _perform(self) -> Response:
        self._responses = await self._group.commit(self._refused)
        return self._responses[self._index]


async def _acted(met: AffectedRequest) -> Response:
    """The response that a fault makes of a request; raises `Refusal`."""
    try:
        response = await met.fault.act(met)
    except Refusal as error:
        raise _marked(error, met.firing) from None
    response.headers.append((ACTED.lower().encode(), met.firing.rule.encode()))
    return response


def _marked(refusal: Refusal, firing: Firing) -> Refusal:
    """A refusal with the header that names the rule."""
    refusal.headers = {**refusal.headers, ACTED: firing.rule}
    refusal.check = Check.FAULT
    return refusal


def _company(target: Target | None) -> str:
    """The id of the company that a request is about, empty without one."""
    return "" if target is None or target.company_id is None else target.company_id


class _Call(NamedTuple):
    """A request to the control endpoint, by a token with the scope `faults`.

    A token for some companies adds, sees and removes rules about these, and sees the requests to
    them. What concerns all companies needs a token for all. Each act returns the content of the
    response, None for none.
    """

    rehearsal: Rehearsal
    request: PageRequest
    exchange: Exchange
    principal: Principal

    @property
    def actor(self) -> Actor:
        """The client in the audit log."""
        return Actor(self.exchange.subject, self.exchange.client, self.exchange.id)

    async def body(self) -> bytes:
        headers = combined(self.request.scope["headers"])
        return await read_body(self.request.receive, headers, LONGEST_DOCUMENT)

    def check_all(self) -> None:
        """Raise `Refusal` (403) for a token that is not for all companies."""
        if self.principal.companies is not None:
            raise errors.ALL_COMPANIES()

    async def rules(self) -> object:
        method, rules = self.request.method, tuple[Rule, ...]()
        if method in READ_METHODS:
            return self._listed(self.rehearsal.rules)
        self.check_all()
        if method == "PUT":
            rules = parse_rules(await self.body(), self.rehearsal.model.sets)
        await self.rehearsal.replace(rules, self.actor)
        return self._listed(rules)

    def _listed(self, rules: Iterable[Rule]) -> object:
        reaches = self.principal.reaches
        return {"rules": [each.listed for each in rules if reaches(each.match.company)]}

    async def add(self) -> object:
        body, reaches = await self.body(), self.principal.reaches
        return (await self.rehearsal.add(body, self.actor, reaches)).listed

    async def remove(self) -> None:
        rule_id, reaches = self.request.path_params["id"], self.principal.reaches
        await self.rehearsal.remove(rule_id, self.actor, reaches)

    async def log(self) -> object:
        return self._reached(self.rehearsal.firings)

    async def requests(self) -> object:
        return self._reached(self.rehearsal.traffic.requests)

    def _reached(self, entries: Iterable[Firing | Sent]) -> object:
        return {"value": [each for each in entries if self.principal.reaches(each.company)]}

    async def report(self) -> object:
        report = self.rehearsal.traffic.report()
        return {"value": [{"client": each, "traps": report[each]} for each in report]}

    async def mark(self) -> None:
        await self.rehearsal.remember()

    async def reset(self) -> None:
        await self.rehearsal.restore(self.actor)

    async def clock(self) -> object:
        return {"aheadSeconds": self.rehearsal.advance(parse_advance(await self.body()))}
