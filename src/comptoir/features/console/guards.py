"""The guards of the console: the host and origin of requests, the headers of answers.

These requests are logged, except those that pages send by themselves, and they are not counted
among those of the API.
"""

import asyncio
import logging
from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from comptoir.auth.origins import console_origins
from comptoir.config import Settings
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Refusal
from comptoir.errors.table import BAD_REQUEST, METHOD_NOT_ALLOWED
from comptoir.features.console import errors
from comptoir.features.console.templates import refusal_page
from comptoir.http.api import CLIENT_DISCONNECTED
from comptoir.http.exchange import ClientDisconnectedError, Exchange
from comptoir.http.log import Journal
from comptoir.request.headers import Headers, combined
from comptoir.request.path import READ_METHODS

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; object-src 'none'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""The headers of every answer."""

ORIGIN = "comptoir.origin"
"""The member of the scope with the origin at which the browser uses the console."""

UNLOGGED = "comptoir.unlogged"
"""The member of the scope by which a request that succeeds is not logged: no person sent it."""

_ENCODED = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
_NAMES = {name for name, _ in _ENCODED}
_log = logging.getLogger(__name__)


class Guards:
    """Passes a request on if it is for this host, and if a form comes from the console itself."""

    def __init__(self, inner: ASGIApp, settings: Settings, journal: Journal) -> None:
        self._inner = inner
        self._origins = console_origins(settings)
        self._journal = journal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whatever happens."""
        exchange = Exchange.begun(scope)
        scope["exchange"] = exchange
        # a router within an application raises what it cannot route
        scope["app"] = self
        send = _completed(send, exchange)
        try:
            self._check(scope)
            await self._inner(scope, receive, send)
        except Refusal as refusal:
            await refusal_page(refusal)(scope, receive, send)
        except HTTPException as error:
            is_page = error.status_code == METHOD_NOT_ALLOWED.status
            found = errors.NO_SUCH_FORM(headers=error.headers) if is_page else errors.NO_PAGE()
            await refusal_page(found)(scope, receive, send)
        except TimeoutError:
            await refusal_page(errors.NO_ANSWER())(scope, receive, send)
        except ClientDisconnectedError:
            exchange.status = CLIENT_DISCONNECTED
        except asyncio.CancelledError:
            if not exchange.status:
                await refusal_page(rows.SERVICE_STOPPED())(scope, receive, send)
        except Exception:  # noqa: BLE001 - the last resort, and the cause goes to the log
            _log.exception("request %s to the console failed", exchange.id)
            if not exchange.status:
                await refusal_page(rows.FAILED(id=exchange.id))(scope, receive, send)
        finally:
            if UNLOGGED not in scope or exchange.status >= BAD_REQUEST.status:
                self._journal.end(exchange, is_counted=False)
            else:
                exchange.end()

    def _check(self, scope: Scope) -> None:
        """Add the origin to the scope; raises `Refusal` (421, 403)."""
        headers = combined(scope["headers"])
        origin = self._origins.get(headers.get(b"host", b"").decode("latin-1").lower())
        if origin is None:
            addresses = " or ".join(sorted(set(self._origins.values())))
            raise errors.OTHER_ADDRESS(addresses=addresses)
        scope[ORIGIN] = origin
        if scope["method"] not in READ_METHODS and not _is_own(headers, origin):
            raise errors.OTHER_SITE()


def _is_own(headers: Headers, origin: str) -> bool:
    """Whether a browser says that the console's own page sends a request."""
    site = headers.get(b"sec-fetch-site")
    if site is not None:
        return site == b"same-origin"
    return headers.get(b"origin", b"").decode("latin-1").lower() == origin


def _completed(send: Send, exchange: Exchange) -> Send:
    """Wrap `send`: add the headers of every answer, and record status and size."""

    async def completed(message: Message) -> None:
        if message["type"] == "http.response.start":
            exchange.status = message["status"]
            headers = [each for each in message["headers"] if each[0] not in _NAMES]
            request_id = (b"x-request-id", exchange.id.encode())
            message["headers"] = [*headers, *_ENCODED, request_id]
        elif exchange.method != "HEAD":
            exchange.size += len(message.get("body", b""))
        await send(message)

    return completed
