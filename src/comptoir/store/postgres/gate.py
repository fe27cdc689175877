"""Opens connections to a database that may come up after the service, and be unfit for it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from comptoir.config import Settings
from comptoir.errors import DATABASE_NOT_READY, OperatorError, Refusal
from comptoir.store.postgres.connection import Connection
from comptoir.store.postgres.faults import FAULTS, refusal_of
from comptoir.store.postgres.migrating import check_database

_log = logging.getLogger(__name__)


class Gate:
    """Lets connections be opened once server and schema have been found fit."""

    def __init__(self, settings: Settings, opened: Callable[[], Awaitable[Connection]]) -> None:
        self._settings = settings
        self._opened = opened
        self._is_open = False
        self._checking: asyncio.Task[None] | None = None

    async def __call__(self) -> Connection:
        """Open a connection. Raises `FAULTS`, and `Refusal` (503) while the database is unfit."""
        if not self._is_open:
            if self._checking is None:
                self._checking = asyncio.create_task(self._check())
                # whoever asked may be gone when it fails
                self._checking.add_done_callback(_settled)
            await asyncio.shield(self._checking)
        return await self._opened()

    async def _check(self) -> None:
        try:
            await check_database(self._settings, self._settings.database, _log.warning)
            self._is_open = True
        except OperatorError as fault:
            if isinstance(fault.__cause__, FAULTS):
                raise refusal_of(fault.__cause__) from fault
            raise unfit(fault) from fault
        finally:
            self._checking = None


def unfit(fault: OperatorError) -> Refusal:
    """What a client is told of a database that its operator must see to; the log has the fault."""
    _log.error("%s", fault)
    return Refusal(
        DATABASE_NOT_READY,
        "The database is not fit for this service. Its operator must mend that.",
        headers={"Retry-After": "5"},
    )


def _settled(checking: asyncio.Task[None]) -> None:
    if not checking.cancelled():
        checking.exception()
