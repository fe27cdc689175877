"""The units of measure: keyed by their code; creating one takes a precondition."""

from comptoir.edm.model import EntitySet, EntityType, Property
from comptoir.edm.times import INSTANT
from comptoir.edm.types import CODE, TEXT

UNIT_OF_MEASURE = EntityType(
    name="unitOfMeasure",
    description="A unit in which items are counted.",
    key="code",
    properties=(
        Property("code", CODE, "The unit's code, its key.", required=True),
        Property("displayName", TEXT, "The name to show."),
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
            "When it last changed; kept when a create sends it.",
            modified_at=True,
            kept_on_create=True,
        ),
    ),
)

ENTITY_SET = EntitySet("unitsOfMeasureExt", UNIT_OF_MEASURE, create_guarded=True)
