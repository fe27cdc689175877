"""The ASGI application: the API below the base path, pages outside it."""

import asyncio
import gc
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing
from functools import partial

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from comptoir.auth import Authenticator
from comptoir.config import Settings
from comptoir.errors import INTERNAL_ERROR, UNAVAILABLE, Refusal
from comptoir.http.batch import Batches, batch_root
from comptoir.http.compression import VARY, encoded, response_coding
from comptoir.http.cors import Cors
from comptoir.http.descriptors import DescriptorWatch
from comptoir.http.exchange import (
    NO_STORE,
    REVALIDATE,
    ClientDisconnectedError,
    Exchange,
    check_url,
    disconnection,
    read_body,
)
from comptoir.http.log import Journal
from comptoir.http.refusals import failed, stopping
from comptoir.plan.read import Row
from comptoir.request.headers import access, check_isolation, check_versions, combined
from comptoir.response.response import Pieces, Response, error_response
from comptoir.service import Request, Service
from comptoir.store.event_loop import cancel_and_wait

CLIENT_DISCONNECTED = 499
"""Status in the log and the metrics if the client did not wait for the response."""

# the last letters of a batch's path, whether or not its $ is percent-encoded
_BATCH = b"batch"

_log = logging.getLogger(__name__)


class Api:
    """Handles exchanges: each has an id, a response, and an entry in the log and the metrics."""

    def __init__(
        self,
        service: Service,
        pages: ASGIApp,
        authenticator: Authenticator,
        journal: Journal,
        settings: Settings,
    ) -> None:
        self._service = service
        self._batches = Batches(service, settings)
        self._pages = pages
        self._authenticator = authenticator
        self._journal = journal
        self._settings = settings
        self._cors = Cors(settings.origins) if settings.origins else None
        self._base = settings.base_path.encode()
        self._below = self._base + b"/"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one exchange."""
        exchange = Exchange(scope)
        try:
            path: bytes = scope["raw_path"]
            if path.startswith(self._below) or path == self._base:
                await self._respond(scope, receive, send, exchange)
            else:
                await self._pages(scope, receive, _recorded(send, exchange))
        except ClientDisconnectedError:
            exchange.status = CLIENT_DISCONNECTED
        except asyncio.CancelledError:
            await self._respond_to_stop(scope, receive, send, exchange)
        finally:
            self._journal.end(exchange)

    async def _respond(
        self, scope: Scope, receive: Receive, send: Send, exchange: Exchange
    ) -> None:
        try:
            preflight = None if self._cors is None else self._cors.preflight(scope)
            response = preflight or await self._response(scope, receive, exchange)
        except Refusal as refusal:
            response = error_response(refusal)
        except ClientDisconnectedError:
            raise
        except Exception:  # noqa: BLE001 - the last resort, and the cause goes to the log
            _log.exception("request %s failed", exchange.id)
            response = error_response(failed(exchange.id))
        try:
            await _send(self._with_cors(response, scope), receive, send, exchange)
        except ClientDisconnectedError:
            raise
        except Exception:  # noqa: BLE001 - the last resort, and the cause goes to the log
            # the status has been sent; a response that breaks off shows the client the failure
            _log.exception("the response to request %s broke off", exchange.id)
            exchange.status = INTERNAL_ERROR.status

    async def _response(self, scope: Scope, receive: Receive, exchange: Exchange) -> Response:
        raw_path: bytes = scope["raw_path"]
        path = raw_path[len(self._base) :].decode("latin-1")
        query: str = scope["query_string"].decode("latin-1")
        check_url(len(raw_path), query, self._settings.url_bytes)
        headers = combined(scope["headers"])
        principal = self._authenticator.authenticate(headers.get(b"authorization"))
        exchange.subject = principal.subject
        exchange.coding = response_coding(headers)
        check_versions(headers)
        check_isolation(headers)
        root = batch_root(path) if raw_path.endswith(_BATCH) else None
        limit = self._settings.body_bytes if root is None else self._settings.batch_bytes
        request = Request(
            method=scope["method"],
            path=path,
            query=query,
            headers=headers,
            principal=principal,
            read_body=partial(read_body, receive, headers, limit),
            while_connected=partial(while_connected, receive),
            access=access(headers),
        )
        if root is not None:
            return await self._batches.response(request, root, exchange)
        return await self._service.handle(request)

    async def _respond_to_stop(
        self, scope: Scope, receive: Receive, send: Send, exchange: Exchange
    ) -> None:
        """End an exchange that was cancelled because the server stops and waits no longer."""
        if exchange.status:
            # the status has been sent; a response that breaks off shows the client the failure
            message = "the response to request %s broke off because the service stops"
            _log.warning(message, exchange.id)
            exchange.status = UNAVAILABLE.status
            return
        response = error_response(stopping())
        response.headers.append((b"connection", b"close"))
        await _send(self._with_cors(response, scope), receive, send, exchange)

    def _with_cors(self, response: Response, scope: Scope) -> Response:
        if self._cors is not None:
            response.headers += self._cors.headers(scope)
        return response


class Application:
    """An ASGI application whose API exists from the server's start to its stop.

    `lifespan` opens the API and closes it, as in Starlette.
    """

    def __init__(self, lifespan: Callable[[], AbstractAsyncContextManager[Api]]) -> None:
        self._lifespan = lifespan
        self._open = AsyncExitStack()
        self._api: Api | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle the lifespan of the server, or one exchange."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._api is not None:
            await self._api(scope, receive, send)

    async def start(self) -> None:
        """Open the API; raises `OperatorError` if that is not possible."""
        self._api = await self._open.enter_async_context(self._lifespan())

    async def stop(self) -> None:
        """Close the API after the accepted writes."""
        await self._open.aclose()

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await self.start()
        descriptors = DescriptorWatch()
        descriptors.start()
        # the garbage collector need not visit modules, model and statements, which remain
        gc.freeze()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        descriptors.stop()
        await self.stop()
        await send({"type": "lifespan.shutdown.complete"})


async def while_connected(receive: Receive, rows: Awaitable[list[Row]]) -> list[Row]:
    """Wait for rows, or until the client disconnects (`ClientDisconnectedError`)."""
    reading = asyncio.ensure_future(rows)
    leaving = asyncio.ensure_future(disconnection(receive))
    try:
        await asyncio.wait({reading, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not reading.done():
            raise ClientDisconnectedError
        return reading.result()
    finally:
        leaving.cancel()
        if not reading.done():
            await cancel_and_wait(reading)


async def _send(response: Response, receive: Receive, send: Send, exchange: Exchange) -> None:
    status, headers = response.status, response.headers
    headers.append((b"x-request-id", exchange.id.encode()))
    headers += REVALIDATE if response.is_revalidated else NO_STORE
    body = encoded(headers, response.body, exchange.coding)
    if isinstance(body, bytes):
        if status == 304:
            headers.append(VARY)
        elif status != 204:
            headers.append((b"content-length", b"%d" % len(body)))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        exchange.status = status
        if exchange.method == "HEAD":
            body = b""
        exchange.size = len(body)
        await send({"type": "http.response.body", "body": body})
        return
    await send({"type": "http.response.start", "status": status, "headers": headers})
    exchange.status = status
    await _stream(body, receive, send, exchange)
    await send({"type": "http.response.body", "body": b""})


async def _stream(body: Pieces, receive: Receive, send: Send, exchange: Exchange) -> None:
    """Send a body in pieces; raises `ClientDisconnectedError` before the next piece."""
    leaving = asyncio.ensure_future(disconnection(receive))
    try:
        async with aclosing(body):
            async for piece in body:
                if exchange.method == "HEAD":
                    break
                # after a disconnect, `send` drops pieces silently
                if not leaving.done():
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                if leaving.done():
                    raise ClientDisconnectedError
                exchange.size += len(piece)
    finally:
        leaving.cancel()


def _recorded(send: Send, exchange: Exchange) -> Send:
    """Wrap `send` for the pages: record the status, and add the headers of every response."""

    async def recording(message: Message) -> None:
        if message["type"] == "http.response.start":
            exchange.status = message["status"]
            present = dict(message["headers"])
            added = [header for header in NO_STORE if header[0] not in present]
            added.append((b"x-request-id", exchange.id.encode()))
            message["headers"] = [*message["headers"], *added]
        await send(message)

    return recording
