"""The sample company, read from its files."""

import csv

from comptoir.catalog import MODEL
from comptoir.edm.model import Model
from comptoir.features.samples.command import sample_files

Company = dict[str, list[dict[str, str]]]
"""The records of each entity set, by property."""


def read_company(model: Model = MODEL) -> Company:
    found = {}
    for entity_set, path in sample_files(model).items():
        with path.open(encoding="utf-8", newline="") as file:
            found[entity_set.name] = list(csv.DictReader(file))
    return found
