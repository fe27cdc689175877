"""Rehearsals: rules that decide which requests meet which fault, and what clients have met."""

from comptoir.feature import FeatureEntry

ENTRY = FeatureEntry(
    "rehearsal",
    commands={
        "rehearse": (
            "comptoir.features.rehearsal.command:rehearse",
            "Report what the clients of a service with faults have met.",
        )
    },
    mount="comptoir.features.rehearsal.feature:Rehearsing",
    is_on=lambda settings: settings.rehearses,
)
