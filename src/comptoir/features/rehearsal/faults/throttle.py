"""429: the client has sent too many requests."""

from typing_extensions import override

from comptoir.errors.refusal import ExceededLimit, Refusal
from comptoir.errors.table import TOO_MANY_REQUESTS
from comptoir.features.rehearsal.faults.fault import (
    AffectedRequest,
    Fault,
    RetryAfter,
    retry_headers,
    retry_parameter,
)
from comptoir.features.rehearsal.traps import Trap

THROTTLED = TOO_MANY_REQUESTS.row("The client has sent too many requests", TOO_MANY_REQUESTS.remedy,
    group="TOO_MANY_REQUESTS", limit=ExceededLimit.RATE)  # fmt: skip


class _Throttle(Fault):
    trap = Trap.THROTTLING
    retry_after: RetryAfter = retry_parameter()

    @override
    def refusal(self, affected: AffectedRequest) -> Refusal:
        return THROTTLED(headers=retry_headers(self.retry_after), actual=101, limit=100)
