"""Subscriptions as they are stored: one unit of work for each change.

An id begins with the company's, so that each statement is about one company.
"""

import math
import re
import secrets
import time
from collections.abc import Callable, Container, Mapping, Sequence
from urllib.parse import urlsplit
from uuid import UUID

import msgspec
import sqlalchemy as sa

from comptoir.auth.audit import Act
from comptoir.auth.records import ClientState, RegistrySnapshot
from comptoir.auth.roles import Right
from comptoir.auth.tokens import Scope, implied
from comptoir.edm.model import EntitySet
from comptoir.features.notifications.tables import (
    LANES,
    SUBSCRIBED,
    SUBSCRIPTIONS,
    is_row,
    rows_of,
    tally,
    undelivered_times,
    waiting_lanes,
)
from comptoir.sql.prepared import Query, Steps
from comptoir.store.store import Store
from comptoir.store.unit import UnitOfWork

_ID = re.compile(r"[0-9a-f]{48}", re.ASCII)
_COMPANY_DIGITS = 32
_LANE = 0

NEEDED = frozenset({Scope.RECORDS_READ, Scope.EVENTS})
"""The scopes that a subscription needs."""

_CLIENT = "client:"

_COMPANIES = sa.select(SUBSCRIBED).order_by(SUBSCRIBED.c.company)


class Subscription(msgspec.Struct, frozen=True):
    """A row of the table `subscriptions`, which documents its columns."""

    id: str
    owner: str
    url: str
    sets: str
    resource: str
    client_state: str
    version: int
    expires_at: int
    created_at: str
    modified_at: str

    @property
    def company_id(self) -> str:
        """The company whose changes are sent."""
        return _company_in(self.id)

    @property
    def listed(self) -> str:
        """The receiver and the set, without the path of the URL, which may have a secret."""
        return f"{self.resource} to {urlsplit(self.url).hostname}"


LEASE_SECONDS = 30
"""The time for which a process may attempt a delivery; the post must take less."""


class DeliveryCursor(msgspec.Struct, frozen=True):
    """A row of the table `lanes`, which documents its columns."""

    subscription: str
    lane: int
    cursor: int
    tries: int = 0
    due_at: int = 0
    holder: str = ""
    leased_until: int = 0

    def free(self, cursor: int, tries: int = 0, due_at: float = 0) -> "DeliveryCursor":
        """This leased lane after an attempt, the next one of which may begin at a time."""
        return DeliveryCursor(self.subscription, self.lane, cursor, tries, math.ceil(due_at))

    @property
    def was_attempted(self) -> bool:
        """Whether an earlier attempt to deliver the changes after the cursor has ended."""
        return self.due_at > 0


def new_id(company_id: str) -> str:
    """The id of another subscription of a company."""
    return company_id.replace("-", "") + secrets.token_hex(8)


def _company_in(subscription_id: str) -> str:
    return str(UUID(subscription_id[:_COMPANY_DIGITS]))


class Subscriptions:
    """Reads and changes subscriptions; all methods raise `Refusal` as reads and writes do.

    The acts that it is given are in the audit log after the change.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._control = store.control
        self._query = store.statements.query
        self._statements = store.statements

    async def companies(self) -> list[tuple[str, int]]:
        """The companies that may have subscriptions, and since when in epoch seconds."""
        rows = await self._control.fetch(_COMPANIES)
        return [(str(company_id), int(since)) for company_id, since in rows]

    async def add_company(self, company_id: str) -> None:
        """Add a company that is about to have a subscription, from now on."""
        now = int(time.time())

        def work() -> Steps[None]:
            yield self._control.lock()
            yield self._drop_company(company_id, now)
            yield self._control.query(sa.insert(SUBSCRIBED).values((company_id, now)))

        await self._control.transact(work)

    async def drop_company(self, company_id: str, until: int) -> None:
        """Remove a company without subscriptions, unless it was added after a time."""

        def work() -> Steps[None]:
            yield self._drop_company(company_id, until)

        await self._control.transact(work)

    def _drop_company(self, company_id: str, until: int) -> Query:
        added = SUBSCRIBED.c
        return self._control.query(
            sa.delete(SUBSCRIBED).where(added.company == company_id, added.since <= until)
        )

    async def find(self, subscription_id: str) -> Subscription | None:
        """The subscription with this id, None if it does not exist."""
        if _ID.fullmatch(subscription_id) is None:
            return None
        return await self._store.read(self._stored(subscription_id))

    async def of_company(self, company_id: str) -> list[Subscription]:
        """The subscriptions of a company, in the order of their creation."""
        rows = await self._store.rows(self._of_company(company_id))
        return [Subscription(*row) for row in rows]  # type: ignore[arg-type]

    async def everywhere(self) -> list[Subscription]:
        """The subscriptions of all companies."""
        return await self._store.read(self._everywhere())

    def _everywhere(self, *, locks: bool = False) -> Steps[list[Subscription]]:
        """The subscriptions of all companies; with `locks`, no other process adds one meanwhile."""
        if locks:
            yield self._control.lock()
        companies = yield self._control.query(_COMPANIES)
        found: list[Subscription] = []
        for company_id, _ in companies:
            rows = yield self._of_company(str(company_id))
            found += [Subscription(*row) for row in rows]  # type: ignore[arg-type]
        return found

    async def add(
        self, subscription: Subscription, act: Act, check: Callable[[Sequence[Subscription]], None]
    ) -> None:
        """Add a subscription to the changes from now on, after a `check` of all others."""
        company_id = subscription.company_id

        def work(unit: UnitOfWork) -> Steps[None]:
            unit.ledger.check_exists()
            check((yield from self._everywhere(locks=True)))
            lane = DeliveryCursor(subscription.id, _LANE, unit.ledger.number)
            for table, row in ((SUBSCRIPTIONS, subscription), (LANES, lane)):
                values = company_id, *msgspec.structs.astuple(row)
                yield self._query(sa.insert(table).values(values))

        # first, because only the subscriptions of such companies are looked for
        await self.add_company(company_id)
        await self._store.transact(company_id, work)
        await self._control.record([act])

    async def change(self, former: Subscription, changed: Subscription | None, act: Act) -> bool:
        """Store a changed subscription, or delete it if that is None.

        False if it was changed or deleted meanwhile.
        """

        def work(_: UnitOfWork) -> Steps[bool]:
            if (yield from self._stored(former.id)) != former:
                return False
            if changed is None:
                yield from self._drop(former.id)
            else:
                is_former = is_row(SUBSCRIPTIONS, former.company_id, former.id)
                stored = sa.update(SUBSCRIPTIONS).where(*is_former)
                yield self._query(stored.values(msgspec.structs.asdict(changed)))
            return True

        is_done = await self._store.transact(former.company_id, work)
        if is_done:
            await self._control.record([act])
        return is_done

    async def waiting(
        self, company_id: str, now: float, real_now: float
    ) -> list[tuple[Subscription, DeliveryCursor]]:
        """The subscriptions of a company that have ended, or may have changes to deliver.

        `now` is the time of the profile, `real_now` that of the processes, which lease lanes.
        """
        query = waiting_lanes(self._statements).query(company_id, int(now), int(real_now))
        width = len(Subscription.__struct_fields__)
        return [
            (Subscription(*row[:width]), DeliveryCursor(*row[width:]))  # type: ignore[arg-type]
            for row in await self._store.rows(query)
        ]

    async def undelivered(self, company_id: str) -> list[str]:
        """When the first change was made that each subscription of a company was not sent yet."""
        query = undelivered_times(self._statements).query(company_id)
        return [str(at) for (at,) in await self._store.rows(query)]

    async def lease(
        self, company_id: str, lanes: Sequence[DeliveryCursor], holder: str, real_now: float
    ) -> tuple[Mapping[str, DeliveryCursor], int]:
        """Lease those lanes that no other process has changed or leased since they were read.

        Returns them by subscription, and the number of the company's last change then.
        """

        def work(unit: UnitOfWork) -> Steps[tuple[Mapping[str, DeliveryCursor], int]]:
            leased: dict[str, DeliveryCursor] = {}
            until = math.ceil(real_now) + LEASE_SECONDS
            for lane in lanes:
                if (yield from self._is_stored(company_id, lane)):
                    taken = msgspec.structs.replace(lane, holder=holder, leased_until=until)
                    leased[lane.subscription] = taken
                    yield self._set_lane(company_id, taken)
            return leased, unit.ledger.number

        return await self._store.transact(company_id, work)

    async def settle(
        self, company_id: str, settled: Sequence[tuple[DeliveryCursor, DeliveryCursor | None]]
    ) -> list[str]:
        """Store lanes in the place of leased ones, as long as the lease has not passed on.

        None deletes the subscription; returns the ids of those that were deleted.
        """

        def work(_: UnitOfWork) -> Steps[list[str]]:
            dropped: list[str] = []
            for leased, following in settled:
                if not (yield from self._is_stored(company_id, leased)):
                    continue
                if following is None:
                    yield from self._drop(leased.subscription)
                    dropped.append(leased.subscription)
                else:
                    yield self._set_lane(company_id, following)
            return dropped

        return await self._store.transact(company_id, work)

    async def tally(
        self, company_id: str, entity_set: EntitySet, since: int, until: int
    ) -> tuple[str, int]:
        """The last time and the deletions of a set's changes after `since` and up to `until`.

        Both are numbers of changes; the time is blank without any.
        """
        query = tally(self._statements).query(company_id, entity_set.name, since, until)
        ((last, deletions),) = await self._store.rows(query)
        return str(last), int(deletions)

    def _stored(self, subscription_id: str) -> Steps[Subscription | None]:
        company_id = _company_in(subscription_id)
        rows = yield self._query(rows_of(SUBSCRIPTIONS, company_id, subscription_id))
        return Subscription(*rows[0]) if rows else None  # type: ignore[arg-type]

    def _is_stored(self, company_id: str, lane: DeliveryCursor) -> Steps[bool]:
        rows = yield self._query(rows_of(LANES, company_id, lane.subscription, lane.lane))
        return [DeliveryCursor(*row) for row in rows] == [lane]  # type: ignore[arg-type]

    def _drop(self, subscription_id: str) -> Steps[None]:
        company_id = _company_in(subscription_id)
        for table in (SUBSCRIPTIONS, LANES):
            yield self._query(sa.delete(table).where(*is_row(table, company_id, subscription_id)))

    def _of_company(self, company_id: str) -> Query:
        """All subscriptions of a company, in the order of their creation."""
        order = SUBSCRIPTIONS.c.created_at, SUBSCRIPTIONS.c.id
        return self._query(rows_of(SUBSCRIPTIONS, company_id).order_by(*order))

    def _set_lane(self, company_id: str, lane: DeliveryCursor) -> Query:
        is_lane = is_row(LANES, company_id, lane.subscription, lane.lane)
        return self._query(sa.update(LANES).where(*is_lane).values(msgspec.structs.asdict(lane)))


def lost_right(subscription: Subscription, known: RegistrySnapshot, sets: Container[str]) -> str:
    """Why a subscription has no notifications any more, by what is known; blank if it still has.

    `sets` are the entity sets that exist. Of owners, only a client can be judged; the subscription
    of another token lasts until its end.
    """
    if subscription.sets not in sets:
        return "the entity set does not exist"
    if not subscription.owner.startswith(_CLIENT):
        return ""
    client = known.by_name.get(subscription.owner.removeprefix(_CLIENT))
    if client is None or client.state is not ClientState.ACTIVE:
        return "the client was disabled or removed"
    if client.companies is not None and subscription.company_id not in client.companies:
        return "the client no longer has the company"
    if not implied(client.scopes) >= NEEDED:
        return "the client no longer has the scopes"
    rights = known.roles.rights_of(client.roles)
    if rights is not None and subscription.sets not in rights[Right.READ]:
        return "the client may no longer read the entity set"
    return ""
