"""The ASGI application: the API below the base path, and pages outside it."""

import asyncio
import gc
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing
from functools import partial

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from comptoir.auth.authentication import Authenticator, BasicAuthenticator, is_basic
from comptoir.auth.failures import sent_by
from comptoir.auth.roles import Principal
from comptoir.errors import refusal_rows
from comptoir.errors.refusal import Refusal
from comptoir.errors.table import INTERNAL_ERROR, INVALID_CREDENTIALS, UNAVAILABLE
from comptoir.http.batch import Batches, is_batch
from comptoir.http.compression import VARY, encoded, response_coding
from comptoir.http.exchange import (
    CUT,
    NO_STORE,
    REVALIDATE,
    ClientDisconnectedError,
    ConnectionCutError,
    Exchange,
    ProfileHeaders,
    RequestQueue,
    check_url,
    disconnection,
    is_private,
    read_body,
)
from comptoir.http.feature import Feature, Kernel, answer_through
from comptoir.http.log import Journal
from comptoir.http.routes import RequestTarget
from comptoir.plan.read import Row
from comptoir.request.headers import (
    ISOLATION,
    PROTOCOL_HEADERS,
    Headers,
    access,
    check_isolation,
    check_versions,
    combined,
)
from comptoir.response.errors import ErrorWriter
from comptoir.response.response import Header, Pieces, Response, Root
from comptoir.service import Request
from comptoir.store.fair_queue import CLIENT
from comptoir.store.jobs import cancel_and_wait
from comptoir.store.store import WHILE_CONNECTED, always_connected

ANY = "*"
METHODS = b"GET, HEAD, POST, PATCH, PUT, DELETE"
MAX_AGE_SECONDS = 7_200
"""Seconds for which a browser may cache a preflight; no browser allows more."""

ALLOWED_HEADERS = frozenset(
    {
        *(b"accept", b"accept-charset", b"accept-language", b"authorization", b"cache-control"),
        *(b"client-request-id", b"consistency-token", b"content-id", b"content-language"),
        *(b"content-type", b"data-access-intent", b"dataserviceversion", b"if-match"),
        *(b"if-modified-since", b"if-none-match", b"maxdataserviceversion", b"odata-isolation"),
        *(b"odata-maxversion", b"odata-version", b"pragma", b"prefer", b"repeatability-client-id"),
        *(b"repeatability-first-sent", b"repeatability-request-id", b"return-client-request-id"),
        *(b"sap-cancel-on-close", b"sap-contextid", b"sap-contextid-accept", b"sap-statistics"),
        *(b"traceparent", b"tracestate", b"x-correlation-id", b"x-csrf-token"),
        *(b"x-ms-client-request-id", b"x-request-id", b"x-requested-with"),
    }
)
"""Headers that a script may send: the service reads some, and client libraries add the others."""

_EXPOSED: Header = (
    b"access-control-expose-headers",
    (
        b"Consistency-Token, ETag, Location, OData-EntityId, OData-Version, Preference-Applied, "
        b"RateLimit, RateLimit-Policy, Repeatability-Result, Retry-After, WWW-Authenticate, "
        b"X-Request-Id"
    ),
)


class Cors:
    """The CORS protocol (Fetch Standard, 3.2): browsers let scripts of other sites use the API.

    Responses never allow credentials: a script needs a bearer token, so it cannot abuse a cookie of
    a user's browser, and the origin `*` alone does not grant access.
    """

    def __init__(self, origins: frozenset[str], others: frozenset[bytes]) -> None:
        """`others` are headers that a script may send besides those that are always allowed."""
        self._allowed = ALLOWED_HEADERS | others
        self._any = ANY in origins
        self._origins = frozenset(origin.encode() for origin in origins)

    def preflight(self, scope: Scope) -> Response | None:
        """The response to a preflight request of an allowed origin; None for other requests."""
        if scope["method"] != "OPTIONS":
            return None
        headers = combined(scope["headers"])
        origin = headers.get(b"origin")
        if b"access-control-request-method" not in headers or not self._allows(origin):
            return None
        requested = headers.get(b"access-control-request-headers", b"").lower().split(b",")
        allowed = b", ".join(sorted(self._allowed.intersection(map(bytes.strip, requested))))
        added: list[Header] = [
            (b"access-control-allow-methods", METHODS),
            (b"access-control-max-age", b"%d" % MAX_AGE_SECONDS),
        ]
        if allowed:
            added.append((b"access-control-allow-headers", allowed))
        return Response(204, added)

    def headers(self, scope: Scope) -> list[Header]:
        """Headers for every response; a browser hides even an error without them."""
        if self._any:
            return [(b"access-control-allow-origin", b"*"), _EXPOSED]
        varies: Header = (b"vary", b"Origin")
        origin = combined(scope["headers"]).get(b"origin")
        if origin is None or not self._allows(origin):
            return [varies]
        return [(b"access-control-allow-origin", origin), _EXPOSED, varies]

    def _allows(self, origin: bytes | None) -> bool:
        return origin is not None and (self._any or origin in self._origins)


LARGE_BLOCK = 4 << 20
"""Bytes that are larger than any slice of a response."""

CLIENT_DISCONNECTED = 499
"""Status in the log and the metrics if the client did not wait for the response."""

# the last letters of a batch's path, whether or not its $ is percent-encoded
_BATCH = b"batch"

_log = logging.getLogger(__name__)


class Api:
    """Handles exchanges: each has an id, a response, and an entry in the log and the metrics.

    The applications that its optional parts mount handle what is for them by themselves.
    """

    def __init__(
        self,
        kernel: Kernel,
        pages: ASGIApp,
        authenticator: Authenticator,
        basic: BasicAuthenticator,
        journal: Journal,
        errors: ErrorWriter,
    ) -> None:
        service, features, settings = kernel.service, kernel.features, kernel.settings
        routes = kernel.routes
        self._answer = answer_through(features, lambda request, _: service.handle(request))
        batches = Batches(kernel, self._answer, errors)
        self._answer_batch = answer_through(features, batches.response)
        self._mounts = [mount for each in features for mount in each.mounts()]
        self._observers = kernel.observers
        self._pages = pages
        self._authenticator = authenticator
        self._basic = basic
        self._failures = kernel.failures
        self._journal = journal
        self._errors = errors
        self._profile_headers = ProfileHeaders(settings)
        self._takes_isolation = settings.behaviour.batches.snapshot
        self._added: list[Callable[[Scope, Exchange], list[Header]]] = []
        """What gives the headers of every response."""
        if self._profile_headers:
            self._added.append(lambda _, exchange: self._profile_headers.of(exchange.id))
        if settings.behaviour.shows_limits:
            self._added.append(
                lambda _, exchange: exchange.account.headers() if exchange.account else []
            )
        self._check_url = partial(check_url, settings)
        self._settings = settings
        self._queue: RequestQueue | None = None
        if settings.running_requests:
            at_once = max(1, settings.running_requests // settings.workers)
            self._queue = RequestQueue(at_once, settings.queue_seconds)
        self._routes = routes
        self._response = self._response_of_api
        if settings.origins:
            others = routes.company_headers.union(ISOLATION if self._takes_isolation else ())
            cors = Cors(settings.origins, others)
            self._response = partial(self._response_or_preflight, cors)
            self._added.append(lambda scope, _: cors.headers(scope))
        self._serves = routes.serves
        self._admin_port = settings.admin_port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one exchange."""
        # the task of the request before it on the connection may have begun this one
        WHILE_CONNECTED.set(always_connected)
        is_for_admin = self._admin_port and scope["server"][1] == self._admin_port
        if self._serves(scope["raw_path"]) and not is_for_admin:
            answer = self._respond
        else:
            for mount in self._mounts:
                if mount.has(scope):
                    await mount.application(scope, receive, send)
                    return
            answer = self._show_page
        exchange = Exchange.begun(scope)
        for observe in self._observers:
            if (observer := observe(exchange, scope)) is not None:
                exchange.observers += (observer,)
        try:
            await answer(scope, receive, send, exchange)
        except ConnectionCutError:
            exchange.status = CLIENT_DISCONNECTED
            for each in exchange.observers:
                each.note_response(None)
            await send({"type": CUT})
        except ClientDisconnectedError:
            exchange.status = CLIENT_DISCONNECTED
        except asyncio.CancelledError:
            await self._respond_to_stop(scope, receive, send, exchange)
        finally:
            self._journal.end(exchange)
            for each in exchange.observers:
                each.end()

    async def _show_page(
        self, scope: Scope, receive: Receive, send: Send, exchange: Exchange
    ) -> None:
        scope["exchange"] = exchange
        await self._pages(scope, receive, self._recorded(send, exchange))

    async def _respond(
        self, scope: Scope, receive: Receive, send: Send, exchange: Exchange
    ) -> None:
        try:
            response = await self._response(scope, receive, exchange)
        except Refusal as refusal:
            exchange.note_refusal(refusal)
            if refusal.error is INVALID_CREDENTIALS:
                self._note_failure(scope, exchange, refusal)
            for each in exchange.observers:
                await each.note_refusal()
            # the response has the refusal, whose traceback would have the response
            refusal.__traceback__ = None
            response = self._errors.response(refusal, exchange.id, combined(scope["headers"]))
        except ClientDisconnectedError:
            raise
        except Exception:  # noqa: BLE001 - the last resort, and the cause goes to the log
            _log.exception("request %s failed", exchange.id)
            response = self._errors.response(refusal_rows.FAILED(id=exchange.id), exchange.id)
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
        root, _ = self._routes.located(scope["raw_path"], headers)
        if not (root.basic and is_basic(sent)):
            self._failures.note(sent_by(sent), exchange.client, refusal.problem, exchange.id)

    async def _response_or_preflight(
        self, cors: Cors, scope: Scope, receive: Receive, exchange: Exchange
    ) -> Response:
        return cors.preflight(scope) or await self._response_of_api(scope, receive, exchange)

    async def _response_of_api(
        self, scope: Scope, receive: Receive, exchange: Exchange
    ) -> Response:
        raw_path: bytes = scope["raw_path"]
        query: str = scope["query_string"].decode("latin-1")
        self._check_url(len(raw_path), query)
        headers = combined(scope["headers"])
        root, path = self._routes.located(raw_path, headers)
        principal = await self._principal(root, headers, scope, exchange)
        if principal.account is not None:
            exchange.account = principal.account
            principal.account.enter()
            if self._queue is not None:
                receive = await self._queue.enter(receive)
                exchange.leave_queue = self._queue.release
        exchange.coding = response_coding(headers)
        has_protocol_headers = not PROTOCOL_HEADERS.isdisjoint(headers)
        if has_protocol_headers:
            check_versions(headers)
            if not self._takes_isolation:
                check_isolation(headers)
        if self._routes.names_companies:
            target = RequestTarget(root, path, query, headers)
            root, path, query, headers = await self._routes.with_company_id(target, principal)
        for_batch = raw_path.endswith(_BATCH) and is_batch(path)
        limit = self._settings.batch_bytes if for_batch else self._settings.body_bytes
        # a read that waits takes what the client sends for the end of the request
        WHILE_CONNECTED.set(partial(while_connected, receive))
        request = Request(
            method=scope["method"],
            root=root,
            path=path,
            query=query,
            headers=headers,
            principal=principal,
            read_body=partial(read_body, receive, headers, limit),
            access=access(headers) if has_protocol_headers else None,
        )
        for each in exchange.observers:
            each.note_request(request)
        answer = self._answer_batch if for_batch else self._answer
        return await answer(request, exchange)

    async def _principal(
        self, root: Root, headers: Headers, scope: Scope, exchange: Exchange
    ) -> Principal:
        """The principal of a request, which the exchange notes; raises `Refusal` without one."""
        authorization = headers.get(b"authorization")
        try:
            if root.basic and is_basic(authorization):
                principal = await self._basic.authenticate(
                    authorization, exchange.client, exchange.id, is_private=is_private(scope)
                )
            else:
                principal = await self._authenticator.authenticate(authorization)
        except Refusal as refusal:
            if root.challenge and refusal.error is INVALID_CREDENTIALS:
                refusal.headers = {**refusal.headers, "WWW-Authenticate": root.challenge}
            raise
        exchange.subject = principal.subject
        exchange.authorization = authorization or b""
        CLIENT.set(principal.subject)
        return principal

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
        response = self._errors.response(refusal_rows.SERVICE_STOPPED(), exchange.id)
        response.headers.append((b"connection", b"close"))
        await _send(self._completed(response, scope, exchange), receive, send, exchange)

    def _completed(self, response: Response, scope: Scope, exchange: Exchange) -> Response:
        """Add the headers of every response, which observers note."""
        for headers in self._added:
            response.headers += headers(scope, exchange)
        for each in exchange.observers:
            each.note_response(response)
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

    `lifespan` opens the API and closes it, as in Starlette. `features` are its optional parts.
    """

    def __init__(
        self,
        lifespan: Callable[[], AbstractAsyncContextManager[ASGIApp]],
        features: Sequence[Feature],
    ) -> None:
        self._lifespan = lifespan
        self.features = features
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
        # glibc keeps freed memory up to twice the largest block that was freed: without this, each
        # page gives its memory back, and the next one pays for it again
        bytes(LARGE_BLOCK)
        await send({"type": "lifespan.startup.complete"})
        await receive()
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
