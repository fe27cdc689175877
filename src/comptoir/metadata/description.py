"""The content of `$metadata`, independent of its format: CSDL elements with annotations."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from comptoir.edm.model import EntitySet, EntityType, Model, NavigationProperty, Property
from comptoir.edm.types import TEXT
from comptoir.metadata.annotations import (
    AnnotatedMember,
    Annotation,
    Annotations,
    Capabilities,
    PropertyPath,
    Record,
    container_annotations,
    description_annotations,
    edit_annotations,
    navigation_annotations,
    root_set_annotations,
    set_annotations,
    unreadable_set_annotations,
)


@dataclass(frozen=True, slots=True)
class PropertyElement:
    """A structural property, with the facets of its type (CSDL 4.01, section 7)."""

    name: str
    type: str
    facets: Mapping[str, int]
    annotations: Annotations
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class NavigationElement:
    """A navigation property; `type` has its namespace (CSDL 4.01, section 8)."""

    name: str
    type: str
    annotations: Annotations
    collection: bool = True
    contains: bool = False
    partner: str = ""


@dataclass(frozen=True, slots=True)
class TypeElement:
    """An entity type and its key property (CSDL 4.01, section 6)."""

    name: str
    key: str
    properties: tuple[PropertyElement, ...]
    navigation: tuple[NavigationElement, ...]
    annotations: Annotations


@dataclass(frozen=True, slots=True)
class SetElement:
    """An entity set; `bindings` maps navigation properties to sets (CSDL 4.01, section 13.2)."""

    name: str
    type: str
    in_service_document: bool
    bindings: Mapping[str, str]
    annotations: Annotations


@dataclass(frozen=True, slots=True)
class Description:
    """A document with one schema and one container."""

    namespace: str
    container: str
    types: tuple[TypeElement, ...]
    sets: tuple[SetElement, ...]
    annotations: Annotations


def describe(model: Model, capabilities: Capabilities, *, under_company: bool) -> Description:
    """Describe the model at the root of the service, or at a company's root.

    Both documents declare the same types and sets, because navigation and context URLs refer to the
    sets, and generated clients need them. Only the sets at the root are in the service document;
    the others are declared as not readable. At the root of the service, companies contain them;
    some profiles have them there, too (`Capabilities.sets_at_root`).
    """
    return Description(
        namespace=model.namespace,
        container=model.container,
        types=tuple(_types(model, capabilities, under_company=under_company)),
        sets=tuple(_set(each, capabilities, under_company=under_company) for each in model.sets),
        annotations=container_annotations(capabilities),
    )


def _types(
    model: Model, capabilities: Capabilities, *, under_company: bool
) -> Iterator[TypeElement]:
    for each in model.sets:
        entity_type = each.type
        navigation = [
            _navigation(model, entity_type, relation) for relation in entity_type.navigation
        ]
        if each is model.companies:
            navigation += _contained(model, capabilities, under_company=under_company)
        properties = [
            _property(each, declared, capabilities) for declared in entity_type.properties
        ]
        properties += [_filter_only(name) for name in each.filter_only]
        yield TypeElement(
            entity_type.name,
            entity_type.key,
            tuple(properties),
            tuple(navigation),
            (*description_annotations(entity_type.description), *_alternate_keys(entity_type)),
        )


def _contained(
    model: Model, capabilities: Capabilities, *, under_company: bool
) -> Iterator[NavigationElement]:
    """The sets that a company contains, annotated if this is their address."""
    for each in model.per_company:
        annotations = description_annotations(each.type.description)
        if not under_company:
            annotations += set_annotations(each, capabilities)
        yield NavigationElement(each.name, each.type.qualified_name, annotations, contains=True)


def _alternate_keys(entity_type: EntityType) -> Annotations:
    keys = tuple(
        Record({"Key": tuple(Record({"Name": PropertyPath(name)}) for name in rule.properties)})
        for rule in entity_type.unique
    )
    return (Annotation("Core.AlternateKeys", keys),) if keys else ()


def _property(
    entity_set: EntitySet, declared: Property, capabilities: Capabilities
) -> PropertyElement:
    return PropertyElement(
        declared.name,
        declared.type.edm_name,
        declared.type.facets,
        (
            *description_annotations(declared.description),
            *_computed(entity_set, declared, capabilities),
            *_suggested(declared),
            *_written_alone(declared),
            *edit_annotations(entity_set, declared, capabilities),
        ),
    )


def _computed(
    entity_set: EntitySet, declared: Property, capabilities: Capabilities
) -> Iterator[Annotation]:
    is_writable = not entity_set.read_only
    any_key = not capabilities.refuses_computed
    is_refused = not entity_set.type.accepts(declared, creating=True, any_key=any_key)
    if declared.is_computed or (is_writable and is_refused):
        yield Annotation("Core.Computed", True)
    elif is_writable and entity_set.type.has_computed_default(declared):
        yield Annotation("Core.ComputedDefaultValue", True)


def _suggested(declared: Property) -> Iterator[Annotation]:
    """Suggested values as examples, because the terms for lists would exclude other values."""
    for number, value in enumerate(declared.suggested, 1):
        example = Record({"Value": value}, "Core.PrimitiveExampleValue")
        yield Annotation("Core.Example", example, f"Usual{number}")


def _written_alone(declared: Property) -> Annotations:
    """A stream can be written, also if its record cannot."""
    if not declared.is_stream:
        return ()
    return (Annotation("Core.Permissions", AnnotatedMember("Core.Permission", "ReadWrite")),)


def _filter_only(name: str) -> PropertyElement:
    """A property that records do not have, which CSDL can express only in the description.

    It is nullable, so that readers accept records without it, and cannot be read or written.
    """
    text = "Only for $filter, with eq and and; records do not have it."
    return PropertyElement(
        name,
        TEXT.edm_name,
        TEXT.facets,
        (
            *description_annotations(text),
            Annotation("Core.Permissions", AnnotatedMember("Core.Permission", "None")),
        ),
        nullable=True,
    )


def _navigation(
    model: Model, entity_type: EntityType, declared: NavigationProperty
) -> NavigationElement:
    """A navigation property without a ReferentialConstraint.

    A constraint requires a nullable property if there may be no related record (CSDL 4.01, section
    8.5), and no property is nullable.
    """
    target = model.by_name[declared.target].type
    return NavigationElement(
        declared.name,
        target.qualified_name,
        (*description_annotations(declared.description), *navigation_annotations(declared)),
        collection=declared.collection,
        partner=_partner(model, entity_type, declared),
    )


def _partner(model: Model, entity_type: EntityType, declared: NavigationProperty) -> str:
    """The navigation property in the opposite direction, if there is one."""
    if declared.only:
        return ""
    back = (declared.on[1], declared.on[0])
    for each in model.by_name[declared.target].type.navigation:
        if model.by_name[each.target].type is entity_type and each.on == back and not each.only:
            return each.name
    return ""


def _set(entity_set: EntitySet, capabilities: Capabilities, *, under_company: bool) -> SetElement:
    at_top = entity_set.per_company == under_company or (
        entity_set.per_company and capabilities.sets_at_root
    )
    if at_top:
        annotations = root_set_annotations(entity_set, capabilities)
    elif entity_set.per_company:
        annotations = unreadable_set_annotations("Address: companies({id})/…")
    else:
        annotations = unreadable_set_annotations("Address: the root of the service.")
    return SetElement(
        entity_set.name,
        entity_set.type.qualified_name,
        at_top,
        {each.name: each.target for each in entity_set.type.navigation},
        annotations,
    )
