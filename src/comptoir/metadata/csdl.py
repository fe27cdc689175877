"""`$metadata` in the Common Schema Definition Language: CSDL XML and CSDL JSON (4.01)."""

from functools import lru_cache
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import msgspec

from comptoir.edm.model import Model
from comptoir.metadata.annotations import (
    VOCABULARIES,
    AnnotatedMember,
    Annotations,
    Capabilities,
    PropertyPath,
    Record,
    Value,
    full_name,
)
from comptoir.metadata.description import (
    Description,
    NavigationElement,
    PropertyElement,
    SetElement,
    TypeElement,
    describe,
)

XML = "application/xml"
JSON = "application/json"
MEDIA_TYPES = (XML, JSON)
"""The formats of `$metadata`; XML comes first, because all clients can read it."""

_CACHED_DOCUMENTS = 8
_STRING = "Edm.String"
_EDM = "http://docs.oasis-open.org/odata/ns/edm"
_EDMX = "http://docs.oasis-open.org/odata/ns/edmx"

_Object = dict[str, object]


def csdl_version(media_type: str, *, speaks_401: bool) -> str:
    """The version of the document, which is also the `OData-Version` of the response.

    `speaks_401`: the request's `OData-MaxVersion` is 4.01 or later. XML is 4.0 without it, because
    some clients refuse any other version. JSON exists since 4.01.
    """
    return "4.01" if media_type == JSON or speaks_401 else "4.0"


@lru_cache(_CACHED_DOCUMENTS)
def metadata_document(
    model: Model, capabilities: Capabilities, media_type: str, version: str, *, under_company: bool
) -> bytes:
    """`$metadata` at the root of the service, or at a company's root.

    `media_type` is one of `MEDIA_TYPES`, and `version` the result of `csdl_version`.
    """
    description = describe(model, capabilities, under_company=under_company)
    if media_type == JSON:
        return msgspec.json.encode(_json_document(description))
    return _xml_document(description, version)


# CSDL JSON, without default values (OData CSDL JSON Representation 4.01)

_JSON_URLS = {each.name: f"{each.url}.json" for each in VOCABULARIES}


def _json_document(description: Description) -> _Object:
    schema = {each.name: _json_type(each) for each in description.types}
    schema[description.container] = {
        "$Kind": "EntityContainer",
        **{each.name: _json_set(each) for each in description.sets},
        **_json_annotations(description.annotations),
    }
    return {
        "$Version": "4.01",
        "$EntityContainer": f"{description.namespace}.{description.container}",
        "$Reference": {
            _JSON_URLS[each.name]: {"$Include": [{"$Namespace": each.namespace}]}
            for each in VOCABULARIES
        },
        description.namespace: schema,
    }


def _json_type(element: TypeElement) -> _Object:
    return {
        "$Kind": "EntityType",
        "$Key": [element.key],
        **{each.name: _json_property(each) for each in element.properties},
        **{each.name: _json_navigation(each) for each in element.navigation},
        **_json_annotations(element.annotations),
    }


def _json_property(element: PropertyElement) -> _Object:
    members: _Object = {}
    if element.type != _STRING:
        members["$Type"] = element.type
    if element.nullable:
        members["$Nullable"] = True
    facets = {f"${name}": value for name, value in element.facets.items()}
    return {**members, **facets, **_json_annotations(element.annotations)}


def _json_navigation(element: NavigationElement) -> _Object:
    members: _Object = {"$Kind": "NavigationProperty", "$Type": element.type}
    members["$Collection" if element.collection else "$Nullable"] = True
    if element.partner:
        members["$Partner"] = element.partner
    if element.contains:
        members["$ContainsTarget"] = True
    return {**members, **_json_annotations(element.annotations)}


def _json_set(element: SetElement) -> _Object:
    members: _Object = {"$Collection": True, "$Type": element.type}
    if not element.in_service_document:
        members["$IncludeInServiceDocument"] = False
    if element.bindings:
        members["$NavigationPropertyBinding"] = element.bindings
    return {**members, **_json_annotations(element.annotations)}


def _json_annotations(annotations: Annotations) -> _Object:
    members: _Object = {}
    for each in annotations:
        qualifier = f"#{each.qualifier}" if each.qualifier else ""
        members[f"@{full_name(each.term)}{qualifier}"] = _json_value(each.value)
    return members


def _json_value(value: Value) -> object:
    if isinstance(value, tuple):
        return [_json_value(each) for each in value]
    if isinstance(value, Record):
        members = {name: _json_value(each) for name, each in value.values.items()}
        if not value.type:
            return members
        url = _JSON_URLS[value.type.partition(".")[0]]
        return {"@type": f"{url}#{full_name(value.type)}", **members}
    if isinstance(value, PropertyPath | AnnotatedMember):
        return value.name
    return value


# CSDL XML, which means the same in 4.0 and 4.01 (OData CSDL XML Representation 4.01)


def _xml_document(description: Description, version: str) -> bytes:
    root = Element("edmx:Edmx", {"Version": version, "xmlns:edmx": _EDMX})
    for each in VOCABULARIES:
        reference = SubElement(root, "edmx:Reference", {"Uri": f"{each.url}.xml"})
        SubElement(reference, "edmx:Include", {"Namespace": each.namespace})
    services = SubElement(root, "edmx:DataServices")
    schema = SubElement(services, "Schema", {"Namespace": description.namespace, "xmlns": _EDM})
    for element in description.types:
        _add_type(schema, element)
    container = SubElement(schema, "EntityContainer", {"Name": description.container})
    for entity_set in description.sets:
        _add_set(container, entity_set)
    _add_annotations(container, description.annotations)
    indent(root, " ")
    document: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _add_type(parent: Element, element: TypeElement) -> None:
    entity_type = SubElement(parent, "EntityType", {"Name": element.name})
    key = SubElement(entity_type, "Key")
    SubElement(key, "PropertyRef", {"Name": element.key})
    for each in element.properties:
        attributes = {"Name": each.name, "Type": each.type}
        if not each.nullable:
            attributes["Nullable"] = "false"
        attributes.update({name: str(value) for name, value in each.facets.items()})
        _add_annotations(SubElement(entity_type, "Property", attributes), each.annotations)
    for navigation in element.navigation:
        _add_navigation(entity_type, navigation)
    _add_annotations(entity_type, element.annotations)


def _add_navigation(parent: Element, element: NavigationElement) -> None:
    attributes = {
        "Name": element.name,
        "Type": f"Collection({element.type})" if element.collection else element.type,
    }
    if element.partner:
        attributes["Partner"] = element.partner
    if element.contains:
        attributes["ContainsTarget"] = "true"
    _add_annotations(SubElement(parent, "NavigationProperty", attributes), element.annotations)


def _add_set(parent: Element, element: SetElement) -> None:
    attributes = {"Name": element.name, "EntityType": element.type}
    if not element.in_service_document:
        attributes["IncludeInServiceDocument"] = "false"
    entity_set = SubElement(parent, "EntitySet", attributes)
    for path, target in element.bindings.items():
        SubElement(entity_set, "NavigationPropertyBinding", {"Path": path, "Target": target})
    _add_annotations(entity_set, element.annotations)


def _add_annotations(parent: Element, annotations: Annotations) -> None:
    for each in annotations:
        attributes = {"Term": full_name(each.term)}
        if each.qualifier:
            attributes["Qualifier"] = each.qualifier
        _set_value(SubElement(parent, "Annotation", attributes), each.value)


def _set_value(element: Element, value: Value) -> None:
    """Set the value of an annotation or a property value, as an attribute or as elements."""
    if isinstance(value, tuple):
        collection = SubElement(element, "Collection")
        for each in value:
            _add_value(collection, each)
    elif isinstance(value, Record):
        _add_value(element, value)
    else:
        element.attrib.update(dict([_scalar(value)]))


def _add_value(parent: Element, value: Value) -> None:
    """Add a value as an element: a record, or an item of a collection."""
    if isinstance(value, Record):
        record = SubElement(parent, "Record", {"Type": full_name(value.type)} if value.type else {})
        for name, each in value.values.items():
            _set_value(SubElement(record, "PropertyValue", {"Property": name}), each)
    elif isinstance(value, tuple):
        raise TypeError("a collection cannot contain a collection (CSDL 4.01, section 14.4.7)")
    else:
        tag, text = _scalar(value)
        SubElement(parent, tag).text = text


def _scalar(value: bool | int | str | PropertyPath | AnnotatedMember) -> tuple[str, str]:
    """The name of the attribute or element of a value, and its text."""
    if isinstance(value, bool):
        return "Bool", "true" if value else "false"
    if isinstance(value, int):
        return "Int", str(value)
    if isinstance(value, PropertyPath):
        return "PropertyPath", value.name
    if isinstance(value, AnnotatedMember):
        return "EnumMember", f"{full_name(value.type)}/{value.name}"
    return "String", value
