"""The history of records: what changes did to them, from the change log."""

from comptoir.feature import FeatureEntry

ENTRY = FeatureEntry("history", mount="comptoir.features.history.feature:History")
