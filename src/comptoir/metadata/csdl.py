"""`$metadata` in the Common Schema Definition Language: CSDL XML and CSDL JSON (4.01)."""

from functools import lru_cache
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import msgspec

from comptoir.edm.model import Model
from comptoir.metadata.annotations import (
    Annotation,
    Annotations,
    Capabilities,
    Member,
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
        return msgspec.json.encode(_JsonWriter(description).document())
    return _XmlWriter(description).document(version)


class _JsonWriter:
    """Writes CSDL JSON, without default values (OData CSDL JSON Representation 4.01)."""

    def __init__(self, description: Description) -> None:
        self._description = description
        self._namespace = description.namespace
        self._urls = {each.name: f"{each.url}.json" for each in description.vocabularies}

    def document(self) -> _Object:
        description, namespace = self._description, self._namespace
        schema = {each.name: self._type(each) for each in description.types}
        schema[description.container] = {
            "$Kind": "EntityContainer",
            **{each.name: self._set(each) for each in description.sets},
            **self._annotations(description.annotations),
        }
        return {
            "$Version": "4.01",
            "$EntityContainer": f"{namespace}.{description.container}",
            "$Reference": {
                self._urls[each.name]: {"$Include": [{"$Namespace": each.namespace}]}
                for each in description.vocabularies
            },
            namespace: schema,
        }

    def _type(self, element: TypeElement) -> _Object:
        return {
            "$Kind": "EntityType",
            "$Key": [element.key],
            **{each.name: self._property(each) for each in element.properties},
            **{each.name: self._navigation(each) for each in element.navigation},
            **self._annotations(element.annotations),
        }

    def _property(self, element: PropertyElement) -> _Object:
        written: _Object = {}
        if element.type != _STRING:
            written["$Type"] = element.type
        if element.nullable:
            written["$Nullable"] = True
        facets = {f"${name}": value for name, value in element.facets.items()}
        return {**written, **facets, **self._annotations(element.annotations)}

    def _navigation(self, element: NavigationElement) -> _Object:
        name = f"{self._namespace}.{element.type}"
        written: _Object = {"$Kind": "NavigationProperty", "$Type": name}
        written["$Collection" if element.collection else "$Nullable"] = True
        if element.partner:
            written["$Partner"] = element.partner
        if element.contains:
            written["$ContainsTarget"] = True
        return {**written, **self._annotations(element.annotations)}

    def _set(self, element: SetElement) -> _Object:
        written: _Object = {"$Collection": True, "$Type": f"{self._namespace}.{element.type}"}
        if not element.in_service_document:
            written["$IncludeInServiceDocument"] = False
        if element.bindings:
            written["$NavigationPropertyBinding"] = element.bindings
        return {**written, **self._annotations(element.annotations)}

    def _annotations(self, annotations: Annotations) -> _Object:
        return {f"@{_qualified(each)}": self._value(each.value) for each in annotations}

    def _value(self, value: Value) -> object:
        if isinstance(value, tuple):
            return [self._value(each) for each in value]
        if isinstance(value, Record):
            written = {name: self._value(each) for name, each in value.values.items()}
            if not value.type:
                return written
            url = self._urls[value.type.partition(".")[0]]
            return {"@type": f"{url}#{full_name(value.type)}", **written}
        if isinstance(value, PropertyPath | Member):
            return value.name
        return value


def _qualified(annotation: Annotation) -> str:
    qualifier = f"#{annotation.qualifier}" if annotation.qualifier else ""
    return full_name(annotation.term) + qualifier


class _XmlWriter:
    """Writes CSDL XML, which means the same in 4.0 and 4.01 (CSDL XML Representation 4.01)."""

    def __init__(self, description: Description) -> None:
        self._description = description
        self._namespace = description.namespace

    def document(self, version: str) -> bytes:
        description = self._description
        root = Element("edmx:Edmx", {"Version": version, "xmlns:edmx": _EDMX})
        for each in description.vocabularies:
            reference = SubElement(root, "edmx:Reference", {"Uri": f"{each.url}.xml"})
            SubElement(reference, "edmx:Include", {"Namespace": each.namespace})
        services = SubElement(root, "edmx:DataServices")
        schema = SubElement(services, "Schema", {"Namespace": self._namespace, "xmlns": _EDM})
        for element in description.types:
            self._type(schema, element)
        container = SubElement(schema, "EntityContainer", {"Name": description.container})
        for entity_set in description.sets:
            self._set(container, entity_set)
        _annotate(container, description.annotations)
        indent(root, " ")
        written: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
        return written + b"\n"

    def _type(self, parent: Element, element: TypeElement) -> None:
        entity_type = SubElement(parent, "EntityType", {"Name": element.name})
        key = SubElement(entity_type, "Key")
        SubElement(key, "PropertyRef", {"Name": element.key})
        for each in element.properties:
            attributes = {"Name": each.name, "Type": each.type}
            if not each.nullable:
                attributes["Nullable"] = "false"
            attributes.update({name: str(value) for name, value in each.facets.items()})
            _annotate(SubElement(entity_type, "Property", attributes), each.annotations)
        for navigation in element.navigation:
            self._navigation(entity_type, navigation)
        _annotate(entity_type, element.annotations)

    def _navigation(self, parent: Element, element: NavigationElement) -> None:
        name = f"{self._namespace}.{element.type}"
        attributes = {
            "Name": element.name,
            "Type": f"Collection({name})" if element.collection else name,
        }
        if element.partner:
            attributes["Partner"] = element.partner
        if element.contains:
            attributes["ContainsTarget"] = "true"
        _annotate(SubElement(parent, "NavigationProperty", attributes), element.annotations)

    def _set(self, parent: Element, element: SetElement) -> None:
        attributes = {"Name": element.name, "EntityType": f"{self._namespace}.{element.type}"}
        if not element.in_service_document:
            attributes["IncludeInServiceDocument"] = "false"
        entity_set = SubElement(parent, "EntitySet", attributes)
        for path, target in element.bindings.items():
            SubElement(entity_set, "NavigationPropertyBinding", {"Path": path, "Target": target})
        _annotate(entity_set, element.annotations)


def _annotate(parent: Element, annotations: Annotations) -> None:
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


def _scalar(value: bool | int | str | PropertyPath | Member) -> tuple[str, str]:
    """The name of the attribute or element of a value, and its text."""
    if isinstance(value, bool):
        return "Bool", "true" if value else "false"
    if isinstance(value, int):
        return "Int", str(value)
    if isinstance(value, PropertyPath):
        return "PropertyPath", value.name
    if isinstance(value, Member):
        return "EnumMember", f"{full_name(value.type)}/{value.name}"
    return "String", value
