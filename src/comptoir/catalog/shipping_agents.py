"""The shipping agents."""

from comptoir.edm.entity import EntityType, Property, UniqueRule
from comptoir.edm.model import EntitySet
from comptoir.edm.scalar import GUID
from comptoir.edm.text import CODE, TEXT

SHIPPING_AGENT = EntityType(
    name="shippingAgent",
    description="A carrier who ships for the company.",
    properties=(
        Property("id", GUID, "The record's key."),
        Property("code", CODE, "The agent's code.", required=True),
        Property("name", TEXT, "The agent's name."),
    ),
    unique=(UniqueRule(("code",)),),
)

ENTITY_SET = EntitySet("shippingAgentsExt", SHIPPING_AGENT)
