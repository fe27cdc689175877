"""Shipping agents."""

from comptoir.edm.model import EntitySet, EntityType, Property, UniqueRule
from comptoir.edm.types import CODE, GUID, TEXT

SHIPPING_AGENT = EntityType(
    name="shippingAgent",
    description="A carrier that ships for the company.",
    properties=(
        Property("id", GUID, "The record's key."),
        Property("code", CODE, "The agent's code.", required=True),
        Property("name", TEXT, "The agent's name."),
    ),
    unique=(UniqueRule(("code",)),),
)

ENTITY_SET = EntitySet("shippingAgentsExt", SHIPPING_AGENT)
