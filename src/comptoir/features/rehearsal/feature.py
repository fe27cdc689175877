"""Rehearsals as a part of a service."""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from urllib.parse import urljoin, urlsplit

import click
from starlette.routing import Route
from typing_extensions import override

from comptoir.auth.authentication import Authenticator
from comptoir.auth.origins import is_loopback
from comptoir.config import Settings, environment_name, load_settings
from comptoir.edm.model import Model
from comptoir.errors import operator_rows as problems
from comptoir.errors.refusal import Refusal
from comptoir.features.rehearsal import RehearsalSettings
from comptoir.features.rehearsal.control import control_routes
from comptoir.features.rehearsal.rehearsal import Rehearsal
from comptoir.http.exchange import Exchange
from comptoir.http.feature import Answer, AtomicWrites, Feature, Kernel, Notice, Observer
from comptoir.service import Request


class Rehearsing(Feature):
    """Lets requests and notifications meet the faults of rules, on a clock that moves on demand."""

    screen = "comptoir.features.rehearsal.screen:SCREEN"

    def __init__(self, settings: Settings, model: Model) -> None:
        self._settings = settings
        self.rehearsal = Rehearsal(model, settings)
        self.clock = self.monotonic = self.rehearsal.clock
        self.delivery_faults = self.rehearsal

    @override
    def check_start(self, config: str | None) -> None:
        """Raise `OperatorError` for faults by option or variable where others use the service."""
        addresses = filter(None, (self._settings.public_url, self._settings.listening_url))
        foreign = [each for each in addresses if not is_loopback(urlsplit(each).hostname or "")]
        if not foreign:
            return
        file = config or os.environ.get(environment_name("config"))
        if file is None or not load_settings({"config": file}, {}).of(RehearsalSettings).is_on:
            raise problems.FAULTS_FOR_OTHERS(address=foreign[0])

    @override
    def announce(self, *, is_quickstart: bool) -> None:
        click.secho(
            "WARNING: requests may meet faults on demand (--faults). GET "
            f"{urljoin(self._settings.base_url, '/readyz')} lists the rules.",
            fg="red",
            bold=True,
            err=True,
        )

    @override
    @asynccontextmanager
    async def opened(self, kernel: Kernel) -> AsyncIterator[None]:
        await self.rehearsal.begin(kernel)
        try:
            yield
        finally:
            await self.rehearsal.end()

    @override
    def routes(self, operator: Authenticator) -> Sequence[Route]:
        return control_routes(self.rehearsal, operator)

    @override
    def notices(self) -> Sequence[Notice]:
        return [
            Notice(f"{each.id}: {each.fault.text}", each.until) for each in self.rehearsal.rules
        ]

    @override
    def conditions(self) -> Sequence[str]:
        return self.rehearsal.conditions()

    @override
    def around(self, answer: Answer) -> Answer:
        return partial(self.rehearsal.handle, answer)

    @override
    def around_group(self, group: AtomicWrites, exchange: Exchange) -> AtomicWrites:
        return self.rehearsal.group(group, exchange)

    @override
    async def failing(self, batch: Request, exchange: Exchange) -> tuple[int, Refusal] | None:
        return await self.rehearsal.failing(batch, exchange)

    @override
    def observers(self) -> Sequence[Observer]:
        return [self.rehearsal.traffic]
