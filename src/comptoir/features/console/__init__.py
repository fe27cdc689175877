"""The web console: pages to watch, try and administer the service with."""

from comptoir.feature import FeatureEntry

ENTRY = FeatureEntry(
    "console",
    commands={
        "console": (
            "comptoir.features.console.command:console",
            "Print a link that logs in to the web console.",
        )
    },
    mount="comptoir.features.console.feature:Console",
    tables="comptoir.features.console.tables:METADATA",
)
