"""Requests of the service to other servers, guarded, and the faults on demand of deliveries.

`session` imports aiohttp, which a service that sends no requests does not need.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import msgspec


@dataclass(frozen=True, slots=True)
class Document:
    """A response's body, and its `Cache-Control`, empty without one."""

    content: bytes
    cache_control: str


@dataclass(frozen=True, slots=True)
class PostAnswer:
    """The status of an answer, and the start of its body."""

    status: int
    body: bytes


class OutgoingError(Exception):
    """Why a request was not sent, or has no usable response: a sentence without its full stop.

    `public` does not say to which address a name resolves.
    """

    def __init__(self, problem: str, public: str = "") -> None:
        super().__init__(problem)
        self.public = public or problem


Post = Callable[[str, bytes, float], Awaitable[PostAnswer]]
"""Sends a body to a URL and returns the answer within some seconds, or raises `OutgoingError`."""

PostForm = Callable[[str, Mapping[str, str], str], Awaitable[PostAnswer]]
"""Sends a form to a URL with an `Authorization`, blank for none, or raises `OutgoingError`."""

Fetch = Callable[[str], Awaitable[Document]]
"""Returns the document at a URL, or raises `OutgoingError`."""


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
