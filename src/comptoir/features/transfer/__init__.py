"""Companies in bulk: load files, dump to files, and copy between databases."""

from comptoir.feature import FeatureEntry

ENTRY = FeatureEntry(
    "transfer",
    tables="comptoir.features.transfer.tables:METADATA",
    commands={
        "load": (
            "comptoir.features.transfer.commands:load",
            "Load files into a company. Each file is checked completely before it is written.",
        ),
        "dump": (
            "comptoir.features.transfer.commands:dump",
            "Write a company's records to files, one for each entity set and named after it.",
        ),
        "copy": (
            "comptoir.features.transfer.commands:copy",
            "Copy companies to another database, with ids, entity tags and the change log.",
        ),
    },
)
