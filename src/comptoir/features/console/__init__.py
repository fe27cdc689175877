"""The web console: pages to watch, try and administer the service with."""

from collections.abc import Iterator
from typing import Annotated, Literal

from msgspec import Meta
from typing_extensions import override

from comptoir.auth.origins import CONSOLE
from comptoir.config import Positive, Settings, SettingsPart
from comptoir.feature import FeatureEntry

SHORTEST_IDLE = 120
"""The least seconds without a request that end a session, whose last use is noted by the minute."""

_Idle = Annotated[float, Meta(ge=SHORTEST_IDLE, le=1e300), f"Use {SHORTEST_IDLE} or more."]


class ConsoleSettings(SettingsPart, frozen=True, kw_only=True):
    """The settings of the console."""

    console: Annotated[
        Literal["auto", "on", "off"],
        "The web console at `/console`, on `admin_port` if there is one: `on`, `off`, or `auto` "
        "to serve it on a loopback address only, if `public_url` is empty.",
    ] = "auto"
    console_idle_seconds: Annotated[
        _Idle, "How long a session of the console lasts without a request."
    ] = 1_800.0
    console_session_seconds: Annotated[
        Positive, "The longest duration of a session of the console."
    ] = 28_800.0

    @override
    def conflicts(self, settings: Settings) -> Iterator[tuple[str, str]]:
        name = CONSOLE[1:]
        if name in settings.tenants:
            yield "oauth_tenants", f"Choose other names than {name}."
        if settings.first_segment == name:
            yield "base_path", f"Choose another first segment than {name}."


ENTRY = FeatureEntry(
    "console",
    commands={
        "console": (
            "comptoir.features.console.command:console",
            "Print a link that logs in to the web console.",
        )
    },
    settings=ConsoleSettings,
    mount="comptoir.features.console.feature:Console",
    tables="comptoir.features.console.tables:METADATA",
)
