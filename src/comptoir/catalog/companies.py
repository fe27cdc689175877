"""The companies: what every other record belongs to."""

from comptoir.edm.entity import EntityType, Property
from comptoir.edm.model import EntitySet
from comptoir.edm.scalar import GUID
from comptoir.edm.temporal import INSTANT
from comptoir.edm.text import TEXT

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
