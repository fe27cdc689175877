"""The ASGI application: the API below the base path, pages and the console outside it."""

import asyncio
import gc
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, suppress
from functools import partial

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from comptoir import refusal_rows
from comptoir.auth.authentication import Authenticator
from comptoir.auth.basic import RequestOrigin, is_basic
from comptoir.auth.failures import Failures, sent_by
from comptoir.config import Settings
from comptoir.errors import INTERNAL_ERROR, INVALID_CREDENTIALS, UNAVAILABLE, Refusal, refuse
from comptoir.http.batch import Batches, batch_root
from comptoir.http.company_names import COMPANY_HEADERS, RequestTarget
from comptoir.http.compression import VARY, encoded, response_coding
from comptoir.http.concurrency import ConcurrencyLimiters
from comptoir.http.cors import Cors
from comptoir.http.exchange import (
    NO_STORE,
    REVALIDATE,
    ClientDisconnectedError,
    ConnectionCutError,
    Exchange,
    ProfileHeaders,
    UrlLimits,
    disconnection,
    is_private,
    read_body,
)
from comptoir.http.log import Journal
from comptoir.http.pages import Outside, is_for_admin, is_for_console
from comptoir.http.pipeline import CUT, Answer, RequestPipeline
from comptoir.http.routes import Routes
from comptoir.plan.read import Row
from comptoir.request.headers import ISOLATION, access, check_isolation, check_versions, combined
from comptoir.response.errors import ErrorWriter
from comptoir.response.response import Pieces, Response
from comptoir.service import Request
from comptoir.store.event_loop import cancel_and_wait
from comptoir.store.fair_queue import CLIENT

CLIENT_DISCONNECTED = 499
"""Status in the log and the metrics if the client did not wait for the response."""

# the last letters of a batch's path, whether or not its $ is percent-encoded
_BATCH = b"batch"

_log = logging.getLogger(__name__)


class Api:
    """Handles exchanges: each has an id, a response, and an entry in the log and the metrics.

    The console handles those that are for it by itself.
    """

    def __init__(
        self,
        served: RequestPipeline,
        outside: Outside,
        authenticator: Authenticator,
        failures: Failures,
        journal: Journal,
        errors: ErrorWriter,
        routes: Routes,
        settings: Settings,
    ) -> None:
        self._inspector = served.inspector
        self._service = served.service
        self._injector = served.injector
        self._batches = Batches(served, errors, routes, settings)
        self._pages = outside.pages
        self._console = outside.console
        self._authenticator = authenticator
        self._basic = authenticator.basic
        self._failures = failures
        self._journal = journal
        self._errors = errors
        self._profile_headers = ProfileHeaders(settings)
        self._refuses_isolation = not settings.behaviour.batches.snapshot
        self._shows_limits = settings.behaviour.shows_limits
        self._check_url = UrlLimits(settings).check
        self._body_bytes = settings.body_bytes
        self._batch_bytes = settings.batch_bytes
        self._limiters: ConcurrencyLimiters | None = None
        if settings.running_requests:
            self._limiters = ConcurrencyLimiters(
                settings.running_requests, settings.workers, settings.queue_seconds
            )
        self._settings = settings
        self._locate = routes.located
        self._names = routes.names
        others = frozenset[bytes]() if routes.names is None else COMPANY_HEADERS
        if settings.behaviour.batches.snapshot:
            others |= frozenset(ISOLATION)
        self._cors = Cors(settings.origins, others) if settings.origins else None
        self._serves = routes.serves
        self._has_admin_port = settings.admin_port != 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one exchange."""
        if self._serves(scope["raw_path"]) and not (
            self._has_admin_port and is_for_admin(scope, self._settings)
        ):
            answer = self._respond
        elif self._console is not None and is_for_console(scope, self._settings):
            await self._console(scope, receive, send)
            return
        else:
            answer = self._show_page
        exchange = Exchange(scope)
        inspector = self._inspector
        if inspector is not None and inspector.is_on:
            exchange.capture = inspector.begin(scope)
        try:
            await answer(scope, receive, send, exchange)
        except ConnectionCutError:
            exchange.status = CLIENT_DISCONNECTED
            if self._injector is not None:
                self._injector.respond(exchange, None)
            await send({"type": CUT})
        except ClientDisconnectedError:
            exchange.status = CLIENT_DISCONNECTED
        except asyncio.CancelledError:
            await self._respond_to_stop(scope, receive, send, exchange)
        finally:
            self._journal.end(exchange)
            if self._injector is not None:
                self._injector.end_exchange(exchange)
            if inspector is not None and exchange.capture is not None:
                inspector.add(exchange, exchange.capture)

    async def _show_page(
        self, scope: Scope, receive: Receive, send: Send, exchange: Exchange
    ) -> None:
        scope["exchange"] = exchange
        await self._pages(scope, receive, self._recorded(send, exchange))

    async def _respond(
        self, scope: Scope, receive: Receive, send: Send, exchange: Exchange
    ) -> None:
        try:
            preflight = None if self._cors is None else self._cors.preflight(scope)
            response = preflight or await self._response(scope, receive, exchange)
        except Refusal as refusal:
            exchange.note_refusal(refusal)
            if refusal.error is INVALID_CREDENTIALS:
                self._note_failure(scope, exchange, refusal)
            if exchange.capture is not None and exchange.capture.unread is not None:
                exchange.capture.body = await _arrived(exchange.capture.unread)
            response = self._errors.response(refusal, exchange.id, combined(scope["headers"]))
        except ClientDisconnectedError:
            raise
        except Exception:  # noqa: BLE001 - the last resort, and the cause goes to the log
            _log.exception("request %s failed", exchange.id)
            response = self._errors.response(
                refuse(refusal_rows.FAILED, id=exchange.id), exchange.id
            )
        if self._injector is not None:
            self._injector.respond(exchange, response)
        try:
            await _send(self._completed(response, scope, exchange), receive, send, exchange)
        except ClientDisconnectedError:
            raise
        except Exception:  # noqa: BLE001 - the last resort, and the cause goes to the log
            # the status has been sent; a response that breaks off shows the client the failure
            _log.exception("the response to request %s broke off", exchange.id)
            exchange.status = INTERNAL_ERROR.status

    def _note_failure(self, scope: Scope, exchange: Exchange, refusal: Refusal) -> None:
        """Count a failed authentication; a request without credentials is not one.

        Failures by HTTP Basic are counted where the secret is checked.
        """
        headers = combined(scope["headers"])
        sent = headers.get(b"authorization")
        if sent is None:
            return
        root, _ = self._locate(scope["raw_path"], headers)
        if not (root.basic and is_basic(sent)):
            self._failures.note(sent_by(sent), exchange.client, refusal.problem, exchange.id)

    async def _response(self, scope: Scope, receive: Receive, exchange: Exchange) -> Response:
        raw_path: bytes = scope["raw_path"]
        query: str = scope["query_string"].decode("latin-1")
        self._check_url(len(raw_path), query)
        headers = combined(scope["headers"])
        root, path = self._locate(raw_path, headers)
        authorization = headers.get(b"authorization")
        try:
            if self._basic is not None and root.basic and is_basic(authorization):
                sender = RequestOrigin(exchange.client, is_private(scope), exchange.id)
                principal = await self._basic.authenticate(authorization, sender)
            else:
                principal = await self._authenticator.authenticate(authorization)
        except Refusal as refusal:
            if root.challenge and refusal.error is INVALID_CREDENTIALS:
                refusal.headers = {**refusal.headers, "WWW-Authenticate": root.challenge}
            raise
        exchange.subject = principal.subject
        CLIENT.set(principal.subject)
        account = principal.account
        if account is not None:
            if self._limiters is None:
                exchange.account = account
                account.enter()
            else:
                exchange.account = slot = self._limiters.slot(account)
                receive = await slot.enter(receive)
        exchange.coding = response_coding(headers)
        check_versions(headers)
        if self._refuses_isolation:
            check_isolation(headers)
        if self._names is not None:
            place = RequestTarget(root, path, query, headers)
            root, path, query, headers = await self._names.with_company_id(place, principal)
        batch = batch_root(path) if raw_path.endswith(_BATCH) else None
        limit = self._body_bytes if batch is None else self._batch_bytes
        request = Request(
            method=scope["method"],
            root=root,
            path=path,
            query=query,
            headers=headers,
            principal=principal,
            read_body=partial(read_body, receive, headers, limit),
            while_connected=partial(while_connected, receive),
            access=access(headers),
        )
        if exchange.capture is not None:
            exchange.capture.note_request(request)
        answer: Answer = self._service.handle
        if batch is not None:
            answer = partial(self._batches.response, root=batch, exchange=exchange)
        if self._injector is not None:
            return await self._injector.handle(request, exchange, answer, headers[b"authorization"])
        return await answer(request)

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
        response = self._errors.response(refuse(refusal_rows.SERVICE_STOPPED), exchange.id)
        response.headers.append((b"connection", b"close"))
        await _send(self._completed(response, scope, exchange), receive, send, exchange)

    def _completed(self, response: Response, scope: Scope, exchange: Exchange) -> Response:
        """Add the headers of every response."""
        if self._profile_headers.exist:
            response.headers += self._profile_headers.of(exchange.id)
        if exchange.account is not None and self._shows_limits:
            response.headers += exchange.account.headers()
        if self._cors is not None:
            response.headers += self._cors.headers(scope)
        if exchange.capture is not None:
            exchange.capture.note_response(response)
        return response

    def _recorded(self, send: Send, exchange: Exchange) -> Send:
        """Wrap `send` for the pages: record status and size, and add each response's headers."""

        async def recording(message: Message) -> None:
            if message["type"] == "http.response.start":
                exchange.status = message["status"]
                present = dict(message["headers"])
                added = [header for header in NO_STORE if header[0] not in present]
                added.append((b"x-request-id", exchange.id.encode()))
                added += self._profile_headers.of(exchange.id)
                message["headers"] = [*message["headers"], *added]
            elif exchange.method != "HEAD":
                exchange.size += len(message.get("body", b""))
            await send(message)

        return recording


class Application:
    """An ASGI application whose API exists from the server's start to its stop.

    `lifespan` opens the API and closes it, as in Starlette.
    """

    def __init__(self, lifespan: Callable[[], AbstractAsyncContextManager[ASGIApp]]) -> None:
        self._lifespan = lifespan
        self._open = AsyncExitStack()
        self._api: ASGIApp | None = None

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Handle the lifespan of the server, or one exchange after the API was opened."""
        if self._api is None:
            return self._live(receive, send)
        return self._api(scope, receive, send)

    async def start(self) -> None:
        """Open the API; raises `OperatorError` if that is not possible."""
        self._api = await self._open.enter_async_context(self._lifespan())

    async def stop(self) -> None:
        """Close the API after the accepted writes."""
        await self._open.aclose()

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await self.start()
        # the garbage collector need not visit modules, model and statements, which remain
        gc.freeze()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.stop()
        await send({"type": "lifespan.shutdown.complete"})


async def _arrived(read_body: Callable[[], Awaitable[bytes]]) -> bytes | None:
    """The body of a refused request, for which it does not wait; None if not all has arrived."""
    with suppress(Refusal, ClientDisconnectedError, TimeoutError):
        async with asyncio.timeout(0):
            return await read_body()
    return None


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
