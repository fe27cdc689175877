"""The model as a description: its types once, its container as it stands at a service root."""

from collections.abc import Iterator

from comptoir.edm.model import NAMESPACE, EntitySet, EntityType, Model, NavigationProperty, Property
from comptoir.edm.types import TEXT
from comptoir.metadata.abilities import Abilities
from comptoir.metadata.csdl.capabilities import (
    described,
    of_addressed_set,
    of_container,
    of_relation,
    of_set,
    of_set_elsewhere,
)
from comptoir.metadata.csdl.description import (
    Annotation,
    Annotations,
    Description,
    Member,
    NavigationElement,
    PropertyElement,
    PropertyPath,
    Record,
    SetElement,
    TypeElement,
    Vocabulary,
)
from comptoir.metadata.traits import filter_pairs, has_computed_default, is_computed

_CONTAINER = "Container"
_VOCABULARIES = tuple(
    Vocabulary(name)
    for name in ("Core", "Capabilities", "Authorization", "Aggregation", "Repeatability")
)


def describe(model: Model, abilities: Abilities, *, under_company: bool) -> Description:
    """Describe the model as the root of the interface has it, or as a company does.

    Both have the same types and the same sets in their containers, since records refer to one
    another by these sets, context URLs name them, and generated clients want each. What differs is
    which sets stand at the top, hence in the service document; the others are declared as not
    readable there. At the root, a company contains the sets.
    """
    return Description(
        namespace=NAMESPACE,
        container=_CONTAINER,
        types=tuple(_types(model, abilities, under_company=under_company)),
        sets=tuple(_set(each, abilities, under_company=under_company) for each in model.sets),
        annotations=of_container(abilities),
        vocabularies=_VOCABULARIES,
    )


def _types(model: Model, abilities: Abilities, *, under_company: bool) -> Iterator[TypeElement]:
    for each in model.sets:
        kind = each.type
        navigation = [_navigation(model, kind, relation) for relation in kind.navigation]
        if each is model.companies:
            navigation += _contained(model, abilities, under_company=under_company)
        properties = [_property(each, held) for held in kind.properties]
        properties += [_filter_only(name) for name in filter_pairs(each)]
        yield TypeElement(
            kind.name,
            kind.key,
            tuple(properties),
            tuple(navigation),
            (*described(kind.description), *_alternate_keys(kind)),
        )


def _contained(
    model: Model, abilities: Abilities, *, under_company: bool
) -> Iterator[NavigationElement]:
    """The sets that a company contains, with what can be done there if there they stand."""
    for each in model.per_company:
        annotations = described(each.type.description)
        if not under_company:
            annotations += of_set(each, abilities)
        yield NavigationElement(each.name, each.type.name, annotations, contains=True)


def _alternate_keys(kind: EntityType) -> Annotations:
    keys = tuple(
        Record({"Key": tuple(Record({"Name": PropertyPath(name)}) for name in rule.properties)})
        for rule in kind.unique
    )
    return (Annotation("Core.AlternateKeys", keys),) if keys else ()


def _property(entity_set: EntitySet, held: Property) -> PropertyElement:
    return PropertyElement(
        held.name,
        held.type.edm_name,
        held.type.facets,
        (*described(held.description), *_computed(entity_set, held), *_suggested(held)),
    )


def _computed(entity_set: EntitySet, held: Property) -> Iterator[Annotation]:
    if is_computed(held):
        yield Annotation("Core.Computed", True)
    elif not entity_set.read_only and has_computed_default(entity_set.type, held):
        yield Annotation("Core.ComputedDefaultValue", True)


def _suggested(held: Property) -> Iterator[Annotation]:
    """Usual values as examples: the terms for lists of values would make them the only ones."""
    for number, value in enumerate(held.suggested, 1):
        example = Record({"Value": value}, "Core.PrimitiveExampleValue")
        yield Annotation("Core.Example", example, f"Usual{number}")


def _filter_only(name: str) -> PropertyElement:
    """A property that records do not have: CSDL has no way to say so but in words.

    It may be null, so that readers expect it to be missing, and nobody may read or write it.
    """
    text = "For $filter alone (eq, joined by and); no record has it."
    return PropertyElement(
        name,
        TEXT.edm_name,
        TEXT.facets,
        (*described(text), Annotation("Core.Permissions", Member("Core.Permission", "None"))),
        nullable=True,
    )


def _navigation(model: Model, kind: EntityType, held: NavigationProperty) -> NavigationElement:
    """A relation without ReferentialConstraint.

    A constraint on a relation that may find nothing asks for a property that may be null (CSDL
    4.01, section 8.5), and none may.
    """
    target = model.by_name[held.target].type
    return NavigationElement(
        held.name,
        target.name,
        (*described(held.description), *of_relation(held)),
        collection=held.collection,
        partner=_partner(model, kind, held),
    )


def _partner(model: Model, kind: EntityType, held: NavigationProperty) -> str:
    """The relation that leads back from each related record, if there is one."""
    if held.only:
        return ""
    back = (held.on[1], held.on[0])
    for each in model.by_name[held.target].type.navigation:
        if model.by_name[each.target].type is kind and each.on == back and not each.only:
            return each.name
    return ""


def _set(entity_set: EntitySet, abilities: Abilities, *, under_company: bool) -> SetElement:
    at_top = entity_set.per_company == under_company
    if at_top:
        annotations = of_addressed_set(entity_set, abilities)
    elif entity_set.per_company:
        annotations = of_set_elsewhere("Stands under a company: companies({id})/…")
    else:
        annotations = of_set_elsewhere("Stands at the root of the interface.")
    return SetElement(
        entity_set.name,
        entity_set.type.name,
        at_top,
        {each.name: each.target for each in entity_set.type.navigation},
        annotations,
    )
