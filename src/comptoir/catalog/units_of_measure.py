"""Units of measure. Their key is the code, and a create requires a precondition."""

from comptoir.edm.model import EntitySet, EntityType, Property
from comptoir.edm.times import INSTANT
from comptoir.edm.types import CODE, TEXT

UNIT_OF_MEASURE = EntityType(
    name="unitOfMeasure",
    description="A unit in which items are measured.",
    key="code",
    properties=(
        Property("code", CODE, "The record's key, the code of the unit.", required=True),
        Property("displayName", TEXT, "The name to display."),
        Property(
            "internationalStandardCode",
            TEXT,
            "The code of UN/ECE Recommendation 20.",
            suggested=("C62", "EA", "BX", "KGM", "HUR", "DAY"),
        ),
        Property("symbol", TEXT, "The unit's symbol."),
        Property(
            "lastModifiedDateTime",
            INSTANT,
            "The time of the last change. A create may set it.",
            modified_at=True,
            kept_on_create=True,
        ),
    ),
)

ENTITY_SET = EntitySet("unitsOfMeasureExt", UNIT_OF_MEASURE, create_guarded=True)
