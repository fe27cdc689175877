"""Faults on demand that deliveries meet; without any, a delivery is asked for nothing."""

import asyncio
from collections.abc import Callable
from enum import StrEnum
from typing import Protocol

import msgspec


class DeliveryMode(StrEnum):
    """The fate of the notifications that a delivery has for a subscription."""

    DUPLICATE = "duplicate"
    """They are posted once more after the receiver has accepted them."""
    REORDER = "reorder"
    """They come in the opposite order."""
    DELAY = "delay"
    """They are delivered later."""
    DROP = "drop"
    """They are not posted, and count as delivered."""
    DROP_SUBSCRIPTION = "drop-subscription"
    """They are not posted, and the subscription is deleted."""
    COLLECTION = "collection"
    """One notification of the set replaces them."""


HELD = frozenset({DeliveryMode.DELAY, DeliveryMode.DROP, DeliveryMode.DROP_SUBSCRIPTION})
"""The modes whose notifications are not posted now."""


class DeliveryFault(msgspec.Struct, frozen=True):
    """A fault that a delivery meets; `note` is called once it has acted.

    `seconds` are those of a delay.
    """

    mode: DeliveryMode
    seconds: float
    note: Callable[[], None]


class DeliveryFaults(Protocol):
    """Decides which fault a delivery meets, by a clock that it moves.

    `resets` is how often it has moved the clock back to the real time. `clock_moved` is set
    whenever it has moved the clock, since notifications may be due then.
    """

    resets: int
    clock_moved: asyncio.Event

    async def of_delivery(
        self, subscription_id: str, owner: str, entity_set: str, resource: str, company_id: str
    ) -> DeliveryFault | None:
        """The fault that the next delivery for a subscription meets, None for no fault."""
