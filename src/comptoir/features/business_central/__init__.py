"""The profile `business-central`: its settings, and its entry in the list of features."""

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta
from typing_extensions import override

from comptoir.config import Settings, SettingsPart, Switch, list_of
from comptoir.feature import FeatureEntry

VERSIONS = range(15, 29)
"""The versions of Business Central that the profile may imitate: those that have API v2.0."""

CURRENT = VERSIONS[-1]
"""The version that is imitated by default."""

_PATH_NAME = "[A-Za-z0-9][A-Za-z0-9_.~-]*"
PathName = Annotated[str, Meta(pattern=rf"\A{_PATH_NAME}\Z"), "Use letters, digits, - . _ and ~."]
PathNames = Annotated[
    str,
    Meta(pattern=list_of(_PATH_NAME)),
    "Use names of letters, digits, - . _ and ~, such as Production.",
]
_Version = Annotated[
    int,
    Meta(ge=VERSIONS[0], le=VERSIONS[-1]),
    f"Use an integer from {VERSIONS[0]} to {VERSIONS[-1]}.",
]


class BusinessCentralSettings(SettingsPart, frozen=True, kw_only=True):
    """The settings of the profile."""

    relations: Annotated[
        Switch,
        "Whether the profile `business-central` refuses codes that name no record, such as those "
        "of items: `on`, or `off` for partial data.",
    ] = "on"
    interface_extensions: Annotated[
        Switch, "Whether `business-central` has the interface's additions: `on` or `off`."
    ] = "on"
    bc_version: Annotated[
        _Version,
        "The version of Business Central that `profile = business-central` imitates, from "
        f"{VERSIONS[0]} to {VERSIONS[-1]}.",
    ] = CURRENT
    environments: Annotated[
        PathNames,
        "The names of environments, separated by commas, in addresses such as "
        "`/v2.0/Production/api/v2.0` of the profile `business-central`.",
    ] = "Production, Sandbox"
    instance: Annotated[
        PathName, "The server's name in addresses of `business-central` such as `/BC/ODataV4`."
    ] = "BC"
    api_publisher: Annotated[
        PathName, "The publisher in addresses of that profile such as `/BC/api/comptoir/ext/v1.0`."
    ] = "comptoir"
    api_group: Annotated[PathName, "The group in such addresses, after `api_publisher`."] = "ext"
    api_version: Annotated[PathName, "The version in such addresses, after `api_group`."] = "v1.0"
    options = ("relations",)

    @override
    def conflicts(self, settings: Settings) -> Iterator[tuple[str, str]]:
        if self.interface_extensions == "off" and settings.profile == "standard":
            yield "interface_extensions", "Set profile to business-central, too."
        routes = {path.split("/")[1] for path in settings.behaviour.routes.environments}
        taken = {self.instance.lower() if each == "{instance}" else each for each in routes}
        if settings.first_segment.lower() in taken:
            yield "base_path", f"Choose another first segment than {' or '.join(sorted(taken))}."
        if not taken.isdisjoint(settings.tenants):
            yield "oauth_tenants", f"Choose other names than {' and '.join(sorted(taken))}."


ENTRY = FeatureEntry(
    "business_central",
    settings=BusinessCentralSettings,
    profiles={"business-central": "comptoir.features.business_central.profile:profile_of"},
    mount="comptoir.features.business_central.feature:BusinessCentral",
    is_on=lambda settings: bool(settings.behaviour.routes.apis),
)
