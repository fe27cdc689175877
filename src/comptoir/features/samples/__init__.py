"""The sample company: its records, a CSV file for each entity set, and its commands."""

from comptoir.feature import FeatureEntry

ENTRY = FeatureEntry(
    "samples",
    commands={
        "sample": (
            "comptoir.features.samples.command:sample",
            "Create a sample company and print its id at the end. Creates the database if missing.",
        ),
        "reset": (
            "comptoir.features.samples.command:reset",
            "Bring the sample company of `serve --quickstart` back to its first state.",
        ),
    },
    quickstart="comptoir.features.samples.command:prepared",
    needs=("transfer",),
)
