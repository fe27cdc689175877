"""The items' long texts: read-only over HTTP, loaded from files."""

from comptoir.edm.model import EntitySet, EntityType, Property
from comptoir.edm.times import DATE
from comptoir.edm.types import BASE64_TEXT, GUID, TEXT

ITEM_PRODUCT_TEXT = EntityType(
    name="ItemProductTextLongContent",
    description="A long text about an item.",
    key="systemId",
    properties=(
        Property("systemId", GUID, "The record's key."),
        Property("startingDate", DATE, "The first day on which the text applies."),
        Property("endDate", DATE, "The last day on which the text applies."),
        Property("languageCode", TEXT, "The language's code."),
        Property("insertedFrom", TEXT, "The author of the text."),
        Property("lastModifiedFrom", TEXT, "The author of the last change."),
        Property(
            "textContentType",
            TEXT,
            "The format of the text.",
            suggested=("Plain Text", "HTML", "Markdown", "RTF"),
        ),
        Property("base64Text", BASE64_TEXT, "The text, Base64-encoded."),
    ),
)

ENTITY_SET = EntitySet("ItemProductTextLongContentsExt", ITEM_PRODUCT_TEXT, read_only=True)
