"""The profile `business-central`: what Business Central does, where that is known.

`tests/profiles/rows.toml` has the source of each difference from `standard`.
"""

from comptoir.feature import FeatureEntry

ENTRY = FeatureEntry(
    "business_central",
    profiles={"business-central": "comptoir.features.business_central.profile:business_central"},
)
