"""The properties of companies in Business Central that the interface lacks."""

from collections.abc import Mapping

from comptoir.profiles.values import ShownProperty

_EMPTY = "Always empty."

OF_COMPANIES: Mapping[str, ShownProperty] = {
    "systemVersion": ShownProperty("text", "number", "The number of the last change, as text."),
    "timestamp": ShownProperty("number", "number", "The number of the last change."),
    "businessProfileId": ShownProperty("text", "", _EMPTY),
    "systemCreatedAt": ShownProperty("instant", "", _EMPTY),
    "systemCreatedBy": ShownProperty("id", "", _EMPTY),
    "systemModifiedAt": ShownProperty(
        "instant", "lastModifiedDateTime", "The time of the last change."
    ),
    "systemModifiedBy": ShownProperty("id", "", _EMPTY),
}
