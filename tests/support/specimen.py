"""An entity type of the tests only: one property of each type, and every rule."""

from collections.abc import Mapping

from comptoir.catalog import MODEL
from comptoir.edm.model import (
    Calculated,
    EntitySet,
    EntityType,
    Model,
    NavigationProperty,
    Property,
    UniqueRule,
)
from comptoir.edm.numbers import DECIMAL, INT32
from comptoir.edm.times import DATE, INSTANT
from comptoir.edm.types import BASE64_TEXT, BOOLEAN, CODE, GUID, TEXT, Stored


def reversed_text(record: Mapping[str, Stored]) -> str:
    return str(record["text"])[::-1]


SPECIMEN = EntityType(
    name="specimen",
    description="A specimen.",
    properties=(
        Property("id", GUID),
        Property("code", CODE, required=True),
        Property("series", CODE),
        Property("rank", INT32, numbered=True),
        Property("text", TEXT),
        Property("mirrored", TEXT),
        Property("amount", DECIMAL),
        Property("rate", DECIMAL),
        Property("active", BOOLEAN),
        Property("reference", GUID),
        Property("day", DATE),
        Property("moment", INSTANT),
        Property("content", BASE64_TEXT),
        Property("changedAt", INSTANT, modified_at=True),
    ),
    unique=(UniqueRule(("code", "series")), UniqueRule(("rank",))),
    indexes=(("series",),),
    derivations=(Calculated("mirrored", ("text",), reversed_text, "the text backwards"),),
    navigation=(
        NavigationProperty("original", "specimensExt", ("series", "code"), collection=False),
        NavigationProperty("copies", "specimensExt", ("code", "series")),
    ),
)

SPECIMENS = EntitySet("specimensExt", SPECIMEN)
WITH_SPECIMENS = Model((*MODEL.sets, SPECIMENS), tables=MODEL.tables)
