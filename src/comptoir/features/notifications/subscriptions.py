"""Subscriptions as they are stored: one unit of work for each change.

An id begins with the company's, so that each statement is about one company.
"""

import re
import secrets
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit
from uuid import UUID

import msgspec

from comptoir.auth.audit import Act
from comptoir.auth.records import ClientState, RegistrySnapshot
from comptoir.auth.tokens import Scope, implied
from comptoir.edm.types import Stored
from comptoir.features.notifications.delivery import DeliveryCursor
from comptoir.plan.read import Row
from comptoir.sql.prepared import Query, Steps
from comptoir.sql.subscriptions import SubscriptionStatements
from comptoir.store.store import Store
from comptoir.store.unit import UnitOfWork

_ID = re.compile(r"[0-9a-f]{48}", re.ASCII)
_COMPANY_DIGITS = 32
_LANE = 0

NEEDED = frozenset({Scope.RECORDS_READ, Scope.EVENTS})
"""The scopes that a subscription needs."""

_CLIENT = "client:"


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


class Leased(msgspec.Struct, frozen=True):
    """The lanes that a process has leased, and the number of the company's last change then."""

    lanes: Sequence[DeliveryCursor]
    number: int


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

    @property
    def _statements(self) -> SubscriptionStatements:
        return self._store.statements.subscriptions

    async def find(self, subscription_id: str) -> Subscription | None:
        """The subscription with this id, None if it does not exist."""
        if _ID.fullmatch(subscription_id) is None:
            return None
        return await self._store.read(self._stored(subscription_id))

    async def of_company(self, company_id: str) -> list[Subscription]:
        """The subscriptions of a company, in the order of their creation."""
        rows = await self._rows(self._statements.subscriptions.query(company_id))
        return [Subscription(*row) for row in rows]  # type: ignore[arg-type]

    async def everywhere(self) -> list[Subscription]:
        """The subscriptions of all companies."""
        return await self._store.read(self._everywhere())

    def _everywhere(self, *, locks: bool = False) -> Steps[list[Subscription]]:
        """The subscriptions of all companies; with `locks`, no other process adds one meanwhile."""
        companies = yield from self._control.subscribed_companies(locks=locks)
        found: list[Subscription] = []
        for company_id in companies:
            rows = yield self._statements.subscriptions.query(company_id)
            found += [Subscription(*row) for row in rows]  # type: ignore[arg-type]
        return found

    async def add(
        self, subscription: Subscription, act: Act, check: Callable[[Sequence[Subscription]], None]
    ) -> None:
        """Add a subscription to the changes from now on, after a `check` of all others."""
        company_id, statements = subscription.company_id, self._statements

        def work(unit: UnitOfWork) -> Steps[None]:
            unit.ledger.check_exists()
            check((yield from self._everywhere(locks=True)))
            lane = DeliveryCursor(subscription.id, _LANE, unit.ledger.number)
            yield statements.add_subscription.query(company_id, *_columns(subscription))
            yield statements.add_lane.query(company_id, *_columns(lane))

        # first, because only the subscriptions of such companies are looked for
        await self._control.add_subscribed(company_id)
        await self._store.transact(company_id, work)
        await self._control.record([act])

    async def renew(self, former: Subscription, renewed: Subscription, act: Act) -> bool:
        """Store a changed subscription; False if it was changed or deleted meanwhile."""

        def change() -> Steps[None]:
            yield self._statements.renew_subscription.query(
                former.company_id,
                renewed.id,
                renewed.url,
                renewed.client_state,
                renewed.version,
                renewed.expires_at,
                renewed.modified_at,
            )

        return await self._changed(former, change, act)

    async def remove(self, subscription: Subscription, act: Act) -> bool:
        """Delete a subscription; False if it was changed or deleted meanwhile."""
        return await self._changed(subscription, lambda: self._drop(subscription.id), act)

    async def _changed(
        self, former: Subscription, change: Callable[[], Steps[None]], act: Act
    ) -> bool:
        def work(_: UnitOfWork) -> Steps[bool]:
            if (yield from self._stored(former.id)) != former:
                return False
            yield from change()
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
        query = self._statements.waiting.query(company_id, int(now), int(real_now))
        width = len(Subscription.__struct_fields__)
        return [
            (Subscription(*row[:width]), DeliveryCursor(*row[width:]))  # type: ignore[arg-type]
            for row in await self._rows(query)
        ]

    async def undelivered(self, company_id: str) -> list[str]:
        """When the first change was made that each subscription of a company was not sent yet."""
        return [
            str(at) for (at,) in await self._rows(self._statements.undelivered.query(company_id))
        ]

    async def lease(
        self, company_id: str, lanes: Sequence[DeliveryCursor], holder: str, real_now: float
    ) -> Leased:
        """Lease those lanes that no other process has changed or leased since they were read."""

        def work(unit: UnitOfWork) -> Steps[Leased]:
            leased: list[DeliveryCursor] = []
            for lane in lanes:
                taken = lane.leased(holder, real_now)
                if taken is not None and (yield from self._is_stored(company_id, lane)):
                    yield self._statements.set_lane.query(company_id, *_columns(taken))
                    leased.append(taken)
            return Leased(leased, unit.ledger.number)

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
                    yield self._statements.set_lane.query(company_id, *_columns(following))
            return dropped

        return await self._store.transact(company_id, work)

    async def _rows(self, query: Query) -> list[Row]:
        def work() -> Steps[list[Row]]:
            return (yield query)

        return await self._store.read(work())

    def _stored(self, subscription_id: str) -> Steps[Subscription | None]:
        company_id = _company_in(subscription_id)
        rows = yield self._statements.subscription.query(company_id, subscription_id)
        return Subscription(*rows[0]) if rows else None  # type: ignore[arg-type]

    def _is_stored(self, company_id: str, lane: DeliveryCursor) -> Steps[bool]:
        rows = yield self._statements.lane.query(company_id, lane.subscription, lane.lane)
        return [DeliveryCursor(*row) for row in rows] == [lane]  # type: ignore[arg-type]

    def _drop(self, subscription_id: str) -> Steps[None]:
        company_id = _company_in(subscription_id)
        yield self._statements.drop_subscription.query(company_id, subscription_id)
        yield self._statements.drop_lanes.query(company_id, subscription_id)


def _columns(row: Subscription | DeliveryCursor) -> tuple[Stored, ...]:
    return msgspec.structs.astuple(row)


def lost_right(subscription: Subscription, known: RegistrySnapshot) -> str:
    """Why the owner may not have the notifications by what is known; blank if it may.

    Only a client can be judged; the subscription of another token lasts until its end.
    """
    if not subscription.owner.startswith(_CLIENT):
        return ""
    client = next((c for c in known.clients.values() if c.party == subscription.owner), None)
    if client is None or client.state is not ClientState.ACTIVE:
        return "the client was disabled or removed"
    if client.companies is not None and subscription.company_id not in client.companies:
        return "the client no longer has the company"
    if not implied(client.scopes) >= NEEDED:
        return "the client no longer has the scopes"
    rights = known.roles.rights_of(client.roles)
    if rights is not None and subscription.sets not in rights.readable:
        return "the client may no longer read the entity set"
    return ""
