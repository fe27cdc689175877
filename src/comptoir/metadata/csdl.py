"""`$metadata` in the Common Schema Definition Language: CSDL XML and CSDL JSON (4.01).

The model becomes elements with annotations, whose members are those of CSDL JSON without default
values. XML, which means the same in 4.0 and 4.01, has them as attributes.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from xml.etree import ElementTree as Xml

import msgspec

from comptoir.edm.model import EntitySet, EntityType, Model, NavigationProperty, Property
from comptoir.edm.types import TEXT, EnumText
from comptoir.metadata.annotations import (
    VOCABULARIES,
    AnnotatedMember,
    Annotations,
    Capabilities,
    PropertyPath,
    Scalar,
    Value,
    container_annotations,
    description_annotations,
    edit_annotations,
    full_name,
    navigation_annotations,
    set_annotations,
    unreadable_set_annotations,
    vocabularies,
    vocabulary_url,
)

XML = "application/xml"
JSON = "application/json"
MEDIA_TYPES = (XML, JSON)
"""The formats of `$metadata`; XML comes first, because all clients can read it."""

_CACHED_DOCUMENTS = 8
_EDM = "http://docs.oasis-open.org/odata/ns/edm"
_EDMX = "http://docs.oasis-open.org/odata/ns/edmx"
_JSON_URLS = {name: f"{vocabulary_url(each)}.json" for name, each in VOCABULARIES.items()}

_NO_ATTRIBUTES = {"$Type", "$Nullable", "$Collection", "$Key", "$NavigationPropertyBinding"}
"""The members that are other attributes in XML, or elements."""

_TAGS = {bool: "Bool", int: "Int", Decimal: "Decimal", str: "String"}
_READ_WRITE = AnnotatedMember("Core.Permission", "ReadWrite")
_Object = dict[str, object]
_encode = msgspec.json.Encoder(decimal_format="number").encode


@lru_cache(_CACHED_DOCUMENTS)
def metadata_document(
    model: Model, capabilities: Capabilities, media_type: str, version: str, *, under_company: bool
) -> bytes:
    """`$metadata` at the root of the service, or at a company's root.

    `media_type` is one of `MEDIA_TYPES`, and `version` that of OData, 4.0 or 4.01.

    Both documents declare the same types and sets, because navigation and context URLs refer to the
    sets, and generated clients need them. Only the sets at the root are in the service document;
    the others are declared as not readable. At the root of the service, companies contain them;
    some profiles have them there, too (`Routes.sets_at_root`).
    """
    sets = (_set(each, capabilities, under_company=under_company) for each in model.sets)
    annotations = container_annotations(capabilities)
    container = _Element("EntityContainer", model.container, {}, annotations, tuple(sets))
    types = _types(model, capabilities, under_company=under_company)
    elements = (*types, *_enumerations(model), *_actions(model), container)
    if media_type == JSON:
        return _encode(_json_document(model, elements))
    return _xml_document(model, elements, version)


@dataclass(frozen=True, slots=True)
class _Element:
    """An element of a schema: its kind and its name, and its `members` in CSDL JSON."""

    kind: str
    name: str
    members: Mapping[str, object]
    annotations: Annotations
    children: tuple["_Element", ...] = ()


def _types(model: Model, capabilities: Capabilities, *, under_company: bool) -> Iterator[_Element]:
    for each in model.sets:
        entity_type = each.type
        children = [_property(each, declared, capabilities) for declared in entity_type.properties]
        children += [_filter_only(name) for name in each.filter_only]
        links = (*entity_type.navigation, *entity_type.unserved.values())
        children += [_navigation(model, entity_type, every) for every in links]
        if each is model.companies:
            children += _contained(model, capabilities, under_company=under_company)
        annotations = description_annotations(entity_type.description)
        yield _Element(
            "EntityType",
            entity_type.name,
            {"$Key": entity_type.key},
            {**annotations, **_alternate_keys(entity_type)},
            tuple(children),
        )


def _enumerations(model: Model) -> Iterator[_Element]:
    """The enumerations that are the types of properties; the numbers are those of the order."""
    types = (each.type for entity_set in model.sets for each in entity_set.type.properties)
    declared = {
        each.name: each for each in types if isinstance(each, EnumText) and each.is_declared
    }
    for name, each in declared.items():
        members = {member: number for number, member in enumerate(each.options)}
        yield _Element("EnumType", name.rpartition(".")[2], members, {})


def _actions(model: Model) -> Iterator[_Element]:
    """The actions of all sets; several may have the same name."""
    for each in model.sets:
        record = {"$Type": each.type.qualified_name}
        parameters = (_Element("Parameter", "bindingParameter", record, {}),)
        for action in each.type.actions:
            yield _Element("Action", action.name, {"$IsBound": True}, {}, parameters)


def _contained(
    model: Model, capabilities: Capabilities, *, under_company: bool
) -> Iterator[_Element]:
    """The sets that a company contains, annotated if this is their address."""
    for each in model.per_company:
        annotations = description_annotations(each.type.description)
        if not under_company:
            annotations = {**annotations, **set_annotations(each, capabilities, at_root=False)}
        members = {"$Type": each.type.qualified_name, "$Collection": True, "$ContainsTarget": True}
        yield _Element("NavigationProperty", each.name, members, annotations)


def _alternate_keys(entity_type: EntityType) -> Annotations:
    keys: Value = tuple(
        {"Key": tuple({"Name": PropertyPath(name)} for name in rule.properties)}
        for rule in entity_type.unique
    )
    return {"Core.AlternateKeys": keys} if keys else {}


def _property(entity_set: EntitySet, declared: Property, capabilities: Capabilities) -> _Element:
    edm_type = declared.type
    annotations = {
        **description_annotations(declared.description),
        **_computed(entity_set, declared, capabilities),
        **({"Core.Immutable": True} if declared.immutable else {}),
        **{f"Validation.{each}": bound for each, bound in edm_type.bounds.items()},
        # suggestions are examples, because the terms for lists would exclude other values
        **{
            f"Core.Example#Usual{number}": {"@type": "Core.PrimitiveExampleValue", "Value": value}
            for number, value in enumerate(declared.suggested, 1)
        },
        # a stream can be written, also if its record cannot
        **({"Core.Permissions": _READ_WRITE} if declared.is_stream else {}),
        **edit_annotations(entity_set, declared, capabilities),
    }
    members: _Object = {} if edm_type.edm_name == TEXT.edm_name else {"$Type": edm_type.edm_name}
    members |= {f"${name}": value for name, value in edm_type.facets.items()}
    if declared.default is not None:
        members["$DefaultValue"] = edm_type.wire(declared.default)
    return _Element("Property", declared.name, members, annotations)


def _computed(entity_set: EntitySet, declared: Property, capabilities: Capabilities) -> Annotations:
    is_writable = not entity_set.read_only
    any_key = not capabilities.refuses_computed
    is_refused = not entity_set.type.accepts(declared, creating=True, any_key=any_key)
    if declared.is_computed or (is_writable and is_refused):
        return {"Core.Computed": True}
    has_default = is_writable and entity_set.type.has_computed_default(declared)
    return {"Core.ComputedDefaultValue": True} if has_default else {}


def _filter_only(name: str) -> _Element:
    """A property that records do not have, which CSDL can express only in the description.

    It is nullable, so that readers accept records without it, and cannot be read or written.
    """
    text = "Only for $filter, with eq and and; records do not have it."
    unreadable = AnnotatedMember("Core.Permission", "None")
    facets = {f"${facet}": value for facet, value in TEXT.facets.items()}
    annotations: Annotations = {"Core.Description": text, "Core.Permissions": unreadable}
    return _Element("Property", name, {"$Nullable": True, **facets}, annotations)


def _navigation(model: Model, entity_type: EntityType, declared: NavigationProperty) -> _Element:
    """A navigation property without a ReferentialConstraint.

    A constraint requires a nullable property if there may be no related record (CSDL 4.01, section
    8.5), and no property is nullable.
    """
    target = model.by_name[declared.target]
    partner = _partner(model, entity_type, declared)
    members = {
        "$Type": target.type.qualified_name,
        "$Collection" if declared.collection else "$Nullable": True,
        **({"$Partner": partner} if partner else {}),
        **({"$ContainsTarget": True} if declared.contained else {}),
    }
    annotations = {
        **description_annotations(declared.description),
        **navigation_annotations(declared, target),
    }
    return _Element("NavigationProperty", declared.name, members, annotations)


def _partner(model: Model, entity_type: EntityType, declared: NavigationProperty) -> str:
    """The navigation property in the opposite direction, if there is one.

    That of a contained record must not be nullable (CSDL 4.01, section 8.4), and all are.
    """
    if declared.only or declared.contained:
        return ""
    back = (declared.on[1], declared.on[0])
    for each in model.by_name[declared.target].type.navigation:
        if (
            model.by_name[each.target].type is entity_type
            and each.on == back
            and not (each.only or each.contained)
        ):
            return each.name
    return ""


def _set(entity_set: EntitySet, capabilities: Capabilities, *, under_company: bool) -> _Element:
    at_top = entity_set.per_company == under_company or (
        entity_set.per_company and capabilities.behaviour.routes.sets_at_root
    )
    if at_top:
        annotations = set_annotations(entity_set, capabilities, at_root=True)
    elif entity_set.per_company:
        annotations = unreadable_set_annotations("Address: companies({id})/…")
    else:
        annotations = unreadable_set_annotations("Address: the root of the service.")
    links = (*entity_set.type.navigation, *entity_set.type.unserved.values())
    bindings = {each.name: each.target for each in links}
    members = {
        "$Collection": True,
        "$Type": entity_set.type.qualified_name,
        **({} if at_top else {"$IncludeInServiceDocument": False}),
        **({"$NavigationPropertyBinding": bindings} if bindings else {}),
    }
    return _Element("EntitySet", entity_set.name, members, annotations)


def _json_document(model: Model, elements: tuple[_Element, ...]) -> _Object:
    namespace = model.namespace
    return {
        "$Version": "4.01",
        "$EntityContainer": f"{namespace}.{elements[-1].name}",
        "$Reference": {
            _JSON_URLS[name]: {"$Include": [{"$Namespace": each}]}
            for name, each in vocabularies(model).items()
        },
        namespace: {
            **{each.name: _json_element(each) for each in elements if each.kind != "Action"},
            **_overloads(each for each in elements if each.kind == "Action"),
        },
    }


def _overloads(actions: Iterable[_Element]) -> _Object:
    """The actions of each name (CSDL JSON 4.01, section 12.1)."""
    found: dict[str, list[_Object]] = {}
    for each in actions:
        found.setdefault(each.name, []).append(_json_element(each))
    return {**found}


def _json_element(element: _Element) -> _Object:
    members: _Object = {**element.members}
    if element.kind not in ("Property", "EntitySet"):
        members = {"$Kind": element.kind, **members}
    if element.kind == "EntityType":
        members["$Key"] = [element.members["$Key"]]
    if element.kind == "Action":
        members["$Parameter"] = [{"$Name": each.name, **each.members} for each in element.children]
    else:
        members |= {each.name: _json_element(each) for each in element.children}
    annotations = {f"@{full_name(term)}": value for term, value in element.annotations.items()}
    return members | {term: _json_value(value) for term, value in annotations.items()}


def _json_value(value: Value) -> object:
    if isinstance(value, tuple):
        return [_json_value(each) for each in value]
    if isinstance(value, Mapping):
        members = {name: _json_value(each) for name, each in value.items()}
        if "@type" in value:
            name = f"{value['@type']}"
            members["@type"] = f"{_JSON_URLS[name.partition('.')[0]]}#{full_name(name)}"
        return members
    if isinstance(value, PropertyPath | AnnotatedMember):
        return value.name
    return value


def _xml_document(model: Model, elements: tuple[_Element, ...], version: str) -> bytes:
    root = Xml.Element("edmx:Edmx", {"Version": version, "xmlns:edmx": _EDMX})
    for each in vocabularies(model).values():
        reference = Xml.SubElement(root, "edmx:Reference", {"Uri": f"{vocabulary_url(each)}.xml"})
        Xml.SubElement(reference, "edmx:Include", {"Namespace": each})
    services = Xml.SubElement(root, "edmx:DataServices")
    schema = Xml.SubElement(services, "Schema", {"Namespace": model.namespace, "xmlns": _EDM})
    for element in elements:
        _add_element(schema, element)
    Xml.indent(root, " ")
    document: bytes = Xml.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _add_element(parent: Xml.Element, element: _Element) -> None:
    added = Xml.SubElement(parent, element.kind, dict(_attributes(element)))
    key, bindings = element.members.get("$Key"), element.members.get("$NavigationPropertyBinding")
    if key is not None:
        Xml.SubElement(Xml.SubElement(added, "Key"), "PropertyRef", {"Name": str(key)})
    if isinstance(bindings, Mapping):
        for path, target in bindings.items():
            attributes = {"Path": path, "Target": target}
            Xml.SubElement(added, "NavigationPropertyBinding", attributes)
    if element.kind == "EnumType":
        for name, value in element.members.items():
            Xml.SubElement(added, "Member", {"Name": name, "Value": f"{value}"})
    for each in element.children:
        _add_element(added, each)
    for name, value in element.annotations.items():
        term, _, qualifier = name.partition("#")
        attributes = {"Term": full_name(term), **({"Qualifier": qualifier} if qualifier else {})}
        _set_value(Xml.SubElement(added, "Annotation", attributes), value)


def _attributes(element: _Element) -> Iterator[tuple[str, str]]:
    """The attributes of an element, whose defaults differ from those of CSDL JSON."""
    kind, members = element.kind, element.members
    yield "Name", element.name
    edm_type = f"{members.get('$Type', TEXT.edm_name)}"
    if kind == "EntitySet":
        yield "EntityType", edm_type
    elif kind == "NavigationProperty" and "$Collection" in members:
        yield "Type", f"Collection({edm_type})"
    elif kind in ("Property", "NavigationProperty", "Parameter"):
        yield "Type", edm_type
    if kind in ("Property", "Parameter") and "$Nullable" not in members:
        yield "Nullable", "false"
    for name, value in members.items():
        if name[0] == "$" and name not in _NO_ATTRIBUTES:
            yield name[1:], value if isinstance(value, str) else _encode(value).decode()


def _set_value(element: Xml.Element, value: Value) -> None:
    """Set the value of an annotation or a property value, as an attribute or as elements."""
    if isinstance(value, tuple):
        collection = Xml.SubElement(element, "Collection")
        for each in value:
            _add_value(collection, each)
    elif isinstance(value, Mapping):
        _add_value(element, value)
    else:
        element.attrib.update(dict([_scalar(value)]))


def _add_value(parent: Xml.Element, value: Value) -> None:
    """Add a value as an element: a record, or an item of a collection."""
    if isinstance(value, Mapping):
        record = Xml.SubElement(parent, "Record")
        for name, each in value.items():
            if name == "@type":
                record.attrib["Type"] = full_name(f"{each}")
            else:
                _set_value(Xml.SubElement(record, "PropertyValue", {"Property": name}), each)
    elif isinstance(value, tuple):
        raise TypeError("a collection cannot contain a collection (CSDL 4.01, section 14.4.7)")
    else:
        tag, text = _scalar(value)
        Xml.SubElement(parent, tag).text = text


def _scalar(value: Scalar) -> tuple[str, str]:
    """The name of the attribute or element of a value, and its text."""
    if isinstance(value, PropertyPath):
        return "PropertyPath", value.name
    if isinstance(value, AnnotatedMember):
        return "EnumMember", f"{full_name(value.type)}/{value.name}"
    text = value if isinstance(value, str) else _encode(value).decode()
    return _TAGS[type(value)], text
