"""The outermost layer: every exchange gets an id, an answer, a line in the log and a count."""

import asyncio
import logging
from contextlib import aclosing

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from comptoir.errors import INTERNAL_ERROR, UNAVAILABLE, Refusal
from comptoir.http.api import Api
from comptoir.http.body import ClientLeft, client_left
from comptoir.http.coding import VARIES, encode
from comptoir.http.cors import Cors
from comptoir.http.exchange import Exchange
from comptoir.http.failures import failed, stopping
from comptoir.http.guards import NOT_KEPT, REVALIDATED
from comptoir.http.journal import Journal
from comptoir.response.response import Pieces, Response, error_response

CLIENT_LEFT = 499
"""What the log and the metrics call an exchange whose client did not wait for the answer."""

_log = logging.getLogger(__name__)


class Edge:
    """An ASGI application: the interface under the base path, pages outside it."""

    def __init__(
        self, api: Api, pages: ASGIApp, base_path: str, journal: Journal, cors: Cors | None = None
    ) -> None:
        self._api = api
        self._pages = pages
        self._cors = cors
        self._base = base_path.encode()
        self._below = self._base + b"/"
        self._journal = journal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP exchange."""
        exchange = Exchange(scope)
        try:
            path: bytes = scope["raw_path"]
            if path.startswith(self._below) or path == self._base:
                await self._interface(scope, receive, send, exchange)
            else:
                await self._pages(scope, receive, _noted(send, exchange))
        except ClientLeft:
            exchange.status = CLIENT_LEFT
        except asyncio.CancelledError:
            await self._give_up(scope, receive, send, exchange)
        finally:
            self._journal.end(exchange)

    async def _interface(
        self, scope: Scope, receive: Receive, send: Send, exchange: Exchange
    ) -> None:
        try:
            preflight = None if self._cors is None else self._cors.preflight(scope)
            answer = preflight or await self._api.answer(scope, receive, exchange)
        except Refusal as refusal:
            answer = error_response(refusal)
        except ClientLeft:
            raise
        except Exception:  # noqa: BLE001 - the last resort, and the cause goes to the log
            # whatever failed, the client gets an error body
            answer = error_response(failed(exchange))
        try:
            await _send(self._readable(answer, scope), receive, send, exchange)
        except ClientLeft:
            raise
        except Exception:  # noqa: BLE001 - the last resort, and the cause goes to the log
            # the head has gone out with its status; an answer that breaks off tells the client
            _log.exception("the answer to request %s broke off", exchange.id)
            exchange.status = INTERNAL_ERROR.status

    async def _give_up(
        self, scope: Scope, receive: Receive, send: Send, exchange: Exchange
    ) -> None:
        """End an exchange that was cancelled: the server stops, and does not wait any longer."""
        if exchange.status:
            # the head has gone out with its status; an answer that breaks off tells the client
            _log.warning("the answer to request %s broke off: the service stops", exchange.id)
            exchange.status = UNAVAILABLE.status
            return
        answer = error_response(stopping())
        answer.headers.append((b"connection", b"close"))
        await _send(self._readable(answer, scope), receive, send, exchange)

    def _readable(self, answer: Response, scope: Scope) -> Response:
        if self._cors is not None:
            answer.headers += self._cors.headers(scope)
        return answer


async def _send(answer: Response, receive: Receive, send: Send, exchange: Exchange) -> None:
    status, headers = answer.status, answer.headers
    headers.append((b"x-request-id", exchange.id.encode()))
    headers += REVALIDATED if answer.is_revalidated else NOT_KEPT
    body = encode(headers, answer.body, exchange.coding)
    if isinstance(body, bytes):
        if status == 304:
            headers.append(VARIES)
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
    """Send a body piece by piece; raises `ClientLeft` when nobody takes the next one."""
    leaving = asyncio.ensure_future(client_left(receive))
    try:
        async with aclosing(body):
            async for piece in body:
                if exchange.method == "HEAD":
                    break
                # without a client, `send` drops what it is given, and says nothing
                if not leaving.done():
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                if leaving.done():
                    raise ClientLeft
                exchange.size += len(piece)
    finally:
        leaving.cancel()


def _noted(send: Send, exchange: Exchange) -> Send:
    """A `send` that notes the status and adds the headers of every answer, for the pages."""

    async def noting(message: Message) -> None:
        if message["type"] == "http.response.start":
            exchange.status = message["status"]
            given = dict(message["headers"])
            added = [header for header in NOT_KEPT if header[0] not in given]
            added.append((b"x-request-id", exchange.id.encode()))
            message["headers"] = [*message["headers"], *added]
        await send(message)

    return noting
