"""Parses `$metadata`."""

from typing import cast
from xml.etree.ElementTree import Element, fromstring

import msgspec

from comptoir.catalog import MODEL
from comptoir.edm.model import Model
from comptoir.metadata.annotations import Capabilities
from comptoir.metadata.csdl import JSON, XML, metadata_document
from comptoir.profiles.record import STANDARD

ANNOUNCED = Capabilities(
    behaviour=STANDARD,
    filter_functions=("contains", "startswith"),
    transformations=("filter", "groupby", "aggregate"),
    methods_of=lambda _: ("min", "max"),
    expand_levels=3,
    read_scope="records.read",
    write_scope="records.write",
    token_url="https://comptoir.example/comptoir/oauth2/v2.0/token",
)
EDM = "{http://docs.oasis-open.org/odata/ns/edm}"

Object = dict[str, "Value"]
Value = str | int | bool | list["Value"] | Object


def xml(*, under_company: bool = False, model: Model = MODEL) -> Element:
    """The root element of the document in XML."""
    return fromstring(metadata_document(model, ANNOUNCED, XML, "4.0", under_company=under_company))


def json(*, under_company: bool = False, model: Model = MODEL) -> Object:
    """The document in JSON."""
    document = metadata_document(model, ANNOUNCED, JSON, "4.01", under_company=under_company)
    return cast("Object", msgspec.json.decode(document))


def container(document: Object) -> Object:
    """The container of a document."""
    return member(document, "Comptoir", "Container")


def member(holder: Object, *names: str) -> Object:
    """A nested object by its path."""
    for name in names:
        holder = cast("Object", holder[name])
    assert isinstance(holder, dict)
    return holder
