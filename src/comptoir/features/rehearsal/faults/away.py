"""503 or 502: the service is away."""

from collections.abc import Sequence

from typing_extensions import override

from comptoir.errors.refusal import Refusal
from comptoir.features.rehearsal.faults.fault import (
    AWAY,
    AffectedRequest,
    Fault,
    RetryAfter,
    gateway_page,
    parameter,
    retry_headers,
    retry_parameter,
    retry_seconds,
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
    def window_seconds(self) -> float:
        return self.window or 0

    @override
    def wait_seconds(self) -> float:
        return retry_seconds(self.retry_after)

    @override
    def traps(self) -> Sequence[Trap]:
        met = [Trap.GATEWAY_PAGE] if self.kind != "json" else []
        return [*met, Trap.UPDATE_WINDOW] if self.window else met

    @override
    async def act(self, affected: AffectedRequest) -> Response:
        if self.kind == "json":
            raise self.unavailable()
        return gateway_page(502 if self.kind == "502" else 503, retry_headers(self.retry_after))

    @override
    def unavailable(self) -> Refusal:
        return AWAY(headers=retry_headers(self.retry_after))
