"""The composition root: an application from settings and a model."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import cache, partial
from pathlib import Path
from pkgutil import resolve_name  # noqa: TID251 - features are imported where they are on
from typing import NamedTuple

from starlette.types import ASGIApp

from comptoir.auth.authentication import Authenticator, BasicAuthenticator
from comptoir.auth.client_check import ClientCheck
from comptoir.auth.failures import Failures
from comptoir.auth.issuers import IssuerKeys, OutsideIssuers
from comptoir.auth.keys import KeyFolder
from comptoir.auth.limits import Limits, parse_rate
from comptoir.auth.origins import client_issuers
from comptoir.auth.token_endpoint import TokenEndpoint
from comptoir.auth.tokens import TokenIssuer
from comptoir.auth.verification import TokenVerifier
from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.edm.overlay import overlaid
from comptoir.edm.times import Clock
from comptoir.errors.refusal import Refusal
from comptoir.features import FEATURES
from comptoir.http.api import Api, Application
from comptoir.http.feature import Feature, Kernel
from comptoir.http.link import SupervisorLink
from comptoir.http.log import Journal, RequestLog
from comptoir.http.metrics import Metrics
from comptoir.http.oauth import oauth_routes
from comptoir.http.pages import pages
from comptoir.http.redaction import Redactor
from comptoir.http.routes import Routes
from comptoir.outgoing import Document, Fetch, PostAnswer, PostForm
from comptoir.response.errors import ErrorWriter
from comptoir.service import Service
from comptoir.store.control import PERIOD_SECONDS, ControlWatch
from comptoir.store.jobs import Job, every, running
from comptoir.store.sqlite.store import SqliteStore
from comptoir.store.store import NoteOutcome, Store
from comptoir.store.text_index import INDEX_SECONDS
from comptoir.store.urls import is_postgres
from comptoir.store.watermarks import SAVE_SECONDS, WatermarkFile, WatermarkSaver

SAMPLE_SECONDS = 1.0
"""Seconds between two records of what waits, runs and is open, for the metrics."""

KEYS_SECONDS = 5.0
"""Seconds between two looks at the folder of keys."""

NOTE_SECONDS = 1.0
"""Seconds between two looks for failed authentications to write."""

STOP_SECONDS = 1.0
"""Seconds that a stop waits for the last of them."""


class _Tokens(NamedTuple):
    """The parts that issue and verify tokens.

    Where the operator controls the service, tokens end by the real clock: else nobody could reset
    one that was moved on.
    """

    keys: KeyFolder
    issuer: TokenIssuer
    of_clients: TokenVerifier
    of_operator: TokenVerifier


class _Clocks(NamedTuple):
    """The clock of tokens and days, in seconds since 1970, and that of rates."""

    of_tokens: Clock
    of_rates: Clock


def open_store(
    settings: Settings,
    model: Model = MODEL,
    note_outcome: NoteOutcome = lambda _: None,
    *,
    writes_many: bool = False,
    is_ready: bool = False,
) -> Store:
    """The store that the settings name, for use within the running event loop.

    `note_outcome` is called with the outcome of each read that a replica may serve. `writes_many`:
    long operations may use more memory than a service. `is_ready`: `make_ready` has just returned.
    """
    if is_postgres(settings.database):
        from comptoir.store.postgres.store import PostgresStore  # noqa: PLC0415 - brings asyncpg

        store: Store = PostgresStore(settings, model, note_outcome, is_checked=is_ready)
    else:
        store = SqliteStore(settings, model, writes_many=writes_many)
    return store


def served_model(settings: Settings, declared: Model) -> Model:
    """The model with the types of the profile; the same object for equal arguments."""
    behaviour = settings.behaviour
    return overlaid(declared, behaviour.obeyed(declared.tables), behaviour.forms)


def application(
    settings: Settings, declared: Model = MODEL, link: SupervisorLink | None = None
) -> Application:
    """The ASGI application; raises `OperatorError` for unusable keys or settings.

    One of several workers has a link to their supervisor.
    """
    model = served_model(settings, declared)
    features = list(_features(settings, model))
    tokens = _tokens(settings, _clocks(features).of_tokens)
    return Application(partial(_opened, settings, link, declared, tokens, features), features)


def _tokens(settings: Settings, clock: Clock) -> _Tokens:
    keys = KeyFolder(Path(settings.keys))
    algorithms = tuple(each.strip() for each in settings.token_algorithms.split(","))
    verifying = partial(
        TokenVerifier,
        keys.trusted,
        settings.token_issuer,
        settings.token_audience,
        algorithms,
        client_issuers=client_issuers(settings),
        client_keys=keys.own,
        issuing=clock,
    )
    issuer = TokenIssuer(
        lambda: keys.ring.signing, settings.token_issuer, settings.token_audience, clock
    )
    return _Tokens(keys, issuer, verifying(clock=clock), verifying())


def _features(settings: Settings, model: Model) -> Iterator[Feature]:
    """The optional parts that the settings switch on; raises `OperatorError` for wrong ones."""
    for each in FEATURES:
        if each.mount and each.is_on(settings):
            feature = resolve_name(each.mount)(settings, model)
            if not isinstance(feature, Feature):
                raise TypeError(f"{each.mount} is not a feature")
            yield feature


def _clocks(features: Sequence[Feature]) -> _Clocks:
    """The clocks of the first part that has others than the real ones, else these."""
    of_tokens = [each.clock for each in features if each.clock is not None]
    of_rates = [each.monotonic for each in features if each.monotonic is not None]
    return _Clocks([*of_tokens, time.time][0], [*of_rates, time.monotonic][0])


@asynccontextmanager
async def _opened(
    settings: Settings,
    link: SupervisorLink | None,
    declared: Model,
    tokens: _Tokens,
    features: Sequence[Feature],
) -> AsyncIterator[ASGIApp]:
    behaviour, clocks, keys = settings.behaviour, _clocks(features), tokens.keys
    forms, values = behaviour.forms, behaviour.obeyed(declared.tables)
    model = served_model(settings, declared)
    renamed = overlaid(declared, values, forms.renamed()) if behaviour.queries.renamed else None
    metrics = Metrics(link)
    journal = Journal(RequestLog(settings.log_level, Redactor.of(model)), metrics)
    store = open_store(settings, model, partial(metrics.increase, "replica_reads"))
    watermarks = WatermarkSaver(store.watermarks, WatermarkFile(Path(settings.keys)))
    watch = ControlWatch(store.control)
    metrics.watch(store, watch)
    limits = _limits(settings, clocks)
    fetch, post_form = _outgoing(settings)
    stale, note = settings.issuer_stale_seconds, partial(metrics.increase, "issuer_fetches")
    issuers = OutsideIssuers(
        lambda url: IssuerKeys(url, fetch, stale, authenticator.forget, note_fetch=note)
    )
    failures = Failures()
    write_failures = partial(failures.write, store.control.record)
    check = ClientCheck(watch, settings, failures)
    authenticator = Authenticator(tokens.of_clients, watch, limits, issuers)
    endpoint = TokenEndpoint(check, tokens.issuer, tokens.of_clients)
    oauth = oauth_routes(endpoint, metrics.count_oauth, lambda: keys.ring.own, settings)
    errors = ErrorWriter(behaviour)
    # it caches no token, so it need not forget one
    operator = Authenticator(tokens.of_operator, watch, limits, issuers, capacity=0)
    added = [routes for each in features if (routes := each.addresses(store)) is not None]
    routes = [*added, Routes(settings)][0]
    kernel = Kernel(
        settings,
        model,
        store,
        Service(model, store, settings, renamed),
        routes,
        watch,
        keys,
        issuers,
        limits,
        failures,
        journal,
        metrics,
        clocks.of_tokens,
        post_form,
        features,
        [],
    )

    async with AsyncExitStack() as opened:
        # without reports, a worker that finishes its writes would be taken for one that hangs
        await opened.enter_async_context(running([every(SAMPLE_SECONDS, metrics.report)]))
        opened.push_async_callback(metrics.report)
        opened.callback(journal.flush)
        opened.push_async_callback(watermarks.save)
        # the store finishes the accepted writes
        opened.push_async_callback(store.close)
        opened.push_async_callback(_try_once, write_failures)
        opened.push_async_callback(issuers.stop)
        for each in features:
            await opened.enter_async_context(each.opened(kernel))
        jobs = [
            every(SAVE_SECONDS, watermarks.save),
            every(PERIOD_SECONDS, watch.poll),
            every(NOTE_SECONDS, write_failures),
            every(KEYS_SECONDS, partial(keys.look, authenticator.forget)),
            *_indexing(settings, store),
            *(job for each in features for job in each.jobs()),
        ]
        await opened.enter_async_context(running(jobs))
        pages_app = pages(kernel, journal, errors, oauth, operator)
        basic = BasicAuthenticator(check, limits)
        if link is not None:
            await link.open()
        yield Api(kernel, pages_app, authenticator, basic, journal, errors)


def _indexing(settings: Settings, store: Store) -> Iterator[Job]:
    if not settings.refuses_writes:
        # a start has more urgent work
        yield every(INDEX_SECONDS, store.index_lagging, at_once=False)


async def _try_once(write: Callable[[], Awaitable[None]]) -> None:
    # a failed write is logged where it fails
    with suppress(Refusal, TimeoutError):
        async with asyncio.timeout(STOP_SECONDS):
            await write()


def _limits(settings: Settings, clocks: _Clocks) -> Limits:
    return Limits(
        settings.client_requests,
        settings.workers,
        rate=parse_rate(settings.client_rate) if settings.client_rate else None,
        of_all=bool(settings.client_rate or settings.running_requests),
        sliding=settings.behaviour.sliding_rates,
        clock=clocks.of_rates,
        now=clocks.of_tokens,
    )


def _outgoing(settings: Settings) -> tuple[Fetch, PostForm]:
    """Functions that fetch a document and post a form; the first call imports what they need."""

    @cache
    def made() -> tuple[Fetch, PostForm]:
        from comptoir.outgoing.session import Guard, Outgoing  # noqa: PLC0415 - only issuers need aiohttp

        outgoing = Outgoing(Guard(settings.networks))
        return outgoing.fetch, outgoing.post_form

    async def fetch(url: str) -> Document:
        return await (await asyncio.to_thread(made))[0](url)

    async def post_form(url: str, fields: Mapping[str, str], authorization: str) -> PostAnswer:
        return await (await asyncio.to_thread(made))[1](url, fields, authorization)

    return fetch, post_form
