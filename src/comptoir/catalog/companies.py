"""Companies, to which all other records belong."""

from comptoir.edm.model import EntitySet, EntityType, Property
from comptoir.edm.times import INSTANT
from comptoir.edm.types import GUID, TEXT

COMPANY = EntityType(
    name="company",
    description="A company. It contains all other records.",
    properties=(
        Property("id", GUID, "The company's key."),
        Property("name", TEXT, "The company's name.", required=True),
        Property("displayName", TEXT, "The name to display."),
        Property("lastModifiedDateTime", INSTANT, "The time of the last change.", modified_at=True),
    ),
)

COMPANIES = EntitySet("companies", COMPANY, read_only=True, per_company=False)
