"""A service within the tests' process, without a socket.

It gets requests at half the cost of httpx's transport.
"""

import asyncio
import gc
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from ipaddress import IPv4Network
from pathlib import Path
from typing import Self, TypeVar

import httpx
from starlette.types import ASGIApp, Message, Scope
from uvicorn.loops.auto import auto_loop_factory

from comptoir.app import application
from comptoir.catalog import MODEL
from comptoir.config import Settings, with_defaults
from comptoir.edm.model import Model
from support.client import Client
from support.companies import Company, CompanyAdmin
from support.settings import changed
from support.tokens import Tokens

T = TypeVar("T")

_addresses = IPv4Network("127.1.0.0/16").hosts()


def scope_of(request: httpx.Request) -> Scope:
    """A request as a server describes it to an application."""
    url = request.url
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "scheme": url.scheme,
        "path": url.path,
        "raw_path": url.raw_path.partition(b"?")[0],
        "query_string": url.query,
        "server": (url.host, url.port),
        "client": (request.extensions.get("client", "127.0.0.1"), 123),
        "root_path": "",
    }


async def exchange(application: ASGIApp, request: httpx.Request) -> httpx.Response:
    """The whole response to a request; what the application raises is raised."""
    assert isinstance(request.stream, httpx.AsyncByteStream)
    chunks = aiter(request.stream)
    is_sent = False
    started: Message = {}
    body: list[bytes] = []
    ended = asyncio.Event()

    async def receive() -> Message:
        nonlocal is_sent
        if is_sent:
            await ended.wait()
            return {"type": "http.disconnect"}
        chunk = await anext(chunks, None)
        is_sent = chunk is None
        return {"type": "http.request", "body": chunk or b"", "more_body": not is_sent}

    async def send(message: Message) -> None:
        assert not ended.is_set()
        if message["type"] == "http.response.start":
            assert not started
            started.update(message)
        elif message["type"] == "http.response.body":
            if request.method != "HEAD":
                body.append(message.get("body", b""))
            if not message.get("more_body", False):
                ended.set()

    await application(scope_of(request), receive, send)
    assert ended.is_set()
    # a response that is given its content adds a Content-Length
    stream = httpx.ByteStream(b"".join(body))
    headers = started.get("headers", [])
    response = httpx.Response(started["status"], headers=headers, stream=stream, request=request)
    response.read()
    return response


async def left_open(application: ASGIApp, request: httpx.Request, pieces: int) -> list[str]:
    """Disconnect after some chunks of a response; returns the generators that are not closed."""
    found: list[str] = []
    left = asyncio.Event()
    bodies = [{"type": "http.request", "body": request.content}]
    count = 0

    async def receive() -> Message:
        if bodies:
            return bodies.pop()
        await left.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        nonlocal count
        count += message["type"] == "http.response.body"
        if count >= pieces:
            left.set()
        await asyncio.sleep(0)

    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(finalizer=lambda generator: found.append(repr(generator)))
    try:
        await application(scope_of(request), receive, send)
        # what has come up since is young
        gc.collect(1)
    finally:
        sys.set_asyncgen_hooks(*hooks)
    assert left.is_set(), "the answer was shorter"
    return found


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
        async def gather() -> list[httpx.Response]:
            return await asyncio.gather(*map(self._exchange, requests))

        return self._run(gather())

    def beside(self, work: Callable[[], T]) -> T:
        """Do something in a thread while the service works in the background.

        Otherwise it rests between two requests, even within a transaction.
        """
        return self._run(asyncio.to_thread(work))

    def timed(self, request: httpx.Request) -> tuple[httpx.Response, float, float]:
        """Send a request: the response, its seconds, and how long it blocked the event loop."""

        async def send() -> tuple[httpx.Response, float, float]:
            began = seen = time.perf_counter()
            blocked = 0.0
            sending = asyncio.ensure_future(self._exchange(request))
            while not sending.done():
                await asyncio.wait((sending,), timeout=0.001)
                now = time.perf_counter()
                blocked, seen = max(blocked, now - seen), now
            return sending.result(), seen - began, blocked

        return self._run(send())

    def abandon(self, request: httpx.Request, turns: int) -> None:
        """Send a request, and disconnect after a number of iterations of the event loop."""

        async def send() -> None:
            sending = asyncio.ensure_future(self._exchange(request))
            for _ in range(turns):
                await asyncio.sleep(0)
            sending.cancel()
            await asyncio.wait((sending,))

        self._run(send())

    def leave(self, request: httpx.Request, pieces: int) -> list[str]:
        """Send a request and disconnect after some chunks of its response, by `left_open`."""
        return self._run(left_open(self._application, request, pieces))

    def _exchange(self, request: httpx.Request) -> Coroutine[object, None, httpx.Response]:
        return exchange(self._application, request)


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
