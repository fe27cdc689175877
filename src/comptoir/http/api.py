"""The interface as an ASGI application: authentication, then the service."""

import asyncio
from collections.abc import Awaitable
from functools import partial

from starlette.types import Receive, Scope

from comptoir.auth import Authenticator
from comptoir.config import Settings
from comptoir.http.batch import Batches, batch_root
from comptoir.http.body import ClientLeft, client_left, read_body
from comptoir.http.coding import answer_coding
from comptoir.http.exchange import Exchange
from comptoir.http.url import check_url
from comptoir.plan.read import Row
from comptoir.request.headers import access, check_isolation, check_versions, combined
from comptoir.response.response import Response
from comptoir.service import Request, Service
from comptoir.store.event_loop import cancel_and_wait

# the last letters of a batch's path, whether or not its $ is percent-encoded
_BATCH = b"batch"


class Api:
    """Answers the requests under the base path."""

    def __init__(self, service: Service, authenticator: Authenticator, settings: Settings) -> None:
        self._service = service
        self._batches = Batches(service, settings)
        self._authenticator = authenticator
        self._settings = settings
        self._base = len(settings.base_path)

    async def answer(self, scope: Scope, receive: Receive, exchange: Exchange) -> Response:
        """Answer a request; raises `Refusal` where it is refused."""
        raw_path: bytes = scope["raw_path"]
        path = raw_path[self._base :].decode("latin-1")
        query: str = scope["query_string"].decode("latin-1")
        check_url(len(raw_path), query, self._settings.url_bytes)
        headers = combined(scope["headers"])
        principal = self._authenticator.authenticate(headers.get(b"authorization"))
        exchange.subject = principal.subject
        exchange.coding = answer_coding(headers)
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
            patience=partial(while_connected, receive),
            access=access(headers),
        )
        if root is not None:
            return await self._batches.answer(request, root, exchange)
        return await self._service.handle(request)


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
        if not reading.done():
            await cancel_and_wait(reading)
