"""The parts of the service that screens use, built once for a process."""

import asyncio
import time
from contextlib import aclosing
from dataclasses import dataclass

from comptoir.auth import KeyFolder
from comptoir.auth.code_flow import CodeFlow
from comptoir.auth.failures import Failures
from comptoir.auth.logins import SessionPolicy
from comptoir.auth.principal import Principal
from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.http.company_names import RequestTarget
from comptoir.http.figures import Figures
from comptoir.http.pipeline import RequestPipeline
from comptoir.http.rehearsing.rehearsal import Rehearsal
from comptoir.http.routes import Routes
from comptoir.inspector.capture import NotedBody
from comptoir.inspector.inspector import Inspector
from comptoir.request.headers import Headers, access, check_isolation, check_versions
from comptoir.response.response import Response
from comptoir.response.root import Root
from comptoir.service import Request
from comptoir.store.control import ControlStore
from comptoir.store.store import Store, always_connected

QUICK_SECONDS = 2.0
"""Seconds that a page waits for what it can be shown without."""


@dataclass(frozen=True, slots=True)
class Backend:
    """The parts of the service that screens use.

    `routes` are the addresses of the API. `figures` has the figures of the last minutes. `failures`
    leads wrong codes to the audit log. `keys` are those that sign and verify tokens. `code_flow`
    lets users log in through outside issuers.
    """

    settings: Settings
    model: Model
    served: RequestPipeline
    routes: Routes
    store: Store
    figures: Figures
    failures: Failures
    keys: KeyFolder
    code_flow: CodeFlow

    @property
    def control(self) -> ControlStore:
        """Clients, roles, issuers, sessions and the audit log."""
        return self.store.control

    @property
    def inspector(self) -> Inspector:
        """The exchanges that are kept."""
        inspector = self.served.inspector
        if inspector is None:
            raise LookupError("a console without an inspector")
        return inspector

    @property
    def rehearsal(self) -> Rehearsal | None:
        """The faults that requests meet, None in a service without them."""
        injector = self.served.injector
        return injector if isinstance(injector, Rehearsal) else None

    @property
    def terms(self) -> SessionPolicy:
        """The duration of sessions."""
        settings = self.settings
        return SessionPolicy(
            int(settings.console_idle_seconds), int(settings.console_session_seconds)
        )

    @property
    def now(self) -> int:
        """Epoch seconds."""
        return int(time.time())

    async def answer(
        self,
        principal: Principal,
        method: str,
        path: str,
        query: str = "",
        headers: Headers | None = None,
        body: bytes = b"",
    ) -> Response:
        """The response to a request for records; raises `Refusal` as the API does.

        `path` is percent-encoded and begins after the base URL, as in `/companies`.
        """
        place = RequestTarget(Root(self.settings.base_url), path, query, headers or {})
        return await self.answer_at(principal, method, place, body)

    async def with_company_id(
        self, principal: Principal, path: str, query: str, headers: Headers
    ) -> RequestTarget:
        """The target of a client's request, whose whole path is one that `routes` serve.

        Raises `Refusal` as the API does.
        """
        root, rest = self.routes.located(path.encode("latin-1", "replace"), headers)
        place = RequestTarget(root, rest, query, headers)
        names = self.routes.names
        return place if names is None else await names.with_company_id(place, principal)

    async def answer_at(
        self, principal: Principal, method: str, place: RequestTarget, body: bytes
    ) -> Response:
        """The response to a request at any address; raises `Refusal` as the API does."""
        check_versions(place.headers)
        if not self.settings.behaviour.batches.snapshot:
            check_isolation(place.headers)

        async def read_body() -> bytes:
            return body

        request = Request(
            method=method,
            root=place.root,
            path=place.path,
            query=place.query,
            headers=place.headers,
            principal=principal,
            read_body=read_body,
            while_connected=always_connected,
            access=access(place.headers),
        )
        async with asyncio.timeout(self.settings.request_seconds):
            return await self.served.service.handle(request)


async def noted_body(response: Response, limit: int) -> NotedBody:
    """The beginning of the body of a response, which is read to its end."""
    noted = NotedBody(limit)
    if isinstance(response.body, bytes):
        noted.add(response.body)
    else:
        async with aclosing(response.body) as pieces:
            async for piece in pieces:
                noted.add(piece)
    return noted


async def body_of(response: Response) -> bytes:
    """The whole body of a response, which may come in pieces."""
    if isinstance(response.body, bytes):
        return response.body
    async with aclosing(response.body) as pieces:
        return b"".join([piece async for piece in pieces])
