"""A description as CSDL XML (OData CSDL XML Representation 4.01), for 4.0 and 4.01 alike."""

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from comptoir.metadata.csdl.description import (
    Annotations,
    Description,
    Member,
    NavigationElement,
    PropertyElement,
    PropertyPath,
    Record,
    SetElement,
    TypeElement,
    Value,
    Vocabulary,
    full_name,
)

_EDM = "http://docs.oasis-open.org/odata/ns/edm"
_EDMX = "http://docs.oasis-open.org/odata/ns/edmx"


def csdl_xml(description: Description, version: str) -> bytes:
    """Write a description as XML; `version`, 4.0 or 4.01, is what its readers ask for.

    What is written means the same in both versions, so nothing else differs.
    """
    root = Element("edmx:Edmx", {"Version": version, "xmlns:edmx": _EDMX})
    for vocabulary in description.vocabularies:
        _reference(root, vocabulary)
    services = SubElement(root, "edmx:DataServices")
    schema = SubElement(services, "Schema", {"Namespace": description.namespace, "xmlns": _EDM})
    for kind in description.types:
        _type(schema, description.namespace, kind)
    container = SubElement(schema, "EntityContainer", {"Name": description.container})
    for each in description.sets:
        _set(container, description.namespace, each)
    _annotate(container, description.annotations)
    indent(root, " ")
    written: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _reference(parent: Element, vocabulary: Vocabulary) -> None:
    reference = SubElement(parent, "edmx:Reference", {"Uri": f"{vocabulary.url}.xml"})
    SubElement(reference, "edmx:Include", {"Namespace": vocabulary.namespace})


def _type(parent: Element, namespace: str, kind: TypeElement) -> None:
    element = SubElement(parent, "EntityType", {"Name": kind.name})
    key = SubElement(element, "Key")
    SubElement(key, "PropertyRef", {"Name": kind.key})
    for held in kind.properties:
        _property(element, held)
    for relation in kind.navigation:
        _navigation(element, namespace, relation)
    _annotate(element, kind.annotations)


def _property(parent: Element, held: PropertyElement) -> None:
    attributes = {"Name": held.name, "Type": held.type}
    if not held.nullable:
        attributes["Nullable"] = "false"
    attributes.update({name: str(value) for name, value in held.facets.items()})
    _annotate(SubElement(parent, "Property", attributes), held.annotations)


def _navigation(parent: Element, namespace: str, held: NavigationElement) -> None:
    name = f"{namespace}.{held.type}"
    attributes = {"Name": held.name, "Type": f"Collection({name})" if held.collection else name}
    if held.partner:
        attributes["Partner"] = held.partner
    if held.contains:
        attributes["ContainsTarget"] = "true"
    _annotate(SubElement(parent, "NavigationProperty", attributes), held.annotations)


def _set(parent: Element, namespace: str, held: SetElement) -> None:
    attributes = {"Name": held.name, "EntityType": f"{namespace}.{held.type}"}
    if not held.in_service_document:
        attributes["IncludeInServiceDocument"] = "false"
    element = SubElement(parent, "EntitySet", attributes)
    for path, target in held.bindings.items():
        SubElement(element, "NavigationPropertyBinding", {"Path": path, "Target": target})
    _annotate(element, held.annotations)


def _annotate(parent: Element, annotations: Annotations) -> None:
    for each in annotations:
        attributes = {"Term": full_name(each.term)}
        if each.qualifier:
            attributes["Qualifier"] = each.qualifier
        _give(SubElement(parent, "Annotation", attributes), each.value)


def _give(holder: Element, value: Value) -> None:
    """Give an annotation or a value of a record what it holds: an attribute, or elements."""
    if isinstance(value, tuple):
        collection = SubElement(holder, "Collection")
        for each in value:
            _item(collection, each)
    elif isinstance(value, Record):
        _item(holder, value)
    else:
        holder.attrib.update(dict([_scalar(value)]))


def _item(parent: Element, value: Value) -> None:
    """Write a member of a collection, or a record, as an element."""
    if isinstance(value, Record):
        record = SubElement(parent, "Record", {"Type": full_name(value.type)} if value.type else {})
        for name, held in value.values.items():
            _give(SubElement(record, "PropertyValue", {"Property": name}), held)
    elif isinstance(value, tuple):
        raise TypeError("a collection holds no collection (CSDL 4.01, section 14.4.7)")
    else:
        tag, text = _scalar(value)
        SubElement(parent, tag).text = text


def _scalar(value: bool | int | str | PropertyPath | Member) -> tuple[str, str]:
    """What a value is called, as an attribute and as an element, and how it is written."""
    if isinstance(value, bool):
        return "Bool", "true" if value else "false"
    if isinstance(value, int):
        return "Int", str(value)
    if isinstance(value, PropertyPath):
        return "PropertyPath", value.name
    if isinstance(value, Member):
        return "EnumMember", f"{full_name(value.type)}/{value.name}"
    return "String", value
