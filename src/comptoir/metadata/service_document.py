"""The service document (OData JSON Format 4.01, section 5)."""

import msgspec

from comptoir.edm.model import Model

_NONE = "none"


def service_document(model: Model, base_url: str, company_id: str | None, level: str) -> bytes:
    """List the entity sets of the service, or of a company.

    With the metadata level `none` the URLs are absolute, because there is no context URL to which
    they could be relative.
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
