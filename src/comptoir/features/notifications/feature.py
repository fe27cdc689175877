"""Notifications as a part of a service."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager

from typing_extensions import override

from comptoir.auth.audit import Act, ActName, Actor
from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.edm.overlay import instant_type
from comptoir.features.notifications import NotificationSettings
from comptoir.features.notifications.resource import SubscriptionResource
from comptoir.features.notifications.sender import LAG_SECONDS, LOOK_SECONDS, Sender
from comptoir.features.notifications.subscriptions import Subscriptions
from comptoir.http.feature import Feature, Kernel
from comptoir.outgoing.session import Guard, Outgoing
from comptoir.store.jobs import Job, every

_RESET = "reason=a reset of the rehearsal"


class Notifications(Feature):
    """Serves subscriptions, and sends the notifications for them."""

    def __init__(self, settings: Settings, model: Model) -> None:
        self._settings = settings
        self._model = model
        self._marked: frozenset[str] | None = None

    @override
    @asynccontextmanager
    async def opened(self, kernel: Kernel) -> AsyncIterator[None]:
        settings, model, store = self._settings, self._model, kernel.store
        hooks = settings.behaviour.hooks
        if hooks is None:
            raise LookupError("a profile without notifications")
        own = settings.of(NotificationSettings)
        hooks = hooks.scaled(own.clock_factor)
        post = Outgoing(Guard(settings.networks, plain=own.outgoing_http == "on")).post
        self._metrics = kernel.metrics
        self._subscriptions = subscriptions = Subscriptions(store)
        instants = instant_type(settings.behaviour.forms)
        self._sender = sender = Sender(
            store, subscriptions, model, kernel.registry, hooks, post, instants, kernel.clock
        )
        sender.note = kernel.metrics.count_delivery
        for each in kernel.features:
            sender.faults = sender.faults or each.delivery_faults
        kernel.service.mount(
            SubscriptionResource(store, model, settings, hooks, post, kernel.clock)
        )
        try:
            yield
        finally:
            await sender.stop()

    @override
    def jobs(self) -> Iterable[Job]:
        faults = self._sender.faults
        wake = None if faults is None else faults.clock_moved
        return [every(LOOK_SECONDS, self._sender.look, wake), every(LAG_SECONDS, self._note_lag)]

    @override
    async def awaited(self, company_id: str) -> Sequence[str]:
        return await self._subscriptions.undelivered(company_id)

    async def _note_lag(self) -> None:
        self._metrics.set("notification_lag_seconds", await self._sender.lag())

    @override
    async def mark(self) -> None:
        self._marked = frozenset([each.id for each in await self._subscriptions.everywhere()])

    @override
    async def reset(self) -> None:
        """Delete the subscriptions that were added since the mark."""
        if self._marked is None:
            return
        for each in await self._subscriptions.everywhere():
            if each.id not in self._marked:
                act = Act(Actor("service"), ActName.SUBSCRIPTION_DROP, each.id, _RESET)
                await self._subscriptions.change(each, None, act)
