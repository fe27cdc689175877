"""The inspector: keeps exchanges that have ended, without their secrets, so people can look."""

from typing import Annotated, Literal

from comptoir.config import Count, SettingsPart
from comptoir.feature import FeatureEntry


class InspectorSettings(SettingsPart, frozen=True, kw_only=True):
    """The settings of the inspector."""

    inspect: Annotated[
        Literal["auto", "off", "heads", "bodies"],
        "What is kept of requests for the console: `bodies`, `heads` without bodies, `off`, or "
        "`auto` for `bodies` with `--quickstart` and else `off`.",
    ] = "auto"
    inspect_requests: Annotated[
        Count, "How many of its last requests each worker keeps for `inspect`."
    ] = 1_000
    inspect_body_bytes: Annotated[Count, "How much of each body is kept for `inspect`."] = 64 << 10
    inspect_bytes: Annotated[
        Count, "The most bytes that are kept for `inspect`, in files that the stop removes."
    ] = 64 << 20


ENTRY = FeatureEntry(
    "inspector",
    settings=InspectorSettings,
    mount="comptoir.features.inspector.inspector:Inspecting",
    needs=("console",),
)
