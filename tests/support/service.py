"""A service within the tests' process, without a socket."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from ipaddress import IPv4Network
from pathlib import Path
from typing import Self, TypeVar

import httpx
from uvicorn.loops.auto import auto_loop_factory

from comptoir.app import application
from comptoir.catalog import MODEL
from comptoir.config import Settings, with_defaults
from comptoir.edm.model import Model
from support.client import Client
from support.companies import Company, CompanyAdmin
from support.exchange import exchange, left_open
from support.settings import changed
from support.tokens import Tokens

T = TypeVar("T")

_addresses = IPv4Network("127.1.0.0/16").hosts()


class Service:
    """The application on a fresh database; a `Carrier`.

    The event loop runs only during a request, so the database may have a minute to respond: the
    time of a test between two requests counts too.
    """

    def __init__(
        self,
        fresh: Callable[[Path, Model], str],
        folder: Path,
        model: Model = MODEL,
        **given: float | str,
    ) -> None:
        plain = Settings(
            database=fresh(folder, model),
            keys=str(folder / "keys"),
            log_level="off",
            connect_seconds=60,
        )
        self.settings = with_defaults(changed(plain, **given), given)
        self.tokens = Tokens(self.settings)
        self._runner = asyncio.Runner(loop_factory=auto_loop_factory())
        self._application = application(self.settings, model)
        self._run(self._application.start())
        self.admin = CompanyAdmin(self.settings, self._runner, model)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.admin.close()
        self._run(self._application.stop())
        self._runner.close()

    @property
    def client(self) -> Client:
        """A client at the base URL whose token may read and write in every company."""
        return Client(self, self.settings.base_url, self.tokens.issue())

    @property
    def origin(self) -> Client:
        """A client without a token at the root of the server, above the base path."""
        base, path = self.settings.base_url, self.settings.base_path
        return Client(self, base.removesuffix(path), "")

    def _run(self, work: Coroutine[object, None, T]) -> T:
        # a runner would replace the handler of interrupts for each request, at twice its cost
        return self._runner.get_loop().run_until_complete(work)

    def new_company(self, name: str | None = None) -> Company:
        return self.admin.add_company(self.client, name)

    def send(self, request: httpx.Request) -> httpx.Response:
        return self._run(self._exchange(request))

    def send_all(self, requests: Sequence[httpx.Request]) -> list[httpx.Response]:
        return self._run(self._send_all(requests))

    def beside(self, work: Callable[[], T]) -> T:
        """Do something in a thread while the service works in the background.

        Otherwise it rests between two requests, even within a transaction.
        """
        return self._run(asyncio.to_thread(work))

    def timed(self, request: httpx.Request) -> tuple[httpx.Response, float, float]:
        """Send a request: the response, its seconds, and how long it blocked the event loop."""
        return self._run(self._timed(request))

    async def _timed(self, request: httpx.Request) -> tuple[httpx.Response, float, float]:
        began = seen = time.perf_counter()
        blocked = 0.0
        sending = asyncio.ensure_future(self._exchange(request))
        while not sending.done():
            await asyncio.wait((sending,), timeout=0.001)
            now = time.perf_counter()
            blocked, seen = max(blocked, now - seen), now
        return sending.result(), seen - began, blocked

    def abandon(self, request: httpx.Request, turns: int) -> None:
        """Send a request, and disconnect after a number of iterations of the event loop."""
        self._run(self._abandon(request, turns))

    async def _abandon(self, request: httpx.Request, turns: int) -> None:
        sending = asyncio.ensure_future(self._exchange(request))
        for _ in range(turns):
            await asyncio.sleep(0)
        sending.cancel()
        await asyncio.wait((sending,))

    def leave(self, request: httpx.Request, pieces: int) -> list[str]:
        """Send a request and disconnect after some chunks of its response, by `left_open`."""
        return self._run(left_open(self._application, request, pieces))

    async def _exchange(self, request: httpx.Request) -> httpx.Response:
        return await exchange(self._application, request)

    async def _send_all(self, requests: Sequence[httpx.Request]) -> list[httpx.Response]:
        return list(await asyncio.gather(*(self._exchange(each) for each in requests)))


class Roaming:
    """A service to which each request comes from another loopback address; a `Carrier`.

    Failed authentications make an address wait, and so none of these.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self.settings = service.settings
        self.admin = service.admin

    @property
    def client(self) -> Client:
        """That of the service."""
        return replace(self._service.client, carrier=self)

    @property
    def origin(self) -> Client:
        """That of the service."""
        return replace(self._service.origin, carrier=self)

    def send(self, request: httpx.Request) -> httpx.Response:
        request.extensions["client"] = str(next(_addresses))
        return self._service.send(request)

    def send_all(self, requests: Sequence[httpx.Request]) -> list[httpx.Response]:
        return self._service.send_all(requests)


StartService = Callable[..., Service]
"""Starts a service; the arguments are those of `Service` after the folder."""
