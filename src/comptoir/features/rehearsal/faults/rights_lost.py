"""403: the client lacks a right on the entity set."""

from typing_extensions import override

from comptoir.errors.refusal import Refusal
from comptoir.errors.table import REQUEST_DENIED
from comptoir.features.rehearsal.faults.fault import AffectedRequest, Fault
from comptoir.plan.target import right_for

RIGHT_LOST = REQUEST_DENIED.row(
    "The client has lost a right on {set}",
    "Ask the operator for a role that allows it.",
    group="RIGHT_MISSING",
)


class _RightsLost(Fault):
    needs_set = True

    @override
    def refusal(self, affected: AffectedRequest) -> Refusal:
        request, entity_set = affected.request, affected.target.entity_set
        right = right_for(request.method, request.headers, upserts=False).name.capitalize()
        table = entity_set.type.table
        return RIGHT_LOST(set=entity_set.name, right=right, table=table)
