"""404: the entity set is missing, as during an upgrade."""

from typing_extensions import override

from comptoir.errors.refusal import Refusal
from comptoir.errors.table import RESOURCE_NOT_FOUND
from comptoir.features.rehearsal.faults.fault import AffectedRequest, Fault

VANISHED = RESOURCE_NOT_FOUND.row(
    "The service does not have {set} now", "Send the request again later."
)


class _Vanish(Fault):
    needs_set = True

    @override
    def refusal(self, affected: AffectedRequest) -> Refusal:
        root, name = affected.request.root, affected.target.entity_set.name
        url = root.address(affected.request.path)
        return VANISHED(set=name).grouped(root.unknown, segment=name, url=url)
