"""Notifications of the changes of records, for receivers outside."""

from typing import Annotated

from comptoir.config import Positive, SettingsPart, Switch
from comptoir.feature import FeatureEntry


class NotificationSettings(SettingsPart, frozen=True, kw_only=True):
    """The settings of notifications."""

    outgoing_http: Annotated[
        Switch, "`on` allows notification URLs of subscriptions with http://, to try them out."
    ] = "off"
    clock_factor: Annotated[
        Positive,
        "By how much the waits of the profile are shorter: those before notifications and before "
        "retries, and the lifetime of subscriptions.",
    ] = 1.0


ENTRY = FeatureEntry(
    "notifications",
    settings=NotificationSettings,
    mount="comptoir.features.notifications.feature:Notifications",
    is_on=lambda settings: settings.behaviour.hooks is not None,
    tables="comptoir.features.notifications.tables:METADATA",
)
