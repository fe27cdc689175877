"""503 or 502: the service is away."""

from collections.abc import Sequence

from typing_extensions import override

from comptoir.features.rehearsal.faults.fault import (
    AffectedRequest,
    Fault,
    RetryAfter,
    gateway_page,
    parameter,
    retry_headers,
    retry_parameter,
    word,
)
from comptoir.features.rehearsal.traps import Trap
from comptoir.response.response import Response


class _Away(Fault):
    kind: str = word(
        "503 with a JSON body, 503 with the gateway's HTML page, or 502.", "json", "html", "502"
    )
    retry_after: RetryAfter = retry_parameter()
    window: int | None = parameter(
        "The seconds for which every request of every client gets this answer.", None, 1, 86_400
    )

    @override
    def traps(self) -> Sequence[Trap]:
        met = [Trap.GATEWAY_PAGE] if self.kind != "json" else []
        return [*met, Trap.UPDATE_WINDOW] if self.window else met

    @override
    async def act(self, affected: AffectedRequest) -> Response:
        if self.kind == "json":
            raise self.unavailable()
        return gateway_page(502 if self.kind == "502" else 503, retry_headers(self.retry_after))
