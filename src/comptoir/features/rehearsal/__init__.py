"""Rehearsals: rules that decide which requests meet which fault, and what clients have met."""

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar

from typing_extensions import override

from comptoir.config import Settings, SettingsPart, Switch, Text
from comptoir.feature import FeatureEntry


class RehearsalSettings(SettingsPart, frozen=True, kw_only=True):
    """The settings of rehearsals."""

    faults: Annotated[
        Switch, "`on` lets requests meet faults on demand, to rehearse a client; for tests only."
    ] = "off"
    fault_rules: Annotated[Text, "The JSON file of the rules of `faults` at the start."] = ""
    options = ("faults", "fault_rules")
    flags: ClassVar[Mapping[str, str]] = {
        "faults": "Let requests meet faults on demand, to rehearse how a client handles them."
    }

    @property
    def is_on(self) -> bool:
        """Whether requests can meet faults on demand."""
        return self.faults == "on"

    @override
    def conflicts(self, settings: Settings) -> Iterator[tuple[str, str]]:
        if self.fault_rules and not self.is_on:
            yield "fault_rules", "Set faults to on, too."
        if self.is_on and settings.workers > 1:
            yield "workers", "Use 1 with faults, whose rules and counts are those of one process."


ENTRY = FeatureEntry(
    "rehearsal",
    commands={
        "rehearse": (
            "comptoir.features.rehearsal.client:rehearse",
            "Report what the clients of a service with faults have met.",
        )
    },
    settings=RehearsalSettings,
    mount="comptoir.features.rehearsal.rehearsal:Rehearsal",
    is_on=lambda settings: settings.of(RehearsalSettings).is_on,
)
