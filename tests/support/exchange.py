"""Sends a request to an application within the process, at half the cost of httpx's transport."""

import asyncio
import gc
import sys
from collections.abc import AsyncGenerator

import httpx
from starlette.types import ASGIApp, Message, Scope


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

    def find(generator: AsyncGenerator[object, None]) -> None:
        found.append(repr(generator))

    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(finalizer=find)
    try:
        await application(scope_of(request), receive, send)
        # what has come up since is young
        gc.collect(1)
    finally:
        sys.set_asyncgen_hooks(*hooks)
    assert left.is_set(), "the answer was shorter"
    return found
