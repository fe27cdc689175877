"""The campaigns."""

from comptoir.edm.entity import EntityType, Property, UniqueRule
from comptoir.edm.model import EntitySet
from comptoir.edm.scalar import BOOLEAN, GUID
from comptoir.edm.temporal import DATE
from comptoir.edm.text import CODE, TEXT

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
