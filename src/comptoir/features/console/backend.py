"""The parts of the service that screens use, built once, and the companies of a user."""

import asyncio
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from comptoir.auth.roles import Principal
from comptoir.edm.types import is_guid
from comptoir.features.console import ConsoleSettings
from comptoir.features.console.code_flow import CodeFlow
from comptoir.features.console.figures import Figures
from comptoir.features.console.logins import Logins, SessionPolicy
from comptoir.http.exchange import check_body_coding
from comptoir.http.feature import Kernel
from comptoir.http.routes import RequestTarget
from comptoir.plan.read import (
    Bounds,
    Order,
    OrderKey,
    PagePlan,
    default_order,
    list_pipeline,
    read_as,
)
from comptoir.request.headers import Headers, access, check_isolation, check_versions
from comptoir.response.response import Response, Root
from comptoir.service import Request, Table

F = TypeVar("F")

QUICK_SECONDS = 2.0
"""Seconds that a page waits for what it can be shown without."""


MOST_CHOICES = 200
"""The most companies that the selector lists."""


class CompanyChoice(NamedTuple):
    """A company that the user may choose."""

    id: str
    name: str


class Backend:
    """The parts of the service that screens use.

    `figures` has the figures of the last minutes. `failures` leads wrong codes to the audit log.
    `control` has clients, roles, issuers and the audit log, and `logins` the sessions with the
    codes that begin them, for the time of `terms`. `code_flow` lets users log in through outside
    issuers.
    """

    def __init__(self, kernel: Kernel, figures: Figures) -> None:
        self.settings = kernel.settings
        self.model = kernel.model
        self.features = kernel.features
        self.routes = kernel.routes
        self.store = kernel.store
        self.figures = figures
        self.failures = kernel.failures
        self.keys = kernel.keys
        self.control = kernel.store.control
        self.logins = Logins(self.control)
        own = self.settings.of(ConsoleSettings)
        self.terms = SessionPolicy(int(own.console_idle_seconds), int(own.console_session_seconds))
        self.code_flow = CodeFlow(kernel.registry, kernel.post_form, kernel.issuers)
        self._service = kernel.service
        companies = kernel.model.companies
        by_name = Order((OrderKey("name", text=True), *default_order(companies).keys))
        pipeline, self._values = list_pipeline(companies, order=by_name)
        self._companies = read_as(pipeline, names=CompanyChoice._fields)
        self._root = Root(self.settings.base_url)
        self.behaviour = self.settings.behaviour
        """The rules of the profile, which the settings build at each reading."""
        self._isolates = self.behaviour.batches.snapshot

    def feature(self, kind: type[F]) -> F:
        """The part of the service of a type; raises `LookupError` without one."""
        for each in self.features:
            if isinstance(each, kind):
                return each
        raise LookupError(f"the service has no {kind.__name__}")

    @property
    def now(self) -> int:
        """Epoch seconds."""
        return int(time.time())

    async def companies(self, ids: Iterable[str] | None) -> list[CompanyChoice]:
        """The companies with these ids, or all; by name, and not more than `MOST_CHOICES`."""
        bounds = Bounds(None, None if ids is None else tuple(sorted(ids)))
        plan = PagePlan(self._companies, bounds, MOST_CHOICES, self._values)
        rows = await self.store.rows(self.store.statements.reads.page(plan))
        return [CompanyChoice(str(company_id), str(name)) for _, company_id, name, *_ in rows]

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
        place = RequestTarget(self._root, path, query, headers or {})
        return await self.answer_at(principal, method, place, body)

    async def table(
        self, principal: Principal, path: str, query: str, names: tuple[str, ...], page_size: int
    ) -> Table:
        """A page of a collection as rows, however long that takes; raises `Refusal`."""
        request = _request(principal, "GET", RequestTarget(self._root, path, query, {}), b"")
        return await self._service.table(request, names, page_size)

    async def with_company_id(
        self, principal: Principal, path: str, query: str, headers: Headers
    ) -> RequestTarget:
        """The target of a client's request, whose whole path is one that `routes` serve.

        Raises `Refusal` as the API does.
        """
        root, rest = self.routes.located(path.encode("latin-1", "replace"), headers)
        place = RequestTarget(root, rest, query, headers)
        return await self.routes.with_company_id(place, principal)

    async def answer_at(
        self, principal: Principal, method: str, place: RequestTarget, body: bytes
    ) -> Response:
        """The response to a request at any address; raises `Refusal` as the API does."""
        check_versions(place.headers)
        if not self._isolates:
            check_isolation(place.headers)
        request = _request(principal, method, place, body)
        async with asyncio.timeout(self.settings.request_seconds):
            return await self._service.handle(request)


def _request(principal: Principal, method: str, place: RequestTarget, body: bytes) -> Request:
    async def read_body() -> bytes:
        check_body_coding(place.headers)
        return body

    return Request(
        method=method,
        root=place.root,
        path=place.path,
        query=place.query,
        headers=place.headers,
        principal=principal,
        read_body=read_body,
        access=access(place.headers),
    )


async def company_choices(
    backend: Backend, principal: Principal, wanted: str | None, last: str
) -> tuple[Sequence[CompanyChoice], CompanyChoice | None]:
    """The companies by name, and the chosen one.

    That is the one with the id `wanted`. If None is wanted, it is the one with the id `last`, or
    the first one if the user cannot choose that.
    """
    listed = await listed_companies(backend, principal)
    sought = last if wanted is None else wanted
    chosen = next((each for each in listed if each.id == sought.lower()), None)
    if chosen is None:
        chosen = await company_with_id(backend, principal, sought)
        if chosen is not None:
            listed = [chosen, *listed]
    if chosen is None and wanted is None:
        chosen = next(iter(listed), None)
    return listed, chosen


async def company_with_id(
    backend: Backend, principal: Principal, company_id: str
) -> CompanyChoice | None:
    """The company with an id, None if the user cannot choose it."""
    if not (is_guid(company_id) and principal.reaches(company_id.lower())):
        return None
    return next(iter(await backend.companies([company_id.lower()])), None)


async def listed_companies(backend: Backend, principal: Principal) -> list[CompanyChoice]:
    """The companies that a user may choose, by name; raises `Refusal` as reads do."""
    return await backend.companies(principal.companies)
