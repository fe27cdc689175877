"""Notifications of a subscription come otherwise than expected."""

from collections.abc import Callable, Sequence

from typing_extensions import override

from comptoir.features.rehearsal.faults.fault import Fault, Stage, parameter, word
from comptoir.features.rehearsal.traps import Trap
from comptoir.outgoing import DeliveryFault, DeliveryMode


class _Hook(Fault):
    stage = Stage.DELIVERY
    mode: str = word(
        "They come twice, in the opposite order, later, or not at all; the subscription is "
        "deleted; or a single `collection` replaces them.",
        *DeliveryMode,
    )
    seconds: float | None = parameter(
        "The delay, by the clock of the profile.",
        60,
        0.001,
        86_400,
        is_whole=False,
        only_with=("mode", "delay"),
    )

    @override
    def traps(self) -> Sequence[Trap]:
        return (Trap.REPEATED_NOTIFICATION,) if self.mode == DeliveryMode.DUPLICATE else ()

    @override
    def delivery(self, note: Callable[[], None]) -> DeliveryFault:
        return DeliveryFault(DeliveryMode(self.mode), self.seconds or 0, note)
