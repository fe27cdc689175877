"""Limits how many requests of a client run at once; its other requests queue."""

import asyncio
from weakref import WeakKeyDictionary

from starlette.types import Message, Receive
from typing_extensions import override

from comptoir.auth import Account
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import refuse
from comptoir.http.exchange import ClientDisconnectedError, Lease
from comptoir.response.response import Header


class ConcurrencyLimiter:
    """Admits requests of one client in their order; for use in one event loop only."""

    def __init__(self, at_once: int, seconds: float) -> None:
        self._slots = asyncio.Semaphore(at_once)
        self._seconds = seconds

    async def enter(self, receive: Receive) -> Receive:
        """Wait for a slot, which `leave` ends; returns what receives the body.

        Raises `Refusal` (503) after the longest wait, and `ClientDisconnectedError`.
        """
        if not self._slots.locked():
            await self._slots.acquire()
            return receive
        client = _Waiting(receive)
        admitted = asyncio.ensure_future(self._slots.acquire())
        leaving = asyncio.ensure_future(client.disconnection())
        is_admitted = False
        try:
            await asyncio.wait(
                (admitted, leaving), timeout=self._seconds, return_when=asyncio.FIRST_COMPLETED
            )
            is_admitted = admitted.done()
        finally:
            has_left = not leaving.cancel()
            if not is_admitted and not admitted.cancel():
                # it has come at the moment of a cancellation, and is for the next request
                self.leave()
        if is_admitted:
            return client.receive
        if has_left:
            raise ClientDisconnectedError
        raise refuse(rows.QUEUED_TOO_LONG, seconds=self._seconds)

    def leave(self) -> None:
        """Release a slot."""
        self._slots.release()


class _Waiting:
    """The client of a request that waits: what it sends meanwhile is received after that.

    Only one piece of a body is read, so that waiting requests need little memory. Until it is
    complete, a disconnect is not noticed.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._message: Message | None = None

    async def disconnection(self) -> None:
        """Wait until the client disconnects."""
        while (message := await self._receive())["type"] != "http.disconnect":
            self._message = message
            if message.get("more_body", False):
                await asyncio.get_running_loop().create_future()

    async def receive(self) -> Message:
        """The piece of the body that was read first, then the others."""
        if self._message is None:
            return await self._receive()
        message, self._message = self._message, None
        return message


class AccountLease(Lease):
    """The share of one request in what its client may use."""

    def __init__(self, account: Account) -> None:
        self._account = account

    async def enter(self, receive: Receive) -> Receive:
        """Begin a request, which `leave` ends even after a refusal; returns what receives the body.

        Raises `Refusal` (429) above a limit of the account.
        """
        self._account.enter()
        return receive

    @override
    def leave(self) -> None:
        self._account.leave()

    @override
    def headers(self) -> list[Header]:
        return self._account.headers()


class ConcurrencySlot(AccountLease):
    """The share of one request, with a slot of its client."""

    def __init__(self, account: Account, limiter: ConcurrencyLimiter) -> None:
        super().__init__(account)
        self._limiter = limiter
        self._is_admitted = False

    @override
    async def enter(self, receive: Receive) -> Receive:
        """Begin a request as `AccountLease` does.

        Raises `Refusal` (503) if no slot becomes free, and `ClientDisconnectedError` if the client
        does not wait for it.
        """
        receive = await self._limiter.enter(await super().enter(receive))
        self._is_admitted = True
        return receive

    @override
    def leave(self) -> None:
        super().leave()
        if self._is_admitted:
            self._limiter.leave()


class ConcurrencyLimiters:
    """The limiters of the clients, by their accounts. Each worker has its share of the slots."""

    def __init__(self, at_once: int, workers: int, seconds: float) -> None:
        self._at_once = max(1, at_once // workers)
        self._seconds = seconds
        self._limiters: WeakKeyDictionary[Account, ConcurrencyLimiter] = WeakKeyDictionary()

    def slot(self, account: Account) -> ConcurrencySlot:
        """A slot of a client's limiter."""
        limiter = self._limiters.get(account)
        if limiter is None:
            limiter = self._limiters[account] = ConcurrencyLimiter(self._at_once, self._seconds)
        return ConcurrencySlot(account, limiter)
