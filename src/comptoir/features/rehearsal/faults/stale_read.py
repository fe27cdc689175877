"""Reads show the state before the last writes, as from a replica that lags."""

from typing_extensions import override

from comptoir.edm.model import Company
from comptoir.features.rehearsal.entries import NOT_APPLICABLE
from comptoir.features.rehearsal.faults.fault import AffectedRequest, Fault, parameter, word
from comptoir.features.rehearsal.pinned_reads import StaleReads
from comptoir.features.rehearsal.traps import Trap
from comptoir.request.path import READ_METHODS
from comptoir.response.response import Response, whole_body


class _StaleRead(Fault):
    trap = Trap.STALE_READ
    needs_set = True
    methods = READ_METHODS
    remembers = True
    lag: int | None = parameter(
        "The most changes by which reads lag.", 1, 1, 1_000_000, never_with="seconds"
    )
    seconds: float | None = parameter(
        "The longest time by which reads lag.", None, 0.001, 60, is_whole=False
    )
    reads: str = word("All reads, or those with `Data-Access-Intent: ReadOnly`.", "all", "readonly")

    @override
    async def before_write(self, company: Company, views: StaleReads) -> None:
        await views.prepare(company, self.lag or 1, self.seconds)

    @override
    async def act(self, affected: AffectedRequest) -> Response:
        request = affected.request
        intent = None if request.access is None else request.access.intent
        view = affected.views.of(affected.target.company_id or "", self.seconds)
        if view is None or (self.reads == "readonly" and intent != "readonly"):
            affected.firing.outcome = NOT_APPLICABLE
            return await affected.perform()
        async with view.reads() as request.reads:
            response = await affected.perform()
            response.body = await whole_body(response)
        return response
