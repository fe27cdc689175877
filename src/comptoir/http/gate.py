"""The gate of clients: some requests of each run at once, and the others wait for their turn."""

import asyncio
from weakref import WeakKeyDictionary

from starlette.types import Message, Receive

from comptoir.auth import Account
from comptoir.errors import UNAVAILABLE, Refusal
from comptoir.http.exchange import ClientDisconnectedError
from comptoir.response.response import Header


class Gate:
    """Admits requests of one client in their order; for use in one event loop only."""

    def __init__(self, at_once: int, seconds: float) -> None:
        self._turns = asyncio.Semaphore(at_once)
        self._seconds = seconds

    async def enter(self, receive: Receive) -> Receive:
        """Wait for a turn, which `leave` ends; returns what receives the body.

        Raises `Refusal` (503) after the longest wait, and `ClientDisconnectedError`.
        """
        if not self._turns.locked():
            await self._turns.acquire()
            return receive
        client = _Waiting(receive)
        admitted = asyncio.ensure_future(self._turns.acquire())
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
        raise Refusal(
            UNAVAILABLE,
            f"The client's other requests did not end within {self._seconds:g} seconds",
            "Send fewer requests at once.",
            headers={"Retry-After": "1"},
        )

    def leave(self) -> None:
        """End a turn."""
        self._turns.release()


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


class Turn:
    """The turn of one request, with the account of its client."""

    def __init__(self, account: Account, gate: Gate) -> None:
        self._account = account
        self._gate = gate
        self._is_admitted = False

    async def enter(self, receive: Receive) -> Receive:
        """Begin a request, which `leave` ends even after a refusal; returns as `Gate.enter`.

        Raises `Refusal`: 429 above a limit of the account, 503 if the turn does not come. Raises
        `ClientDisconnectedError` if the client does not wait for it.
        """
        self._account.enter()
        receive = await self._gate.enter(receive)
        self._is_admitted = True
        return receive

    def leave(self) -> None:
        """End the request."""
        self._account.leave()
        if self._is_admitted:
            self._gate.leave()

    def headers(self) -> list[Header]:
        """The limits of the account, and what is left of them."""
        return self._account.headers()


class Gates:
    """The gates of the clients, by their accounts. Each worker has its share of the turns."""

    def __init__(self, at_once: int, workers: int, seconds: float) -> None:
        self._at_once = max(1, at_once // workers)
        self._seconds = seconds
        self._gates: WeakKeyDictionary[Account, Gate] = WeakKeyDictionary()

    def turn(self, account: Account) -> Turn:
        """A turn at the gate of a client."""
        gate = self._gates.get(account)
        if gate is None:
            gate = self._gates[account] = Gate(self._at_once, self._seconds)
        return Turn(account, gate)
