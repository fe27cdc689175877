"""History as a part of a service."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import partial

from typing_extensions import override

from comptoir.features.history.resource import ChangesResource
from comptoir.features.history.trimming import trim_logs
from comptoir.http.feature import Feature, Kernel
from comptoir.store.jobs import Job, every

TRIM_SECONDS = 600.0
"""Seconds between two looks for what is kept no longer."""


class History(Feature):
    """Serves the changes of companies, and trims the logs."""

    @override
    @asynccontextmanager
    async def opened(self, kernel: Kernel) -> AsyncIterator[None]:
        self._kernel = kernel
        resource = ChangesResource(kernel.service, kernel.store, kernel.model, kernel.settings)
        kernel.service.mount(resource)
        yield

    @override
    def jobs(self) -> Iterable[Job]:
        kernel = self._kernel
        if not kernel.settings.refuses_writes:
            parts = kernel.store, kernel.settings, kernel.clock, kernel.features
            trim = partial(trim_logs, *parts)
            # a start has more urgent work
            yield every(TRIM_SECONDS, trim, at_once=False)
