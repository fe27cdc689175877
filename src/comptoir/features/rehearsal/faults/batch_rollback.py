"""A batch with a snapshot fails: its answers say 201, and nothing is stored."""

from typing_extensions import override

from comptoir.errors.refusal import Refusal
from comptoir.errors.table import DATABASE_BUSY
from comptoir.features.rehearsal.faults.fault import Fault, Stage, parameter
from comptoir.features.rehearsal.traps import Trap

UNDONE = DATABASE_BUSY.row(
    "The batch was undone after a request of it failed",
    "Send the batch again.",
    headers={"Retry-After": "1"},
)


class _BatchRollback(Fault):
    trap = Trap.BATCH_ROLLED_BACK
    stage = Stage.BATCH
    index: int = parameter("The number of the request that fails, from 0.", 0, 0, 999)

    @override
    def failing(self) -> tuple[int, Refusal]:
        return self.index, UNDONE()
