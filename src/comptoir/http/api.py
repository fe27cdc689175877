"""The interface as an ASGI application: authentication, then the service."""

import asyncio
import re
from collections.abc import Awaitable
from functools import partial

from starlette.types import Receive, Scope

from comptoir.auth import Authenticator
from comptoir.config import Settings
from comptoir.errors import URI_TOO_LONG, Refusal
from comptoir.http.body import ClientLeft, client_left, read_body
from comptoir.http.coding import answer_coding
from comptoir.http.exchange import Exchange
from comptoir.plan.read import Row
from comptoir.request.headers import check_versions, combined
from comptoir.response.answer import Answer
from comptoir.service import Request, Service

_TOKEN = re.compile(rb"(?:^|&)(?:\$|%24)?(?:skip|delta)token=", re.IGNORECASE)


class Api:
    """Answers the requests under the base path."""

    def __init__(self, service: Service, authenticator: Authenticator, settings: Settings) -> None:
        self._service = service
        self._authenticator = authenticator
        self._settings = settings
        self._base = len(settings.base_path)

    async def answer(self, scope: Scope, receive: Receive, exchange: Exchange) -> Answer:
        """Answer a request; raises `Refusal` where it is refused."""
        raw_path: bytes = scope["raw_path"]
        raw_query: bytes = scope["query_string"]
        if len(raw_path) + len(raw_query) > self._settings.url_bytes:
            self._check_length(raw_path, raw_query)
        headers = combined(scope["headers"])
        principal = self._authenticator.authenticate(headers.get(b"authorization"))
        exchange.subject = principal.subject
        exchange.coding = answer_coding(headers)
        check_versions(headers)
        return await self._service.handle(
            Request(
                method=scope["method"],
                path=raw_path[self._base :].decode("latin-1"),
                query=raw_query.decode("latin-1"),
                headers=headers,
                principal=principal,
                read_body=partial(read_body, receive, headers, self._settings.body_bytes),
                patience=partial(while_connected, receive),
            )
        )

    def _check_length(self, path: bytes, query: bytes) -> None:
        # a link of ours may be longer: it holds the values of the record at which a page ended
        token = _TOKEN.search(query)
        asked = query if token is None else query[: token.start()]
        if len(path) + len(asked) > self._settings.url_bytes:
            raise Refusal(
                URI_TOO_LONG,
                f"The URL is longer than {self._settings.url_bytes} bytes. Shorten the filter, or "
                "split it over several requests.",
            )


async def while_connected(receive: Receive, rows: Awaitable[list[Row]]) -> list[Row]:
    """Await rows while the client waits for them; raises `ClientLeft` when it goes away."""
    reading = asyncio.ensure_future(rows)
    leaving = asyncio.ensure_future(client_left(receive))
    try:
        await asyncio.wait({reading, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not reading.done():
            raise ClientLeft
        return reading.result()
    finally:
        leaving.cancel()
        reading.cancel()
