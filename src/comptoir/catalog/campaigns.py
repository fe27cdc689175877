"""Sales campaigns."""

from comptoir.edm.model import EntitySet, EntityType, Property, UniqueRule
from comptoir.edm.times import DATE
from comptoir.edm.types import BOOLEAN, CODE, GUID, TEXT

CAMPAIGN = EntityType(
    name="campaign",
    description="A sales campaign.",
    properties=(
        Property("id", GUID, "The record's key."),
        Property("number", CODE, "The campaign's number.", required=True),
        Property("description", TEXT, "The description."),
        Property("startingDate", DATE, "The first day of the campaign."),
        Property("endingDate", DATE, "The last day of the campaign."),
        Property(
            "statusCode",
            TEXT,
            "The status.",
            suggested=("INIT", "SCHEDULED", "STARTED", "DONE"),
        ),
        Property("activated", BOOLEAN, "Whether the prices of the campaign are active."),
    ),
    unique=(UniqueRule(("number",)),),
)

ENTITY_SET = EntitySet("campaignsExt", CAMPAIGN)
