"""The composition root: settings and a model become a running application."""

import asyncio
import gc
import multiprocessing
import os
import signal
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send
from typing_extensions import override

from comptoir.auth import Authenticator, TokenVerifier, load_keys
from comptoir.catalog import MODEL
from comptoir.config import Settings, load_settings
from comptoir.edm.model import Model
from comptoir.http.api import Api
from comptoir.http.cors import Cors
from comptoir.http.descriptors import DescriptorWatch
from comptoir.http.edge import Edge
from comptoir.http.journal import Journal
from comptoir.http.log import RequestLog, set_up_logging
from comptoir.http.metrics import Metrics
from comptoir.http.pages import pages
from comptoir.http.server import bound_requests
from comptoir.service import Service
from comptoir.store.sqlite.store import SqliteStore
from comptoir.store.store import Noted, Store
from comptoir.store.urls import is_postgres
from comptoir.store.watermarks import WatermarkFile, WatermarkKeeper

PARENT_SECONDS = 1.0
"""How often a worker looks whether the process that started it is still there."""


def open_store(settings: Settings, model: Model = MODEL, noted: Noted = lambda _: None) -> Store:
    """The store that the settings name, to be used within the running event loop.

    `noted` hears of reads that a replica may answer.
    """
    if is_postgres(settings.database):
        from comptoir.store.postgres.store import PostgresStore  # noqa: PLC0415 - brings asyncpg

        return PostgresStore(settings, model, noted)
    return SqliteStore(settings, model)


class Application:
    """The ASGI application; it opens its store when the server starts and closes it at the end."""

    def __init__(self, settings: Settings, model: Model = MODEL) -> None:
        self._settings = settings
        self._model = model
        keys = load_keys(Path(settings.keys))
        algorithms = tuple(each.strip() for each in settings.token_algorithms.split(","))
        self._verifier = TokenVerifier(
            keys.trusted, settings.token_issuer, settings.token_audience, algorithms
        )
        self._metrics = Metrics()
        self._journal = Journal(RequestLog(settings.log_level), self._metrics)
        self._store: Store | None = None
        self._keeper: WatermarkKeeper | None = None
        self._edge: Edge | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection of the server's: its life, or an exchange."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._edge is not None:
            await self._edge(scope, receive, send)

    async def start(self) -> None:
        """Open the store; raises `OperatorError` when that is not possible."""
        settings = self._settings
        self._store = open_store(settings, self._model, self._metrics.count_replica_read)
        self._metrics.watch(self._store.condition)
        self._keeper = WatermarkKeeper(self._store.watermarks, WatermarkFile(Path(settings.keys)))
        self._keeper.start()
        service = Service(self._model, self._store, settings)
        api = Api(service, Authenticator(self._verifier), settings)
        self._edge = Edge(
            api,
            pages(self._store, self._journal, self._model, settings),
            settings.base_path,
            self._journal,
            Cors.of(settings),
        )

    async def stop(self) -> None:
        """Finish the writes that were accepted, and close the store."""
        if self._store is not None:
            await self._store.close()
        if self._keeper is not None:
            await self._keeper.stop()
        self._journal.flush()

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await self.start()
        descriptors = DescriptorWatch()
        descriptors.start()
        # modules, model and statements stay: the garbage collector need not visit them again
        gc.freeze()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        descriptors.stop()
        await self.stop()
        await send({"type": "lifespan.shutdown.complete"})


class Worker(Application):
    """The application of one of several workers, which stops when the process above it is gone."""

    @override
    async def start(self) -> None:
        await super().start()
        self._look()

    def _look(self) -> None:
        parent = multiprocessing.parent_process()
        if parent is not None and not parent.is_alive():
            os.kill(os.getpid(), signal.SIGTERM)
        else:
            asyncio.get_running_loop().call_later(PARENT_SECONDS, self._look)


def from_environment() -> ASGIApp:
    """The application of one of several workers: its settings come from the environment."""
    settings = load_settings({})
    set_up_logging(settings.log_level)
    bound_requests(settings)
    return Worker(settings)
