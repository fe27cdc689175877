"""Backups: one file with a database and its keys, and the way back."""

from comptoir.feature import FeatureEntry

ENTRY = FeatureEntry(
    "backup",
    commands={
        "backup": (
            "comptoir.features.backup.commands:backup",
            "Write the database and the public keys to one file, while services run.",
        ),
        "restore": (
            "comptoir.features.backup.commands:restore",
            "Bring back the database of a backup, and the keys that are missing.",
        ),
    },
)
