"""410: the link to a page is not valid any longer."""

from typing_extensions import override

from comptoir.errors.refusal import Refusal
from comptoir.errors.table import LINK_EXPIRED
from comptoir.features.rehearsal.faults.fault import AffectedRequest, Candidate, Fault, parameter
from comptoir.features.rehearsal.traps import Trap

LINK_GONE = LINK_EXPIRED.row(
    "The link to this page is not valid any longer", LINK_EXPIRED.remedy, group="LINK_GONE"
)


class _LinkExpired(Fault):
    trap = Trap.EXPIRED_LINK
    methods = frozenset({"GET"})
    page: int = parameter("The number of the page.", 2, 2, 1_000_000)

    @override
    def can_meet(self, asked: Candidate) -> bool:
        return asked.page == self.page

    @override
    def refusal(self, affected: AffectedRequest) -> Refusal:
        return LINK_GONE()
