"""The composition root: an application from settings and a model."""

import asyncio
import multiprocessing
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from starlette.types import ASGIApp

from comptoir.auth import Authenticator, TokenVerifier, load_keys
from comptoir.catalog import MODEL
from comptoir.config import Settings, load_settings
from comptoir.edm.model import Model
from comptoir.http.api import Api, Application
from comptoir.http.log import Journal, RequestLog, set_up_logging
from comptoir.http.metrics import Metrics
from comptoir.http.pages import pages
from comptoir.service import Service
from comptoir.store.sqlite.store import SqliteStore
from comptoir.store.store import NoteOutcome, Store
from comptoir.store.urls import is_postgres
from comptoir.store.watermarks import WatermarkFile, WatermarkSaver

PARENT_SECONDS = 1.0
"""Seconds between two checks of a worker whether its parent process is alive."""


def open_store(
    settings: Settings, model: Model = MODEL, note_outcome: NoteOutcome = lambda _: None
) -> Store:
    """The store that the settings name, for use within the running event loop.

    `note_outcome` is called with the outcome of each read that a replica may serve.
    """
    if is_postgres(settings.database):
        from comptoir.store.postgres.store import PostgresStore  # noqa: PLC0415 - brings asyncpg

        return PostgresStore(settings, model, note_outcome)
    return SqliteStore(settings, model)


def application(settings: Settings, model: Model = MODEL) -> Application:
    """The ASGI application; raises `OperatorError` for unusable keys or algorithms."""
    keys = load_keys(Path(settings.keys))
    algorithms = tuple(each.strip() for each in settings.token_algorithms.split(","))
    verifier = TokenVerifier(
        keys.trusted, settings.token_issuer, settings.token_audience, algorithms
    )
    return Application(partial(_opened, settings, model, verifier))


@asynccontextmanager
async def _opened(settings: Settings, model: Model, verifier: TokenVerifier) -> AsyncIterator[Api]:
    metrics = Metrics()
    journal = Journal(RequestLog(settings.log_level), metrics)
    store = open_store(settings, model, metrics.count_replica_read)
    metrics.watch(store.condition)
    watermarks = WatermarkSaver(store.watermarks, WatermarkFile(Path(settings.keys)))
    watermarks.start()
    service = Service(model, store, settings)
    try:
        yield Api(
            service,
            pages(store, journal, model, settings),
            Authenticator(verifier),
            journal,
            settings,
        )
    finally:
        # the store finishes the accepted writes
        await store.close()
        await watermarks.stop()
        journal.flush()


def from_environment() -> ASGIApp:
    """The application of one of several workers, with settings from the environment."""
    settings = load_settings({})
    set_up_logging(settings.log_level)
    asyncio.get_running_loop().call_soon(_watch_parent)
    return application(settings)


def _watch_parent() -> None:
    """Stop this worker when its parent process has ended."""
    parent = multiprocessing.parent_process()
    if parent is not None and not parent.is_alive():
        os.kill(os.getpid(), signal.SIGTERM)
    else:
        asyncio.get_running_loop().call_later(PARENT_SECONDS, _watch_parent)
