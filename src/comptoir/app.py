"""The composition root: an application from settings and a model."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from starlette.types import ASGIApp, Receive, Scope, Send

from comptoir.auth import (
    ClientTokens,
    KeyFolder,
    Limits,
    TokenIssuer,
    TokenVerifier,
)
from comptoir.auth.authentication import Authenticator
from comptoir.auth.basic import BasicAuthenticator
from comptoir.auth.client_check import ClientCheck
from comptoir.auth.failures import Failures
from comptoir.auth.issuers import OutsideIssuers
from comptoir.auth.key_watch import follow
from comptoir.auth.limits import parse_rate
from comptoir.auth.origins import client_issuers, serves_console
from comptoir.auth.records import Registry
from comptoir.auth.token_endpoint import TokenEndpoint
from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.edm.overlay import instant_type, overlaid
from comptoir.http.api import Api, Application
from comptoir.http.figures import Figures
from comptoir.http.link import Link
from comptoir.http.log import Journal, RequestLog
from comptoir.http.metrics import Metrics
from comptoir.http.oauth import oauth_routes
from comptoir.http.pages import Outside, pages
from comptoir.http.pipeline import RehearsalHooks, RequestPipeline
from comptoir.http.routes import routes_of
from comptoir.inspector.inspector import Inspector
from comptoir.inspector.redaction import Redactor
from comptoir.outgoing import Document, Fetch, PostAnswer, PostForm
from comptoir.response.errors import ErrorWriter
from comptoir.service import Service
from comptoir.service.context import Mounted
from comptoir.store.control_watch import ControlWatch
from comptoir.store.event_loop import cancel_and_wait
from comptoir.store.note_saver import NoteSaver
from comptoir.store.sqlite.store import SqliteStore
from comptoir.store.store import NoteOutcome, Store
from comptoir.store.urls import is_postgres
from comptoir.store.watermarks import WatermarkFile, WatermarkSaver

SAMPLE_SECONDS = 1.0
"""Seconds between two records of what waits, runs and is open, for the metrics."""


class _ConsoleParts(NamedTuple):
    """What the console shares with the API."""

    settings: Settings
    model: Model
    served: RequestPipeline
    store: Store
    failures: Failures
    keys: KeyFolder
    registry: Registry
    issuers: OutsideIssuers
    log: RequestLog


class _Verifiers(NamedTuple):
    """Those of the API and of the control endpoint.

    There, tokens end by the real clock: else nobody could reset one that a rehearsal moved on.
    """

    of_clients: TokenVerifier
    of_operator: TokenVerifier


def open_store(
    settings: Settings,
    model: Model = MODEL,
    note_outcome: NoteOutcome = lambda _: None,
    *,
    writes_many: bool = False,
) -> Store:
    """The store that the settings name, for use within the running event loop.

    `note_outcome` is called with the outcome of each read that a replica may serve. `writes_many`:
    long operations may use more memory than a service.
    """
    if is_postgres(settings.database):
        from comptoir.store.postgres.store import PostgresStore  # noqa: PLC0415 - brings asyncpg

        store: Store = PostgresStore(settings, model, note_outcome)
    else:
        store = SqliteStore(settings, model, writes_many=writes_many)
    if settings.refuses_writes:
        store.refuse_writes()
    return store


def application(
    settings: Settings, declared: Model = MODEL, *, link: Link | None = None
) -> Application:
    """The ASGI application; raises `OperatorError` for unusable keys or algorithms.

    One of several workers has a link to their supervisor.
    """
    behaviour = settings.behaviour
    model = overlaid(declared, behaviour.values, behaviour.forms)
    renamed = None
    if behaviour.queries.renamed:
        renamed = overlaid(declared, behaviour.values, behaviour.forms.renamed())
    rehearsed = _rehearsed(settings, model) if settings.rehearses else RehearsalHooks()
    keys = KeyFolder(Path(settings.keys))
    algorithms = tuple(each.strip() for each in settings.token_algorithms.split(","))
    verifying = partial(
        TokenVerifier,
        keys.trusted,
        settings.token_issuer,
        settings.token_audience,
        algorithms,
        of_clients=ClientTokens(client_issuers(settings), keys.own),
        issuing=rehearsed.clock,
    )
    verifiers = _Verifiers(verifying(clock=rehearsed.clock), verifying())
    issuer = TokenIssuer(
        lambda: keys.ring.signing, settings.token_issuer, settings.token_audience, rehearsed.clock
    )
    return Application(
        partial(_opened, settings, link, model, renamed, verifiers, issuer, keys, rehearsed)
    )


def _rehearsed(settings: Settings, model: Model) -> RehearsalHooks:
    """A rehearsal with the rules of the settings; raises `OperatorError` for wrong ones."""
    from comptoir.http.rehearsing.control import control_routes  # noqa: PLC0415 - only rehearsals need it
    from comptoir.http.rehearsing.rehearsal import Rehearsal  # noqa: PLC0415 - only rehearsals need it

    rehearsal = Rehearsal(model, settings)
    return RehearsalHooks(
        injector=rehearsal,
        clock=rehearsal.clock,
        monotonic=rehearsal.clock,
        routes=partial(control_routes, rehearsal),
        conditions=rehearsal.conditions,
        begin=rehearsal.begin,
        end=rehearsal.end,
    )


@asynccontextmanager
async def _opened(
    settings: Settings,
    link: Link | None,
    model: Model,
    renamed: Model | None,
    verifiers: _Verifiers,
    issuer: TokenIssuer,
    keys: KeyFolder,
    rehearsed: RehearsalHooks,
) -> AsyncIterator[ASGIApp]:
    metrics = Metrics(link)
    log = RequestLog(settings.log_level, Redactor.of(model))
    journal = Journal(log, metrics)
    store = open_store(settings, model, metrics.count_replica_read)
    sampling = asyncio.create_task(_sample(metrics, link))
    watermarks = WatermarkSaver(store.watermarks, WatermarkFile(Path(settings.keys)))
    watermarks.start()
    watch = ControlWatch(store.control)
    watch.start()
    metrics.watch(store, watch)
    limits = _limits(settings, rehearsed)
    issuers = _issuers(settings, metrics)
    failures = Failures()
    notes = NoteSaver(partial(failures.write, store.control.record))
    notes.start()
    check = ClientCheck(watch, settings, failures)
    basic = BasicAuthenticator(check, limits) if settings.behaviour.routes.basic else None
    authenticator = Authenticator(verifiers.of_clients, watch, limits, issuers, basic)
    issuers.withdrawn = authenticator.forget
    following = asyncio.create_task(follow(keys, authenticator.forget))
    endpoint = TokenEndpoint(watch, check, issuer, verifiers.of_clients, settings)
    oauth = oauth_routes(endpoint, metrics.count_oauth, lambda: keys.ring.own, settings)
    errors = ErrorWriter(settings.behaviour)
    # it caches no token, so it need not forget one
    operator = Authenticator(verifiers.of_operator, watch, limits, issuers, capacity=0)
    faults = rehearsed.routes(operator)
    pages_app = pages(store, journal, model, errors, settings, oauth, faults, rehearsed.conditions)
    try:
        async with (
            _subscriptions(store, model, watch, settings, rehearsed, metrics) as subscriptions,
            _inspecting(settings, model) as inspector,
        ):
            service = Service(model, store, settings, subscriptions, renamed)
            await rehearsed.begin(service, store, limits)
            try:
                served = RequestPipeline(service, rehearsed.injector, inspector)
                parts = _ConsoleParts(
                    settings, model, served, store, failures, keys, watch, issuers, log
                )
                async with _console_app(settings, metrics, partial(_console, parts)) as console:
                    yield Api(
                        served,
                        Outside(pages_app, console),
                        authenticator,
                        failures,
                        journal,
                        errors,
                        routes_of(settings, model, store),
                        settings,
                    )
            finally:
                await rehearsed.end()
    finally:
        await issuers.stop()
        await cancel_and_wait(following)
        await watch.stop()
        await notes.stop()
        # the store finishes the accepted writes
        await store.close()
        await watermarks.stop()
        journal.flush()
        # without reports, a worker that finishes its writes would be taken for one that hangs
        await cancel_and_wait(sampling)


def _issuers(settings: Settings, metrics: Metrics) -> OutsideIssuers:
    return OutsideIssuers(
        _fetch(settings), settings.issuer_stale_seconds, note_fetch=metrics.count_issuer_fetch
    )


def _limits(settings: Settings, rehearsed: RehearsalHooks) -> Limits:
    return Limits(
        settings.client_requests,
        settings.workers,
        rate=parse_rate(settings.client_rate) if settings.client_rate else None,
        of_all=bool(settings.client_rate or settings.running_requests),
        sliding=settings.behaviour.sliding_rates,
        clock=rehearsed.monotonic,
        now=rehearsed.clock,
    )


@asynccontextmanager
async def _subscriptions(
    store: Store,
    model: Model,
    registry: Registry,
    settings: Settings,
    rehearsed: RehearsalHooks,
    metrics: Metrics,
) -> AsyncIterator[Mounted | None]:
    """The resource of subscriptions while notifications are sent; None in a profile without."""
    hooks = settings.behaviour.hooks
    if hooks is None:
        yield None
        return
    from comptoir.events.sender import Sender  # noqa: PLC0415 - only such a profile needs it
    from comptoir.outgoing.guard import Guard  # noqa: PLC0415 - brings aiohttp
    from comptoir.outgoing.session import Poster  # noqa: PLC0415 - brings aiohttp
    from comptoir.service.subscriptions import (  # noqa: PLC0415 - only such a profile needs it
        SubscriptionResource,
    )

    post = Poster(Guard(settings.networks, plain=settings.outgoing_http == "on")).post
    clock, instants = rehearsed.clock, instant_type(settings.behaviour.forms)
    hooks = hooks.scaled(settings.clock_factor)
    sender = Sender(store, model, registry, hooks, post, instants, clock)
    sender.note = metrics.count_delivery
    sender.start(rehearsed.injector, metrics.note_notification_lag)
    try:
        yield SubscriptionResource(store, model, settings, hooks, post, clock)
    finally:
        await sender.stop()


def _fetch(settings: Settings) -> Fetch:
    """Fetches documents with a `Fetcher` that the first call makes."""

    @cache
    def fetcher() -> Fetch:
        from comptoir.outgoing.guard import Guard  # noqa: PLC0415 - only issuers need aiohttp
        from comptoir.outgoing.session import Fetcher  # noqa: PLC0415 - only issuers need aiohttp

        return Fetcher(Guard(settings.networks)).fetch

    async def fetch(url: str) -> Document:
        # imports, and reads the authorities that the machine trusts
        return await (await asyncio.to_thread(fetcher))(url)

    return fetch


def _post_form(settings: Settings) -> PostForm:
    """Posts forms with a `FormPoster` that the first call makes."""

    @cache
    def poster() -> PostForm:
        from comptoir.outgoing.guard import Guard  # noqa: PLC0415 - only logins need aiohttp
        from comptoir.outgoing.session import FormPoster  # noqa: PLC0415 - only logins need aiohttp

        return FormPoster(Guard(settings.networks)).post

    async def post(url: str, fields: Mapping[str, str], authorization: str) -> PostAnswer:
        # imports, and reads the authorities that the machine trusts
        return await (await asyncio.to_thread(poster))(url, fields, authorization)

    return post


@asynccontextmanager
async def _console_app(
    settings: Settings, metrics: Metrics, build: Callable[[Figures], ASGIApp]
) -> AsyncIterator[ASGIApp | None]:
    """The console, None if the settings serve none.

    The first request to the console imports and builds it.
    """
    if not serves_console(settings):
        yield None
        return
    figures = Figures(metrics, time.time)
    building: asyncio.Task[ASGIApp] | None = None

    async def console(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal building
        if building is None:
            building = asyncio.create_task(asyncio.to_thread(build, figures))
        # another request waits for it too
        inner = await asyncio.shield(building)
        await inner(scope, receive, send)

    figures.start()
    try:
        yield console
    finally:
        await figures.stop()


@asynccontextmanager
async def _inspecting(settings: Settings, model: Model) -> AsyncIterator[Inspector | None]:
    """The inspector of this process, None without a console."""
    if not serves_console(settings):
        yield None
        return
    inspector = Inspector(settings, Redactor.of(model))
    inspector.start()
    try:
        yield inspector
    finally:
        await inspector.stop()


def _console(parts: _ConsoleParts, figures: Figures) -> ASGIApp:
    from comptoir.auth.code_flow import CodeFlow  # noqa: PLC0415 - only the console needs it
    from comptoir.console.app import console  # noqa: PLC0415 - brings Jinja2
    from comptoir.console.backend import Backend  # noqa: PLC0415 - only the console needs it

    settings = parts.settings
    flow = CodeFlow(parts.registry, _fetch(settings), _post_form(settings), parts.issuers)
    backend = Backend(
        settings,
        parts.model,
        parts.served,
        routes_of(settings, parts.model, parts.store),
        parts.store,
        figures,
        parts.failures,
        parts.keys,
        flow,
    )
    return console(backend, parts.log)


async def _sample(metrics: Metrics, link: Link | None) -> None:
    """Record the state of the process also while no request ends, and report it, also at last."""
    try:
        while True:
            await asyncio.sleep(SAMPLE_SECONDS)
            metrics.sample()
            if link is not None:
                link.report()
    finally:
        if link is not None:
            link.report()
