"""The companies: what every other record belongs to."""

from comptoir.edm.model import EntitySet, EntityType, Property
from comptoir.edm.times import INSTANT
from comptoir.edm.types import GUID, TEXT

COMPANY = EntityType(
    name="company",
    description="A company, whose records are reached under it.",
    properties=(
        Property("id", GUID, "The company's key."),
        Property("name", TEXT, "The company's name.", required=True),
        Property("displayName", TEXT, "The name to show."),
        Property("lastModifiedDateTime", INSTANT, "When it last changed.", modified_at=True),
    ),
)

ENTITY_SET = EntitySet("companies", COMPANY, read_only=True, per_company=False)
