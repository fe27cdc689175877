"""The service document (OData JSON Format 4.01, section 5)."""

from collections.abc import Sequence

import msgspec

from comptoir.edm.model import EntitySet

_NONE = "none"


def service_document(root: str, sets: Sequence[EntitySet], level: str) -> bytes:
    """List the entity sets at the URL of a service root.

    With the metadata level `none` the URLs are absolute, because there is no context URL to which
    they could be relative.
    """
    listed = [
        {
            "name": each.name,
            "kind": "EntitySet",
            "url": f"{root}/{each.name}" if level == _NONE else each.name,
        }
        for each in sets
    ]
    context = {} if level == _NONE else {"@odata.context": f"{root}/$metadata"}
    return msgspec.json.encode({**context, "value": listed})
