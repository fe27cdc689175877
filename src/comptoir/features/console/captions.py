"""The names of sets, records and properties for people."""

import re

from comptoir.edm.model import EntitySet, EntityType, Property

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^A-Z0-9]+|[0-9]+|[A-Z]")
"""A word of a name in camel case, or its digits."""


def caption(declared: Property | EntityType) -> str:
    """The caption of a property, or of one record of a type; else the name as words."""
    return words(declared.name) if declared.caption == declared.name else declared.caption


def set_caption(entity_set: EntitySet) -> str:
    """The caption of the records of a set together: that of the catalog, or its name as words."""
    return entity_set.caption or words(entity_set.name)


def words(name: str) -> str:
    """A name in camel case as words: `addressLine1` is "Address line 1"."""
    found = _WORD.findall(name.replace("_", " "))
    text = " ".join(" ".join(each if each.isupper() else each.lower() for each in found).split())
    return f"{text[:1].upper()}{text[1:]}" or name
