"""`$metadata` as it is answered: in one of two media types, for one of two versions."""

from functools import lru_cache

from comptoir.edm.model import Model
from comptoir.metadata.abilities import Abilities
from comptoir.metadata.csdl.describe import describe
from comptoir.metadata.csdl.to_json import csdl_json
from comptoir.metadata.csdl.to_xml import csdl_xml

XML = "application/xml"
JSON = "application/json"
MEDIA_TYPES = (XML, JSON)
"""What `$metadata` is offered in; XML comes first, for every client reads it."""

_DOCUMENTS_KEPT = 8


def csdl_version(media_type: str, *, speaks_401: bool) -> str:
    """The version of CSDL to answer with, which is the answer's `OData-Version` as well.

    `speaks_401`: the request's `OData-MaxVersion` names 4.01 or later. XML is 4.0 without it,
    since some clients refuse any other version; JSON came with 4.01.
    """
    return "4.01" if media_type == JSON or speaks_401 else "4.0"


@lru_cache(_DOCUMENTS_KEPT)
def metadata_document(
    model: Model, abilities: Abilities, media_type: str, version: str, *, under_company: bool
) -> bytes:
    """`$metadata` of the interface's root, or of a company, in a media type of `MEDIA_TYPES`.

    `version` is what `csdl_version` gave.
    """
    description = describe(model, abilities, under_company=under_company)
    if media_type == JSON:
        return csdl_json(description)
    return csdl_xml(description, version)
