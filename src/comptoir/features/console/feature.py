"""The console as a part of a service."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager

import click
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from typing_extensions import override

from comptoir.auth.authentication import Authenticator
from comptoir.auth.origins import CONSOLE
from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.errors.messages import message
from comptoir.features.console.figures import SAMPLE_SECONDS, Figures
from comptoir.features.console.running import announced, serves_console
from comptoir.http.feature import Feature, Kernel, Link, Mount
from comptoir.http.pages import is_for_admin
from comptoir.store.jobs import Job, every

_BELOW = f"{CONSOLE}/"
_UNSERVED = message(
    "The console is not served at this address",
    "The setting `console` decides where it is: `auto` serves it on a loopback address if "
    "`public_url` is empty, `on` also at an https address, and `off` nowhere. With `admin_port`, "
    "it has that port.",
)
"""The same for every service, because anyone may read it."""


class Console(Feature):
    """Serves the console if the settings say so, and else a page that says why not."""

    def __init__(self, settings: Settings, model: Model) -> None:
        self._settings = settings
        self._is_served = serves_console(settings)
        self._building: asyncio.Task[ASGIApp] | None = None

    @override
    def announce(self, *, is_quickstart: bool) -> None:
        if not self._is_served:
            return
        address = self._settings.beside_api(CONSOLE)
        if not is_quickstart:
            click.echo(f"Console: {address} (comptoir console prints a login link)")
        elif not self._settings.refuses_writes:
            from comptoir.features.console.command import first_link  # noqa: PLC0415 - opens a store

            click.echo(f"Console: {first_link(self._settings, address)}")

    @override
    def serving(self) -> AbstractContextManager[None]:
        address = self._settings.beside_api(CONSOLE) if self._is_served else ""
        return announced(self._settings, address)

    @override
    @asynccontextmanager
    async def opened(self, kernel: Kernel) -> AsyncIterator[None]:
        self._kernel = kernel
        self._figures = Figures(kernel.metrics)
        yield

    @override
    def jobs(self) -> Iterable[Job]:
        return [every(SAMPLE_SECONDS, self._figures.sample)] if self._is_served else []

    @override
    def routes(self, _: Authenticator) -> Sequence[Route]:
        """The pages in place of the console where it is not served."""

        async def unserved(_: Request) -> Response:
            return PlainTextResponse(f"{_UNSERVED}\n", 404)

        return [Route(CONSOLE, unserved), Route(f"{_BELOW}{{rest:path}}", unserved)]

    @override
    def mounts(self) -> Sequence[Mount]:
        return [Mount(self._has, self._handle)] if self._is_served else []

    @override
    def links(self) -> Sequence[Link]:
        if not self._is_served:
            return ()
        about = "Requests, records and clients. The command comptoir console prints a login link."
        return [Link("console", "Console", about, self._settings.beside_api(CONSOLE), "console")]

    def _has(self, scope: Scope) -> bool:
        """Whether a request is for the console, which the operator's port has if there is one."""
        path: str = scope["path"]
        settings = self._settings
        is_here = not settings.admin_port or is_for_admin(scope, settings)
        return is_here and (path == CONSOLE or path.startswith(_BELOW))

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle an exchange; the first one imports and builds the console."""
        if self._building is None:
            self._building = asyncio.create_task(asyncio.to_thread(self._build))
        # another request waits for it too
        inner = await asyncio.shield(self._building)
        await inner(scope, receive, send)

    def _build(self) -> ASGIApp:
        from comptoir.features.console.app import console  # noqa: PLC0415 - brings Jinja2

        return console(self._kernel, self._figures)
