"""Business Central as a part of a service: its addresses and its definitions."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from typing_extensions import override

from comptoir.config import Settings
from comptoir.edm.model import Model
from comptoir.features.business_central.definitions import Definitions
from comptoir.features.business_central.routes import BusinessCentralRoutes
from comptoir.http.feature import Feature, Kernel
from comptoir.http.routes import Routes
from comptoir.store.store import Store


class BusinessCentral(Feature):
    """What no record of a profile can say."""

    def __init__(self, settings: Settings, model: Model) -> None:
        self._settings = settings
        self._model = model

    @override
    def addresses(self, store: Store) -> Routes:
        return BusinessCentralRoutes(self._settings, self._model, store)

    @override
    @asynccontextmanager
    async def opened(self, kernel: Kernel) -> AsyncIterator[None]:
        if self._settings.behaviour.routes.definitions:
            kernel.service.mount(Definitions(self._model, self._settings))
        yield
