"""The service document: what stands at the top of a service root (OData JSON Format 4.01, 5)."""

import msgspec

from comptoir.edm.model import Model

_NONE = "none"


def service_document(model: Model, base_url: str, company_id: str | None, level: str) -> bytes:
    """List the sets of the root at `base_url`, or of the company's root.

    `level` is the metadata level. With `none` there is no context that relative URLs could be
    relative to, so they are absolute.
    """
    root = base_url if company_id is None else f"{base_url}/{model.companies.name}({company_id})"
    sets = (model.companies,) if company_id is None else model.per_company
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
