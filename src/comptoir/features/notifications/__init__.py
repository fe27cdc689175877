"""Notifications of the changes of records, for receivers outside."""

from comptoir.feature import FeatureEntry

ENTRY = FeatureEntry(
    "notifications",
    mount="comptoir.features.notifications.feature:Notifications",
    is_on=lambda settings: settings.behaviour.hooks is not None,
    tables="comptoir.features.notifications.tables:METADATA",
)
