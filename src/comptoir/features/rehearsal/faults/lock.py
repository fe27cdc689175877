"""503: another session is updating records of the entity set."""

from typing_extensions import override

from comptoir.errors.refusal import Refusal
from comptoir.errors.table import DATABASE_BUSY
from comptoir.features.rehearsal.faults.fault import AffectedRequest, Fault
from comptoir.features.rehearsal.traps import Trap
from comptoir.request.path import WRITE_METHODS

LOCKED = DATABASE_BUSY.row("Another session is updating records of {set}",
    "Send the request again.", group="LOCKED", headers={"Retry-After": "1"})  # fmt: skip


class _Lock(Fault):
    trap = Trap.LOCK
    needs_set = True
    methods = WRITE_METHODS

    @override
    def refusal(self, affected: AffectedRequest) -> Refusal:
        entity_set = affected.target.entity_set
        return LOCKED(set=entity_set.name, table=entity_set.type.caption)
