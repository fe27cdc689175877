"""Rehearsals: lets requests meet the faults of rules, and keeps a log of what has happened."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from urllib.parse import unquote, urlsplit

from comptoir.auth import Scope
from comptoir.auth.audit import Act, ActName, Actor
from comptoir.config import Settings
from comptoir.edm.model import EntitySet, Model
from comptoir.edm.times import instant
from comptoir.errors import operator_rows as problems
from comptoir.errors.refusal import (
    Refusal,
    refuse,
)
from comptoir.features.rehearsal import RehearsalSettings, errors
from comptoir.features.rehearsal.choice import ChosenRule
from comptoir.features.rehearsal.clock import ShiftedClock
from comptoir.features.rehearsal.documents import HEADER, parse_file, parse_header, parse_rule
from comptoir.features.rehearsal.effects import (
    APPLICABLE,
    NOT_APPLICABLE,
    REFUSED,
    Firing,
    Met,
    acted,
    away,
    marked,
    refused,
    rolled_back,
    touchable,
)
from comptoir.features.rehearsal.faults import Stage
from comptoir.features.rehearsal.rule_state import RuleState, check_new
from comptoir.features.rehearsal.rules import Candidate, Rule
from comptoir.features.rehearsal.traffic import Traffic
from comptoir.files import read_whole
from comptoir.http.exchange import Exchange
from comptoir.http.feature import Answer, AtomicWrites, Feature, Kernel
from comptoir.outgoing.faults import DeliveryFault, DeliveryMode
from comptoir.plan.target import Resource, Target, company_id_of, resolve
from comptoir.request.path import READ_METHODS, parse_path
from comptoir.response.response import Response
from comptoir.service import Request
from comptoir.store import baselines
from comptoir.store.pinned_reads import StaleReads

_LONGEST_DETAIL = 500

_HEADER = HEADER.lower().encode()

_SERVICE = Actor("service")
_RESET = "fault:reset"
"""The one who restores records."""

_PLACE = "rules[{}].fault"

_WITHOUT_SET = (Resource.SERVICE, Resource.METADATA)

_log = logging.getLogger(__name__)


def _everywhere(_: str) -> bool:
    """An actor who reaches all companies."""
    return True


class Rehearsal:
    """The faults that requests meet, and what has happened; for use in one event loop only."""

    def __init__(self, model: Model, settings: Settings) -> None:
        """Begin with the rules of the settings; raises `OperatorError` for wrong ones."""
        self.model = model
        self.clock = ShiftedClock(time.time)
        self._base = settings.base_path
        rules = first_rules(settings, model)
        try:
            self.check(rules)
        except Refusal as refusal:
            raise problems.AT_PLACE(
                place=settings.of(RehearsalSettings).fault_rules, error=refusal
            ) from None
        self._memory = RuleState(rules, self.clock)
        self.traffic = Traffic(model, self.clock)
        self._mark: Sequence[baselines.CompanyMark] = ()
        self._changing = asyncio.Lock()
        self.resets = 0
        self.clock_moved = asyncio.Event()

    def check(self, rules: Sequence[Rule], place: str = _PLACE) -> None:
        """Raise `Refusal` (400) for a property that no record has; `place` is that of its fault."""
        for number, each in enumerate(rules):
            self._check_field(each, place.format(number))

    def _check_field(self, rule: Rule, place: str) -> None:
        field, name = rule.fault.parameters.get("field"), rule.match.entity_set
        sets = [each for each in self.model.sets if name in ("", each.name)]
        if field is None or any(_has_changes(each) and field in touchable(each) for each in sets):
            return
        owner = name or "an entity set"
        raise refuse(errors.TOUCHED_FIELD, place, value=str(field), place=place, owner=owner)

    def _of_header(self, request: Request) -> Rule | None:
        rule = _of_header(request)
        if rule is not None:
            self._check_field(rule, HEADER)
        return rule

    @property
    def rules(self) -> Sequence[Rule]:
        """The rules in force, in the order in which they are compared with a request."""
        return self._memory.in_force()

    @property
    def firings(self) -> Sequence[Firing]:
        """The log of faults."""
        return self._memory.firings

    async def replace(self, rules: Sequence[Rule], actor: Actor) -> None:
        """Replace the rules; all counts start again, and the tokens that were ended are valid.

        Raises `Refusal` (400). This and each other change is recorded before it is in force.
        """
        self.check(rules)
        await self._record(rules, actor)
        await self._set_rules(rules)

    async def add(
        self, body: bytes, actor: Actor, reaches: Callable[[str], bool] = _everywhere
    ) -> Rule:
        """Add the rule of a document after the others, whose counts go on.

        Raises `Refusal` (400, 409; 403 for a company that the actor does not reach).
        """
        # the id and the record in the audit log depend on the rules before
        async with self._changing:
            rules = self.rules
            taken = {each.id for each in rules}
            names = map("rule-{}".format, count(len(rules)))
            name = next(each for each in names if each not in taken)
            rule = parse_rule(body, name, [each.name for each in self.model.sets])
            self.check([rule], "fault")
            if not reaches(rule.match.company):
                raise refuse(errors.OTHER_COMPANY, "match.company")
            check_new(rule, rules)
            await self._record((*rules, rule), actor)
            self._memory.add_rule(rule)
        return rule

    async def remove(
        self, rule_id: str, actor: Actor, reaches: Callable[[str], bool] = _everywhere
    ) -> None:
        """Remove a rule; raises `Refusal` (404) if the actor reaches none with this id."""
        async with self._changing:
            rules = self.rules
            others = [
                each for each in rules if each.id != rule_id or not reaches(each.match.company)
            ]
            if len(others) == len(rules):
                raise refuse(errors.UNKNOWN_RULE, id=rule_id)
            await self._record(others, actor)
            self._memory.remove_rule(rule_id)

    async def _record(self, rules: Sequence[Rule], actor: Actor) -> None:
        await self._store.control.record([act(actor, rules)])

    async def _set_rules(self, rules: Sequence[Rule]) -> None:
        self._memory.set_rules(rules)
        await self._views.close()

    def advance(self, seconds: float) -> float:
        """Move the clock on; returns by how much it is ahead now. Raises `Refusal` (400)."""
        self.clock.advance(seconds)
        self.clock_moved.set()
        return self.clock.shift

    def conditions(self) -> Sequence[str]:
        """The rules, for the page on which the operator looks for what is not normal."""
        return [
            "faults: on",
            *(f"faults: rule {each.id}: {each.fault.text}" for each in self.rules),
        ]

    async def begin(self, kernel: Kernel) -> None:
        """Set what performs requests, and record the rules in the audit log if that can be done."""
        self._service = kernel.service
        self._store = store = kernel.store
        self._others: Sequence[Feature] = kernel.features
        self._limits = kernel.limits
        self._views = StaleReads(store, self.clock)
        try:
            await store.control.record([act(_SERVICE, self.rules)])
        except Refusal as refusal:
            _log.warning("the audit log lacks the start with faults: %s", refusal)

    async def mark(self) -> None:
        """Remember what `reset` returns to; raises `Refusal` (400) for too many records."""
        self._mark = await baselines.marked(self._store, self.model)
        for each in self._others:
            await each.mark()

    async def reset(self, actor: Actor) -> None:
        """Return to the marked records, without rules, and forget what has happened."""
        await self._record((), actor)
        await self._set_rules(())
        for each in self._others:
            await each.reset()
        self._mark = await baselines.restore(self._store, self.model, self._mark, _RESET)
        self._memory.reset()
        if self.clock.shift:
            self.clock.shift = 0.0
            self.clock_moved.set()
        self.resets += 1
        self._limits.refill()
        self.traffic.forget()

    async def end(self) -> None:
        """End what the rehearsal has begun."""
        await self._views.close()

    async def handle(self, answer: Answer, request: Request, exchange: Exchange) -> Response:
        """The response to a request, or the fault that it meets."""
        target = _target(self.model, request.path)
        self.traffic.note_request(request, exchange, _company(target))
        await self.prepare(request)
        met = self.met(request, exchange)
        if met is None:
            return await answer(request, exchange)
        return await acted(met, partial(answer, request, exchange))

    def group(self, group: AtomicWrites, exchange: Exchange) -> AtomicWrites:
        """A group whose requests meet faults."""
        return _Group(self, group, exchange)

    async def failing(self, batch: Request, exchange: Exchange) -> tuple[int, Refusal] | None:
        """The number of the request at which a batch that is a transaction fails."""
        path, client = self._base + unquote(batch.path), batch.principal.subject
        asked = Candidate(batch.method, path, "", client, Stage.BATCH, address=_address(batch))
        of_header, at = self._of_header(batch), instant(datetime.now(UTC))

        choice = self._memory.choose(asked, of_header)
        if choice is None:
            return None
        self._note(choice, self._memory.fire(choice, asked, exchange.id, at), exchange)
        return int(choice.rule.fault.parameters["index"]), rolled_back(choice.rule)

    async def of_delivery(
        self, subscription_id: str, owner: str, entity_set: str, resource: str, company_id: str
    ) -> DeliveryFault | None:
        """The fault that the next delivery for a subscription meets."""
        path = f"/{resource}"
        asked = Candidate("POST", path, entity_set, owner, Stage.DELIVERY, company=company_id)
        at = instant(datetime.now(UTC))
        choice = self._memory.choose(asked)
        if choice is None:
            return None
        firing = self._memory.fire(choice, asked, subscription_id, at, NOT_APPLICABLE)
        fault = choice.rule.fault

        def note() -> None:
            firing.outcome = APPLICABLE
            self.traffic.deliver(fault, firing)

        seconds = float(fault.parameters.get("seconds", 0))
        return DeliveryFault(DeliveryMode(str(fault.parameters["mode"])), seconds, note)

    def met(self, request: Request, exchange: Exchange) -> Met | None:
        """The fault that a request meets, which is noted; raises `Refusal` for a wrong header."""
        target = _target(self.model, request.path)
        is_list = target is not None and target.resource is Resource.COLLECTION
        is_next = "$skiptoken=" in unquote(request.query)
        client, digest = request.principal.subject, sha256(exchange.authorization).hexdigest()
        of_header, at = self._of_header(request), instant(datetime.now(UTC))
        page, previous = 0, ""
        if is_list:
            page, previous = self._memory.page(client, request.path, request.query, is_next=is_next)
        asked = Candidate(
            request.method,
            self._base + unquote(request.path),
            "" if target is None else target.entity_set.name,
            client,
            page=page if request.method == "GET" else 0,
            is_record=target is not None and _can_change(target),
            address=_address(request),
            company=_company(target),
        )
        choice = self._memory.choose(asked, of_header, digest)
        if choice is None:
            return None
        firing = self._memory.fire(choice, asked, exchange.id, at)
        self._note(choice, firing, exchange)
        return Met(
            choice.rule,
            exchange,
            request,
            target,
            self._service,
            self._views,
            previous,
            firing,
        )

    async def prepare(self, request: Request) -> None:
        """Keep the state before a write, if a rule shows it to later reads."""
        rules = [each for each in self.rules if each.fault.type.remembers]
        if not rules or request.method in READ_METHODS:
            return
        company_id = _company(_target(self.model, request.path))
        rule = next((each for each in rules if each.match.company in {"", company_id}), None)
        if rule is None or not company_id:
            return
        company = await self._store.company(company_id)
        if company is not None:
            seconds = rule.fault.parameters.get("seconds")
            lag = int(rule.fault.parameters.get("lag", 1))
            await self._views.prepare(company, lag, None if seconds is None else float(seconds))

    def _note(self, choice: ChosenRule, firing: Firing, exchange: Exchange) -> None:
        exchange.fault = f"{exchange.fault} {choice.rule.id}".lstrip()
        self.traffic.meet(exchange, choice.rule.fault, firing)


class _Group:
    """The writes of an atomic group, each of which may meet a fault.

    A fault that lets the request be performed acts after the commit, on the responses of all.
    """

    def __init__(self, rehearsal: Rehearsal, group: AtomicWrites, exchange: Exchange) -> None:
        self._rehearsal = rehearsal
        self._group = group
        self._exchange = exchange
        self._met: Met | None = None
        self._size = 0

    async def add(self, request: Request) -> str | None:
        """Plan a write; raises `Refusal`, also for a fault that refuses it."""
        await self._rehearsal.prepare(request)
        if self._met is None:
            met = self._rehearsal.met(request, self._exchange)
            if met is not None and met.fault.name in REFUSED:
                raise refused(met)
            self._met, self._index = met, self._size
        self._size += 1
        return await self._group.add(request)

    async def commit(self) -> list[Response]:
        """Do all writes or none, unless the fault prevents that; raises `Refusal`."""
        return await self._changed(self._group.commit)

    async def attempt(self, refused: Refusal | None) -> tuple[list[Response], Refusal | None]:
        """Do the writes before a refused one; raises `Refusal` if the fault prevents that."""
        undone = refused

        async def perform() -> list[Response]:
            nonlocal undone
            responses, undone = await self._group.attempt(refused)
            return responses

        return await self._changed(perform), undone

    async def _changed(self, perform: Callable[[], Awaitable[list[Response]]]) -> list[Response]:
        """The responses, of which the fault changes one; raises `Refusal` if there are none."""
        if self._met is None:
            return await perform()
        responses: list[Response] = []

        async def performed() -> Response:
            responses.extend(await perform())
            return responses[self._index]

        changed = await acted(self._met, performed)
        if not responses:
            # the page of a gateway, which never sees the requests of a batch
            raise marked(away(self._met), self._met.rule)
        responses[self._index] = changed
        return responses


def _of_header(request: Request) -> Rule | None:
    """The rule of a request's own header; raises `Refusal` for a wrong one."""
    sent = request.headers.get(_HEADER)
    if sent is None:
        return None
    rule = parse_header(sent.decode("latin-1"))
    principal = request.principal
    # it writes, and a header needs no right to set rules
    if rule.fault.name == "touch" and (
        not principal.may(Scope.RECORDS_WRITE) or principal.rights is not None
    ):
        raise refuse(errors.TOUCH_DENIED, HEADER, scope=Scope.RECORDS_WRITE)
    return rule


def _address(request: Request) -> str:
    """The path at the address that the client used."""
    return unquote(urlsplit(request.root.address(request.path)).path)


def _target(model: Model, path: str) -> Target | None:
    """The target of a path; None if that is not an entity set, its records or parts of them."""
    try:
        segments = parse_path(path)
        company_id = company_id_of(segments)
        target = resolve(model, segments, company_id, at_root=path.endswith("/"))
    except Refusal:
        return None
    return None if target.resource in _WITHOUT_SET else target


def _company(target: Target | None) -> str:
    """The id of the company that a request is about, empty without one."""
    return "" if target is None or target.company_id is None else target.company_id


def _can_change(target: Target) -> bool:
    """Whether a path names a record by its key, which the service can change."""
    entity_set = target.entity_set
    return target.resource is Resource.RECORD and not target.steps and _has_changes(entity_set)


def _has_changes(entity_set: EntitySet) -> bool:
    return not (entity_set.read_only or entity_set.key_narrows)


def first_rules(settings: Settings, model: Model) -> Sequence[Rule]:
    """The rules of the settings; raises `OperatorError` for wrong ones."""
    path = settings.of(RehearsalSettings).fault_rules
    if not path:
        return ()
    content = read_whole(Path(path), problems.FILE_OF_RULES)
    return parse_file(path, content, [each.name for each in model.sets])


def act(actor: Actor, rules: Sequence[Rule]) -> Act:
    """The change of the rules, for the audit log."""
    listed = " ".join([each.id for each in rules]) or "no rules"
    return Act(actor, ActName.FAULTS_CHANGE, "faults", listed[:_LONGEST_DETAIL])
