"""Parses `$metadata`."""

from typing import cast
from xml.etree.ElementTree import Element, fromstring

import msgspec

from comptoir.catalog import MODEL
from comptoir.edm.model import Model
from comptoir.metadata.annotations import Capabilities
from comptoir.metadata.csdl import JSON, XML, metadata_document

ANNOUNCED = Capabilities(
    filter_functions=("contains", "startswith"),
    transformations=("filter", "groupby", "aggregate"),
    methods_of=lambda _: ("min", "max"),
    unsupported=frozenset(),
    tracks_changes=True,
    expand_levels=3,
    read_scope="records.read",
    write_scope="records.write",
    token_url="https://comptoir.example/comptoir/oauth2/v2.0/token",
    sets_at_root=False,
    refuses_computed=False,
    inserts_related=False,
    edit_terms=False,
)
EDM = "{http://docs.oasis-open.org/odata/ns/edm}"
EDMX = "{http://docs.oasis-open.org/odata/ns/edmx}"
CORE, CAPABILITIES = "@Org.OData.Core.V1", "@Org.OData.Capabilities.V1"
"""The prefixes of annotation names in JSON."""

Object = dict[str, "Value"]
Value = str | int | bool | list["Value"] | Object


def xml(*, under_company: bool = False, version: str = "4.0", model: Model = MODEL) -> Element:
    """The root element of the document in XML."""
    return fromstring(
        metadata_document(model, ANNOUNCED, XML, version, under_company=under_company)
    )


def json(*, under_company: bool = False, model: Model = MODEL) -> Object:
    """The document in JSON."""
    document = metadata_document(model, ANNOUNCED, JSON, "4.01", under_company=under_company)
    return cast("Object", msgspec.json.decode(document))


def schema(document: Object) -> Object:
    """The one schema of a document."""
    return member(document, "Comptoir")


def container(document: Object) -> Object:
    """The container of a document."""
    return member(schema(document), "Container")


def member(holder: Object, *names: str) -> Object:
    """A nested object by its path."""
    for name in names:
        holder = cast("Object", holder[name])
    assert isinstance(holder, dict)
    return holder


def members(holder: Object, csdl_kind: str) -> dict[str, Object]:
    """The named elements with this `$Kind`; properties have none, and sets are collections."""
    found = {}
    for name, value in holder.items():
        if isinstance(value, dict) and name[0] not in "@$":
            own = "EntitySet" if value.get("$Collection") and "$Kind" not in value else "Property"
            if value.get("$Kind", own) == csdl_kind:
                found[name] = value
    return found
