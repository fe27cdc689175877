"""Delivers the changes of records to the receivers of subscriptions.

Each process has a sender. A lease in the database lets one of them attempt a delivery at a time,
and a cursor moves after it has succeeded, so a crash may repeat a notification but never lose one.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from functools import partial
from http import HTTPStatus
from math import inf
from time import time

from comptoir.auth.audit import Act, ActName, Actor
from comptoir.auth.records import Registry
from comptoir.edm.model import Company, EntitySet, Model
from comptoir.edm.times import Clock, DateTimeOffset
from comptoir.errors.refusal import Refusal
from comptoir.features.notifications.notifications import Fold, body, written
from comptoir.features.notifications.subscriptions import (
    LEASE_SECONDS,
    DeliveryCursor,
    Subscription,
    Subscriptions,
    lost_right,
)
from comptoir.outgoing import (
    HELD,
    DeliveryFault,
    DeliveryFaults,
    DeliveryMode,
    OutgoingError,
    Post,
    PostAnswer,
)
from comptoir.profiles.record import Hooks
from comptoir.store.jobs import cancel_and_wait
from comptoir.store.refusals import IS_REPEATED
from comptoir.store.store import Store

LOOK_SECONDS = 1.0
"""Seconds between two looks for changes to deliver."""

LAG_SECONDS = 5.0
"""Seconds between two measurements of the lag of notifications."""

POST_SECONDS = LEASE_SECONDS / 2
"""The time in which a receiver must answer; the lease also covers the reads before that."""

MOST_DELIVERIES = 20
"""The most deliveries of a process at once."""

MOST_OF_CLIENT = MOST_DELIVERIES // 2
"""The most of them for the subscriptions of one client, whose receivers may be slow."""

READ_CHANGES = 500
"""Changes that are read at once."""

MOST_READS = 40
"""The most reads of changes for a subscription in one delivery; a later one has the others."""

MOST_PASSED = 10_000
"""Changes of other sets after which a cursor moves though nothing was delivered."""

KEPT_SECONDS = 3_600
"""The time that a company is scanned after its last subscription was added."""

SERVICE = Actor("service")

_log = logging.getLogger(__name__)


class Outcome(Enum):
    """The outcome of an attempt."""

    DELIVERED = "delivered"
    FAILED = "failed"
    """Another attempt may succeed."""
    REFUSED = "refused"
    """The receiver does not want notifications, so its subscription is deleted."""


def outcome_of(answer: PostAnswer | None, retried: Collection[int]) -> Outcome:
    """The outcome by the answer, None if there was none, and by the statuses that are failures."""
    if answer is None or answer.status in retried:
        return Outcome.FAILED
    is_success = HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES
    return Outcome.DELIVERED if is_success else Outcome.REFUSED


def _due_at(first_change: str, delay: float) -> float:
    """The time when changes are due, by that of the first one after the cursor."""
    return datetime.fromisoformat(first_change).timestamp() + delay


@dataclass(slots=True, eq=False)
class _Part:
    """The part of a delivery for one subscription: its changes up to `number`.

    The first one is due at a time, which is infinite without a change. Once the lane is leased, it
    gets the fault that it meets, and the notifications.
    """

    subscription: Subscription
    lane: DeliveryCursor
    number: int
    due_at: float = inf
    fault: DeliveryFault | None = None
    objects: Sequence[bytes] = ()

    @property
    def is_held(self) -> bool:
        """Whether nothing of it is posted."""
        return self.fault is not None and self.fault.mode in HELD

    def settled(
        self, outcome: Outcome, now: float, waits: Sequence[float]
    ) -> DeliveryCursor | None:
        """The lane after a delivery, None if the subscription must be deleted.

        `waits` are the seconds to wait after each failure; one failure more is final.
        """
        lane = self.lane
        if self.fault is not None and self.is_held:
            if self.fault.mode is DeliveryMode.DELAY:
                # nothing has failed
                return lane.free(lane.cursor, lane.tries, now + self.fault.seconds)
            outcome = Outcome.DELIVERED if self.fault.mode is DeliveryMode.DROP else Outcome.REFUSED
        if outcome is Outcome.DELIVERED:
            return lane.free(self.number)
        if outcome is Outcome.REFUSED or lane.tries == len(waits):
            return None
        return lane.free(lane.cursor, lane.tries + 1, now + waits[lane.tries])

    def meets(self, fault: DeliveryFault, outcome: Outcome) -> bool:
        """Whether its fault has changed a delivery with this outcome."""
        is_alone = fault.mode is DeliveryMode.REORDER and len(self.objects) == 1
        return self.is_held or (outcome is Outcome.DELIVERED and not is_alone)


@dataclass(eq=False)
class Sender:
    """Finds subscriptions with changes, and delivers these to each URL together.

    Notifications have times of the type `instants`. `clock` is the profile's and `real_clock` that
    of the processes, both in epoch seconds. `note` receives the outcome of each attempt and, if it
    succeeded, by how much it was late. `faults` decides what the first attempt of each delivery
    meets.
    """

    store: Store
    subscriptions: Subscriptions
    model: Model
    registry: Registry
    hooks: Hooks
    post: Post
    instants: DateTimeOffset
    clock: Clock = time
    real_clock: Clock = time
    note: Callable[[str, float | None], None] = lambda *_: None
    faults: DeliveryFaults | None = None
    deliveries: dict[asyncio.Task[None], frozenset[str]] = field(default_factory=dict)
    """Those that were begun, with the clients for which they are."""
    _holder: str = field(default_factory=partial(secrets.token_hex, 16))
    _resets: int = 0
    _looks: dict[str, _Part] = field(default_factory=dict)
    _ahead: float = 0.0
    """By how much the profile's clock was ahead of the processes' at the last look."""

    async def stop(self) -> None:
        """Cancel all deliveries, which are repeated after their leases."""
        for task in list(self.deliveries):
            await cancel_and_wait(task)

    async def lag(self) -> float:
        """The seconds by which the notification of a change is late at most; 0 if none is."""
        times = [
            _due_at(first, self.hooks.delay)
            for company_id, _ in await self.subscriptions.companies()
            for first in await self.subscriptions.undelivered(company_id)
        ]
        return max(self.real_clock() - min(times), 0.0) if times else 0.0

    async def look(self) -> bool:
        """Begin the deliveries that are due, and delete subscriptions that have ended.

        A failure of one company does not hold up the others. Returns whether nothing has failed.
        """
        if self.faults is not None and self.faults.resets != self._resets:
            # what the last look has found is by a clock that was moved back since
            self._looks, self._ahead, self._resets = {}, 0.0, self.faults.resets
        looks: dict[str, _Part] = {}
        failures: list[Exception] = []
        with _going_on(failures):
            ahead = self.clock() - self.real_clock()
            for company_id, since in await self.subscriptions.companies():
                with _going_on(failures):
                    await self._look_at(company_id, since, looks)
            self._looks, self._ahead = looks, ahead
        return not failures

    async def _look_at(self, company_id: str, since: int, looks: dict[str, _Part]) -> None:
        company, now = await self.store.company(company_id), self.clock()
        parts = [] if company is None else await self._waiting(company, now, looks)
        if company is not None and parts:
            await self._begin(company, now, parts)
            return
        until = int(self.real_clock()) - KEPT_SECONDS
        if since <= until and not await self.subscriptions.of_company(company_id):
            await self.subscriptions.drop_company(company_id, until)

    async def _waiting(self, company: Company, now: float, looks: dict[str, _Part]) -> list[_Part]:
        """The subscriptions of a company with changes that nobody delivers now."""
        parts: list[_Part] = []
        waiting = await self.subscriptions.waiting(company.id, now, self.real_clock())
        number = await self.store.position(company) if waiting else 0
        for subscription, lane in waiting:
            if await self._is_dropped(subscription, now):
                continue
            part = await self._looked(company, _Part(subscription, lane, number))
            looks[subscription.id] = part
            if part.due_at < inf:
                parts.append(part)
            elif number - lane.cursor > MOST_PASSED:
                await self.subscriptions.settle(company.id, [(lane, lane.free(number))])
        return parts

    async def _looked(self, company: Company, part: _Part) -> _Part:
        """Look for the first change after the cursor, from where the last look has ended."""
        since, last = part.lane.cursor, self._looks.get(part.subscription.id)
        if last is not None and last.lane.cursor == since:
            since, part.due_at = last.number, last.due_at
        if part.due_at == inf:
            entity_set = self.model.by_name[part.subscription.sets]
            for each in await self.store.changes_of(company, entity_set, since, part.number, 1):
                # it was made after the last look, and the profile's clock is not moved back
                part.due_at = _due_at(each.at, self._ahead + self.hooks.delay)
        return part

    async def _is_dropped(self, subscription: Subscription, now: float) -> bool:
        """Delete a subscription that has ended, or whose owner may not have it any more."""
        name, reason = ActName.SUBSCRIPTION_EXPIRE, ""
        if subscription.expires_at > now:
            known, sets = self.registry.known, self.model.by_name
            if known is None or lost_right(subscription, known, sets):
                # the client may have been added or changed a moment ago
                known = await self.registry.refresh()
            name, reason = ActName.SUBSCRIPTION_DROP, lost_right(subscription, known, sets)
            if not reason:
                return False
        await self.subscriptions.change(subscription, None, _act(name, subscription, reason))
        return True

    async def _begin(self, company: Company, now: float, parts: Sequence[_Part]) -> None:
        """Begin a delivery to each URL for which changes are due, with all that it waits for."""
        by_url: dict[str, list[_Part]] = {}
        for each in parts:
            by_url.setdefault(each.subscription.url, []).append(each)
        for url, group in by_url.items():
            if len(self.deliveries) == MOST_DELIVERIES:
                return
            due = [each for each in group if each.lane.was_attempted or each.due_at <= now]
            owners = frozenset([each.subscription.owner for each in due])
            if not any(map(self._has_room, owners)):
                continue
            since = min(each.due_at for each in due)
            lanes, number = await self.subscriptions.lease(
                company.id, [each.lane for each in group], self._holder, self.real_clock()
            )
            leased = [each for each in group if each.subscription.id in lanes]
            for each in leased:
                each.lane = lanes[each.subscription.id]
                if self.faults is not None and not each.lane.was_attempted:
                    to = each.subscription
                    # one after the other, so that the same deliveries meet the same faults
                    each.fault = await self.faults.of_delivery(
                        to.id, to.owner, to.sets, to.resource, to.company_id
                    )
            if leased:
                task = asyncio.create_task(self._deliver(company, url, leased, number, since))
                self.deliveries[task] = owners
                task.add_done_callback(self.deliveries.pop)

    def _has_room(self, owner: str) -> bool:
        """Whether a client may have another delivery now."""
        return sum(owner in owners for owners in self.deliveries.values()) < MOST_OF_CLIENT

    async def _deliver(
        self, company: Company, url: str, parts: Sequence[_Part], until: int, since: float
    ) -> None:
        """Attempt a delivery whose first change is due at `since`; its outcome counts for all."""
        # after a failure, the delivery is repeated after the lease
        with _going_on([]):
            for each in parts:
                await self._pack(company, each, until)
            posted = [each for each in parts if not each.is_held]
            answer = await self._answer(url, posted)
            outcome, now = outcome_of(answer, self.hooks.retried), self.clock()
            if posted:
                late = max(now - since, 0.0) if outcome is Outcome.DELIVERED else None
                self.note(outcome.value, late)
            waits = self.hooks.retries
            settled = [(each.lane, each.settled(outcome, now, waits)) for each in parts]
            dropped = await self.subscriptions.settle(company.id, settled)
            acts = [
                _act(ActName.SUBSCRIPTION_DROP, each.subscription, _reason(each, answer))
                for each in parts
                if each.subscription.id in dropped
            ]
            if acts:
                await self.store.control.record(acts)
            for each in parts:
                if each.fault is not None and each.meets(each.fault, outcome):
                    if each.fault.mode is DeliveryMode.DUPLICATE:
                        await self._answer(url, [each])
                    each.fault.note()

    async def _pack(self, company: Company, part: _Part, until: int) -> None:
        """Fold the changes for a subscription, and write them."""
        entity_set = self.model.by_name[part.subscription.sets]
        mode = None if part.fault is None else part.fault.mode
        fold = Fold(0 if mode is DeliveryMode.COLLECTION else self.hooks.over)
        part.number = await self._add_changes(fold, company, entity_set, part.lane.cursor, until)
        notifications = fold.notifications()
        if mode is DeliveryMode.REORDER:
            notifications.reverse()
        part.objects = list(written(part.subscription, entity_set, notifications, self.instants))

    async def _answer(self, url: str, parts: Sequence[_Part]) -> PostAnswer | None:
        """The receiver's answer to the notifications, None without one."""
        if not parts:
            return None
        content = body(each for part in parts for each in part.objects)
        try:
            return await self.post(url, content, POST_SECONDS)
        except OutgoingError:
            return None

    async def _add_changes(
        self, fold: Fold, company: Company, entity_set: EntitySet, since: int, until: int
    ) -> int:
        """Fold the changes after a cursor; returns the number up to which they are folded."""
        for _ in range(MOST_READS):
            changes = await self.store.changes_of(company, entity_set, since, until, READ_CHANGES)
            fold.add(changes)
            # a read of SQLite may not yield to the event loop
            await asyncio.sleep(0)
            if len(changes) < READ_CHANGES:
                return until
            since = changes[-1].number
            if fold.is_collection:
                last, deletions = await self.subscriptions.tally(
                    company.id, entity_set, since, until
                )
                if last:
                    fold.note(last, has_deletion=deletions > 0)
                return until
        return since


@contextmanager
def _going_on(failures: list[Exception]) -> Iterator[None]:
    """Add a failure to others, and go on: without that, the service would deliver no more."""
    try:
        yield
    except Refusal as refusal:
        # it is logged where it happens
        failures.append(refusal)
    except Exception as error:  # noqa: BLE001 - deliveries go on, and the cause goes to the log
        failures.append(error)
        if not IS_REPEATED.get():
            _log.exception("notifications were not delivered")


def _act(name: ActName, subscription: Subscription, reason: str) -> Act:
    detail = f"{subscription.owner} {subscription.listed}"
    return Act(SERVICE, name, subscription.id, f"{detail} reason={reason}" if reason else detail)


def _reason(part: _Part, answer: PostAnswer | None) -> str:
    if part.is_held:
        return "a fault of the rehearsal"
    if answer is None:
        return "the receiver did not answer"
    return f"the receiver responded with status {answer.status}"
