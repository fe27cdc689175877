"""The pipeline of requests, and the hooks through which a rehearsal injects faults into it."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from starlette.routing import Route

from comptoir.auth import Limits
from comptoir.auth.authentication import Authenticator
from comptoir.edm.times import Clock
from comptoir.errors import Refusal
from comptoir.events.faults import DeliveryFaults
from comptoir.http.exchange import Exchange
from comptoir.inspector.inspector import Inspector
from comptoir.response.response import Response
from comptoir.service import Request, Service
from comptoir.store.store import Store

CUT = "comptoir.cut"
"""The type of the message by which the application cuts the connection."""

Answer = Callable[[Request], Awaitable[Response]]


class AtomicWrites(Protocol):
    """The writes of an atomic group."""

    async def add(self, request: Request) -> str | None:
        """Plan a write; returns the path of its record if that is known."""

    async def commit(self) -> list[Response]:
        """Do all writes or none; returns their responses."""

    async def attempt(self, refused: Refusal | None) -> tuple[list[Response], Refusal | None]:
        """Do all writes, or those before a refused one, which undoes them.

        Returns their responses, and the refusal.
        """


class FaultInjector(DeliveryFaults, Protocol):
    """Injects the faults of a rehearsal into requests and deliveries."""

    async def handle(
        self, request: Request, exchange: Exchange, answer: Answer, token: bytes
    ) -> Response:
        """The response to a request, which `answer` has without a fault.

        `token` is the `Authorization` header of the exchange.
        """

    def group(self, group: AtomicWrites, exchange: Exchange, token: bytes) -> AtomicWrites:
        """An atomic group whose requests meet faults."""

    def respond(self, exchange: Exchange, response: Response | None) -> None:
        """Note the response of an exchange before it is sent; None if its connection is cut."""

    def end_exchange(self, exchange: Exchange) -> None:
        """Note the end of an exchange, whatever it was for."""

    async def failing(self, batch: Request, exchange: Exchange) -> tuple[int, Refusal] | None:
        """The number of the request, from 0, at which a batch that is a transaction fails.

        None for a batch that meets no fault.
        """


@dataclass(frozen=True, slots=True)
class RequestPipeline:
    """The service that answers requests, the faults before it, and the recorder of exchanges.

    `injector` is None without faults, and `inspector` without a record of requests.
    """

    service: Service
    injector: FaultInjector | None = None
    inspector: Inspector | None = None


def _no_routes(_: Authenticator) -> Sequence[Route]:
    return ()


async def _nothing(_: Service, _store: Store, _limits: Limits) -> None:
    """Begin without a rehearsal."""


async def _no_end() -> None:
    """End without a rehearsal."""


@dataclass(frozen=True, slots=True)
class RehearsalHooks:
    """The hooks of a rehearsal in the application; the defaults do nothing.

    `clock` is that of tokens and days, in seconds since 1970, and `monotonic` that of rates.
    `routes` are those of the control endpoint, and `conditions` lines of `/readyz`. `begin` is
    awaited before the first request, and `end` after the last one.
    """

    injector: FaultInjector | None = None
    clock: Clock = time.time
    monotonic: Clock = time.monotonic
    routes: Callable[[Authenticator], Sequence[Route]] = _no_routes
    conditions: Callable[[], Sequence[str]] = tuple
    begin: Callable[[Service, Store, Limits], Awaitable[None]] = _nothing
    end: Callable[[], Awaitable[None]] = _no_end
