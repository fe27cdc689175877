"""The inspector: keeps exchanges that have ended, without their secrets, so people can look."""

from comptoir.auth.origins import serves_console
from comptoir.feature import FeatureEntry

ENTRY = FeatureEntry(
    "inspector",
    mount="comptoir.features.inspector.feature:Inspecting",
    is_on=serves_console,
)
