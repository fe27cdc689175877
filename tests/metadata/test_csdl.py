"""`$metadata` has every entity type, property and set, at both roots."""

from collections.abc import Mapping
from typing import cast
from xml.etree.ElementTree import Element

import pytest

from comptoir.catalog import MODEL
from comptoir.edm.model import EntitySet, EntityType, Model, NavigationProperty, Property
from comptoir.edm.types import CODE, GUID
from comptoir.metadata.csdl import JSON, MEDIA_TYPES, XML, csdl_version
from metadata.reading import (
    CAPABILITIES,
    CORE,
    EDM,
    EDMX,
    Object,
    Value,
    container,
    json,
    member,
    members,
    schema,
    xml,
)
from support.contract import FIELDS
from support.specimen import WITH_SPECIMENS
from support.together import together

TYPES: Mapping[str, str] = {
    "string": "Edm.String",
    "guid": "Edm.Guid",
    "date": "Edm.Date",
    "instant": "Edm.DateTimeOffset",
    "boolean": "Edm.Boolean",
    "integer": "Edm.Int32",
    "number": "Edm.Decimal",
}
ANNOTATION = f"{EDM}Annotation"
PAIRS = [f"attribute{what}{number}" for number in range(1, 11) for what in ("Name", "Value")]
ROOTS = together("under_company", (False, True))


def type_of(document: Element, name: str) -> Element:
    [element] = [each for each in document.iter(f"{EDM}EntityType") if each.get("Name") == name]
    return element


@ROOTS
@together("resource", FIELDS)
def test_an_entity_type_has_the_properties_of_the_interface_in_order(
    resource: str, under_company: bool
) -> None:
    """Filter-only properties come last."""
    entity_type = type_of(xml(under_company=under_company), MODEL.by_name[resource].type.name)
    properties = {each.get("Name"): each.get("Type") for each in entity_type.iter(f"{EDM}Property")}
    expected = {name: TYPES[wire] for name, wire in FIELDS[resource].items()}
    pairs = PAIRS if resource == "filteredItemAttributesExt" else []
    assert list(properties.items()) == [
        *expected.items(),
        *((name, "Edm.String") for name in pairs),
    ]


def test_properties_are_not_nullable_and_have_facets() -> None:
    entity_type = type_of(xml(model=WITH_SPECIMENS), "specimen")
    facets = {each.attrib.pop("Name"): each.attrib for each in entity_type.iter(f"{EDM}Property")}
    assert all(each.pop("Nullable") == "false" for each in facets.values())
    assert facets["code"] == {"Type": "Edm.String", "MaxLength": "100"}
    assert facets["text"] == {"Type": "Edm.String", "MaxLength": "4000"}
    assert facets["content"] == {"Type": "Edm.String"}
    assert facets["amount"] == {"Type": "Edm.Decimal", "Precision": "18", "Scale": "5"}
    assert facets["moment"] == {"Type": "Edm.DateTimeOffset", "Precision": "3"}
    assert facets["rank"] == {"Type": "Edm.Int32"}


def test_filter_only_properties_are_nullable() -> None:
    entity_type = member(schema(json()), "filteredItemAttribute")
    nullable = [
        name for name, element in members(entity_type, "Property").items() if "$Nullable" in element
    ]
    assert nullable == PAIRS
    assert member(entity_type, PAIRS[0])[f"{CORE}.Permissions"] == "None"


@ROOTS
def test_every_entity_type_has_its_key(under_company: bool) -> None:
    document = xml(under_company=under_company)
    for each in MODEL.sets:
        key = [
            ref.get("Name") for ref in type_of(document, each.type.name).iter(f"{EDM}PropertyRef")
        ]
        assert key == [each.type.key]


@ROOTS
def test_the_container_has_every_set_and_declares_which_are_in_the_service_document(
    under_company: bool,
) -> None:
    sets = members(container(json(under_company=under_company)), "EntitySet")
    assert {name: element["$Type"] for name, element in sets.items()} == {
        each.name: f"Comptoir.{each.type.name}" for each in MODEL.sets
    }
    hidden = {
        name for name, element in sets.items() if not element.get("$IncludeInServiceDocument", True)
    }
    assert hidden == {each.name for each in MODEL.sets if each.per_company != under_company}
    for name, element in sets.items():
        readable = member(element, f"{CAPABILITIES}.ReadRestrictions")["Readable"]
        assert readable is (name not in hidden)


@ROOTS
def test_a_company_contains_the_sets(under_company: bool) -> None:
    company = type_of(xml(under_company=under_company), "company")
    contained = {
        each.get("Name"): each.get("Type")
        for each in company.iter(f"{EDM}NavigationProperty")
        if each.get("ContainsTarget") == "true"
    }
    assert contained == {
        each.name: f"Collection(Comptoir.{each.type.name})" for each in MODEL.per_company
    }


def test_navigation_properties_are_bound_to_sets() -> None:
    document = json(under_company=True)
    contact = member(schema(document), "contact")
    assert member(contact, "company")["$Type"] == "Comptoir.contact"
    assert member(contact, "company")["$Nullable"] is True
    assert member(contact, "people")["$Collection"] is True
    for each in MODEL.sets:
        bound = member(container(document), each.name).get("$NavigationPropertyBinding", {})
        assert bound == {relation.name: relation.target for relation in each.type.navigation}


def test_navigation_properties_have_no_wrong_constraint_or_partner() -> None:
    """A company may be its own `company`, but is never one of its `people`."""
    document = xml()
    assert [each.get("Partner") for each in document.iter(f"{EDM}NavigationProperty")] == [None] * (
        len(list(document.iter(f"{EDM}NavigationProperty")))
    )
    assert list(document.iter(f"{EDM}ReferentialConstraint")) == []


def test_an_inverse_navigation_property_is_the_partner() -> None:
    def entity_set(name: str, other: str, on: tuple[str, str], only: str = "") -> EntitySet:
        wanted = {"code": only} if only else {}
        relation = NavigationProperty("others", f"{other}sExt", on, "Those alike.", only=wanted)
        properties = (Property("id", GUID), Property("number", CODE), Property("code", CODE))
        return EntitySet(f"{name}sExt", EntityType(name, "", properties, navigation=(relation,)))

    def partners(left: EntitySet, right: EntitySet) -> list[Value | None]:
        known = schema(json(model=Model((*MODEL.sets, left, right))))
        return [member(known, name, "others").get("$Partner") for name in ("left", "right")]

    left, right = ("number", "code"), ("code", "number")
    plain = entity_set("left", "right", left)
    assert partners(plain, entity_set("right", "left", right)) == ["others", "others"]
    assert partners(plain, entity_set("right", "left", left)) == [None, None]
    assert partners(plain, entity_set("right", "left", right, only="A")) == [None, None]


def test_all_used_vocabularies_are_referenced() -> None:
    text = str(json())
    included = [each.attrib for each in xml().iter(f"{EDMX}Include")]
    assert included == [
        {"Namespace": f"Org.OData.{name}.V1"}
        for name in ("Core", "Capabilities", "Authorization", "Aggregation", "Repeatability")
        if f"@Org.OData.{name}.V1." in text
    ]
    references = member(json(), "$Reference").values()
    assert [member(cast("Object", each)) for each in references] == [
        {"$Include": [{"$Namespace": each["Namespace"]}]} for each in included
    ]


@ROOTS
def test_terms_have_full_names_and_occur_once(under_company: bool) -> None:
    """Some clients do not support aliases."""
    for element in xml(under_company=under_company).iter():
        terms = [(each.get("Term"), each.get("Qualifier")) for each in element.findall(ANNOTATION)]
        assert all(str(term).startswith("Org.OData.") for term, _ in terms)
        assert len(terms) == len(set(terms))
    text = str(json(under_company=under_company))
    for name in ("Core", "Capabilities", "Authorization", "Aggregation", "Repeatability"):
        assert f"@{name}." not in text
        assert f"#{name}." not in text


@ROOTS
def test_a_client_without_aliases_finds_the_writable_sets(under_company: bool) -> None:
    """The way of pybc365, in both formats."""
    document = xml(under_company=under_company)
    sets = {
        each.get("Name"): {note.get("Term"): note for note in each.iter(ANNOTATION)}
        for each in document.iter(f"{EDM}EntitySet")
    }
    for each in MODEL.sets:
        of_json = member(container(json(under_company=under_company)), each.name)
        for what, flag in (("Insert", "Insertable"), ("Update", "Updatable")):
            term = f"Org.OData.Capabilities.V1.{what}Restrictions"
            [value] = [
                value.get("Bool")
                for value in sets[each.name][term].iter(f"{EDM}PropertyValue")
                if value.get("Property") == flag
            ]
            writable = each.per_company == under_company and not each.read_only
            assert (value == "true") is member(of_json, f"@{term}")[flag] is writable


@pytest.mark.parametrize("version", ["4.0", "4.01"])
def test_the_xml_has_the_requested_version(version: str) -> None:
    assert xml(version=version).get("Version") == version


def test_xml_is_4_0_unless_the_client_supports_4_01() -> None:
    """UI5 refuses other versions; JSON exists since 4.01."""
    assert csdl_version(XML, speaks_401=False) == "4.0"
    assert csdl_version(XML, speaks_401=True) == "4.01"
    assert csdl_version(JSON, speaks_401=False) == csdl_version(JSON, speaks_401=True) == "4.01"
    assert MEDIA_TYPES == ("application/xml", "application/json")
    assert json()["$Version"] == "4.01"
