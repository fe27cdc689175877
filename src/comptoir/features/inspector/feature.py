"""The inspector as a part of a service."""

import os
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

from typing_extensions import override

from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.features.console.running import serves_console
from comptoir.features.inspector import InspectorSettings
from comptoir.features.inspector import errors as problems
from comptoir.features.inspector.inspector import LOOK_SECONDS, Inspector
from comptoir.features.inspector.segments import FOLDER, private_folder
from comptoir.http.exchange import Observer
from comptoir.http.feature import Feature, Kernel
from comptoir.http.redaction import Redactor
from comptoir.store.jobs import Job, every


class Inspecting(Feature):
    """Keeps the last exchanges of a service that has a console, which shows them."""

    inspector: Inspector
    screen = "comptoir.features.inspector.screen:SCREEN"

    def __init__(self, settings: Settings, model: Model) -> None:
        self._settings = settings
        self._model = model
        self._has_screen = serves_console(settings)

    @override
    def check_start(self, config: str | None) -> None:
        """Raise `OperatorError` for `inspect` without a console."""
        inspect = self._settings.of(InspectorSettings).inspect
        if not self._has_screen and inspect in ("heads", "bodies"):
            raise problems.INSPECT_WITHOUT_CONSOLE(inspect=inspect)

    @override
    @asynccontextmanager
    async def opened(self, _: Kernel) -> AsyncIterator[None]:
        if not self._has_screen:
            yield
            return
        self.inspector = Inspector(self._settings, Redactor.of(self._model))
        try:
            yield
        finally:
            self.inspector.stop()

    @override
    @contextmanager
    def serving(self) -> Iterator[None]:
        """Let all workers share a folder."""
        if not self._has_screen:
            yield
            return
        with private_folder() as folder:
            os.environ[FOLDER] = str(folder)
            yield

    @override
    def jobs(self) -> Iterable[Job]:
        return [every(LOOK_SECONDS, self.inspector.look)] if self._has_screen else []

    @override
    def observers(self) -> Sequence[Observer]:
        return [self.inspector] if self._has_screen else []
