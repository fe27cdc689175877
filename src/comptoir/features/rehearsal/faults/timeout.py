"""The request times out, before or after its commit."""

import asyncio
from collections.abc import Sequence

from typing_extensions import override

from comptoir.errors.table import REQUEST_TIMEOUT
from comptoir.features.rehearsal.faults.fault import (
    AffectedRequest,
    Fault,
    gateway_page,
    lose,
    parameter,
    word,
)
from comptoir.features.rehearsal.traps import Trap
from comptoir.response.response import Response

UNFINISHED = REQUEST_TIMEOUT.row(
    "The service has not finished the request in time", "Send a smaller one.", group="LONG_WORK"
)


class _Timeout(Fault):
    status: str = word("The status.", "408", "504")
    phase: str = word("Whether a write is committed.", "before", "after")
    seconds: float = parameter("The time until the answer.", 0, 0, 600, is_whole=False)

    @override
    def traps(self) -> Sequence[Trap]:
        met = [Trap.GATEWAY_PAGE] if self.status == "504" else []
        return [*met, Trap.LOST_ANSWER] if self.phase == "after" else met

    @override
    async def act(self, affected: AffectedRequest) -> Response:
        if self.phase == "after":
            await lose(affected)
        await asyncio.sleep(self.seconds)
        if self.status == "504":
            return gateway_page(504)
        raise UNFINISHED()
