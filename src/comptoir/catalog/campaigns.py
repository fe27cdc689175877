"""The campaigns."""

from comptoir.edm.model import EntitySet, EntityType, Property, UniqueRule
from comptoir.edm.times import DATE
from comptoir.edm.types import BOOLEAN, CODE, GUID, TEXT

CAMPAIGN = EntityType(
    name="campaign",
    description="A sales campaign.",
    properties=(
        Property("id", GUID, "The record's key."),
        Property("number", CODE, "The campaign's number.", required=True),
        Property("description", TEXT, "What the campaign is."),
        Property("startingDate", DATE, "Its first day."),
        Property("endingDate", DATE, "Its last day."),
        Property(
            "statusCode",
            TEXT,
            "Where it stands.",
            suggested=("INIT", "SCHEDULED", "STARTED", "DONE"),
        ),
        Property("activated", BOOLEAN, "Whether its prices are active."),
    ),
    unique=(UniqueRule(("number",)),),
)

ENTITY_SET = EntitySet("campaignsExt", CAMPAIGN)
