"""The annotations of `$metadata` agree with the service."""

from comptoir.catalog import MODEL
from comptoir.edm.model import EntitySet
from metadata.reading import (
    CAPABILITIES,
    CORE,
    EDM,
    Object,
    Value,
    container,
    json,
    member,
    schema,
    xml,
)
from support.specimen import WITH_SPECIMENS
from support.together import together

SETS = together("entity_set", MODEL.sets)


def of_set(entity_set: EntitySet) -> Object:
    """The set at its own root."""
    document = json(under_company=entity_set.per_company)
    return member(container(document), entity_set.name)


def of_property(entity_type: str, name: str) -> Object:
    return member(schema(json(model=WITH_SPECIMENS)), entity_type, name)


def names(element: Object, term: str, list_name: str) -> Value:
    return member(element, f"{CAPABILITIES}.{term}").get(list_name, [])


def test_every_element_has_the_description_of_the_catalog() -> None:
    for entity_set in MODEL.sets:
        entity_type = member(schema(json()), entity_set.type.name)
        assert entity_type[f"{CORE}.Description"] == entity_set.type.description
        for element in entity_set.type.properties:
            assert member(entity_type, element.name)[f"{CORE}.Description"] == element.description
        for relation in entity_set.type.navigation:
            assert member(entity_type, relation.name)[f"{CORE}.Description"] == relation.description


@together(
    ("entity_type", "name", "term"),
    [
        ("contact", "lastModifiedDateTime", "Computed"),
        ("specimen", "changedAt", "Computed"),
        ("contact", "searchName", "ComputedDefaultValue"),
        ("contact", "companyName", "ComputedDefaultValue"),
        ("contact", "id", "ComputedDefaultValue"),
        ("itemAttribute", "attributeId", "ComputedDefaultValue"),
        ("unitOfMeasure", "lastModifiedDateTime", "ComputedDefaultValue"),
        ("contact", "displayName", None),
        ("unitOfMeasure", "code", None),
        ("customer", "id", None),
    ],
)
def test_computed_properties_are_annotated(entity_type: str, name: str, term: str | None) -> None:
    terms = [each for each in of_property(entity_type, name) if each.startswith(f"{CORE}.Computed")]
    assert terms == ([] if term is None else [f"{CORE}.{term}"])


def test_suggested_values_are_examples() -> None:
    blocked = of_property("customer", "blocked")
    examples = {
        name: member(blocked, name)["Value"]
        for name in blocked
        if name.startswith(f"{CORE}.Example")
    }
    assert examples == {
        f"{CORE}.Example#Usual1": " ",
        f"{CORE}.Example#Usual2": "Ship",
        f"{CORE}.Example#Usual3": "Invoice",
        f"{CORE}.Example#Usual4": "All",
    }
    assert "AllowedValues" not in str(json())


def test_unique_rules_are_alternate_keys() -> None:
    entity_type = member(schema(json()), "itemTranslation")
    keys = [{"Key": [{"Name": "itemNo"}, {"Name": "languageCode"}, {"Name": "variantCode"}]}]
    assert entity_type[f"{CORE}.AlternateKeys"] == keys
    two = member(schema(json(model=WITH_SPECIMENS)), "specimen")[f"{CORE}.AlternateKeys"]
    assert two == [{"Key": [{"Name": "code"}, {"Name": "series"}]}, {"Key": [{"Name": "rank"}]}]
    assert f"{CORE}.AlternateKeys" not in member(schema(json()), "salesPrice")


@SETS
def test_only_writable_sets_allow_writes(entity_set: EntitySet) -> None:
    element, writable = of_set(entity_set), not entity_set.read_only
    for term, name in (("Insert", "Insertable"), ("Update", "Updatable"), ("Delete", "Deletable")):
        assert member(element, f"{CAPABILITIES}.{term}Restrictions")[name] is writable
    assert (f"{CORE}.OptimisticConcurrency" in element) is writable
    assert element.get(f"{CORE}.Permissions") == (None if writable else "Read")


def test_required_and_fixed_properties_are_annotated() -> None:
    element = of_set(MODEL.by_name["unitsOfMeasureExt"])
    assert names(element, "InsertRestrictions", "RequiredProperties") == ["code"]
    assert names(element, "UpdateRestrictions", "NonUpdatableProperties") == [
        "lastModifiedDateTime"
    ]
    assert names(element, "UpdateRestrictions", "Upsertable") is False


@SETS
def test_permissions_name_the_scopes(entity_set: EntitySet) -> None:
    def scopes(term: str) -> Value:
        return names(of_set(entity_set), f"{term}Restrictions", "Permissions")

    def needed(scope: str) -> Value:
        return [{"SchemeName": "bearer", "Scopes": [{"Scope": scope}]}]

    assert scopes("Read") == needed("records.read")
    for term in ("Insert", "Update", "Delete"):
        assert scopes(term) == ([] if entity_set.read_only else needed("records.write"))


def test_secret_properties_are_excluded_from_queries() -> None:
    element = of_set(MODEL.by_name["contactsExt"])
    assert names(element, "FilterRestrictions", "NonFilterableProperties") == ["onlinePassword"]
    assert names(element, "SortRestrictions", "NonSortableProperties") == ["onlinePassword"]
    applied = member(element, "@Org.OData.Aggregation.V1.ApplySupported")
    for listed in ("GroupableProperties", "AggregatableProperties"):
        assert "displayName" in str(applied[listed])
        assert "onlinePassword" not in str(applied[listed])
    assert "onlinePassword" not in str(names(element, "ChangeTracking", "FilterableProperties"))


def test_filter_only_properties_are_restricted_to_filters() -> None:
    element = of_set(MODEL.by_name["filteredItemAttributesExt"])
    restricted = names(element, "FilterRestrictions", "FilterExpressionRestrictions")
    assert isinstance(restricted, list)
    assert restricted[1] == {"Property": "attributeValue1", "AllowedExpressions": "SingleValue"}
    assert len(restricted) == 20
    assert "attributeName10" in str(names(element, "SortRestrictions", "NonSortableProperties"))


@SETS
def test_expand_and_change_tracking_are_annotated(entity_set: EntitySet) -> None:
    expanded = member(of_set(entity_set), f"{CAPABILITIES}.ExpandRestrictions")
    related = bool(entity_set.type.navigation) or not entity_set.per_company
    assert expanded == ({"Expandable": True, "MaxLevels": 3} if related else {"Expandable": False})
    tracked = member(of_set(entity_set), f"{CAPABILITIES}.ChangeTracking")["Supported"]
    assert tracked is (entity_set.name not in ("companies", "filteredItemAttributesExt"))


def test_filters_of_companies_have_no_navigation() -> None:
    """Contained sets can be expanded and listed, but no filter reads several companies."""
    for each in MODEL.sets:
        levels = names(of_set(each), "FilterRestrictions", "MaxLevels")
        assert levels == (0 if each is MODEL.companies else [])


def test_contained_sets_have_the_same_annotations_at_the_root() -> None:
    """Except the term for ETags, which applies only to entity sets."""
    company = member(schema(json()), "company")
    for each in MODEL.per_company:
        at_top = {
            name: element for name, element in of_set(each).items() if name.startswith(CAPABILITIES)
        }
        assert member(company, each.name).items() >= at_top.items()
        elsewhere = member(container(json()), each.name)
        assert member(elsewhere, f"{CAPABILITIES}.NavigationRestrictions")["Navigability"] == "None"


def test_the_container_is_annotated() -> None:
    annotated = container(json())
    assert annotated[f"{CAPABILITIES}.FilterFunctions"] == ["contains", "startswith"]
    assert annotated[f"{CAPABILITIES}.ConformanceLevel"] == "Intermediate"
    assert member(annotated, f"{CAPABILITIES}.BatchSupport")["Supported"] is True
    assert member(annotated, f"{CAPABILITIES}.DeepInsertSupport")["Supported"] is False
    for absent in ("AsynchronousRequests", "KeyAsSegment", "CrossJoin"):
        assert annotated[f"{CAPABILITIES}.{absent}Supported"] is False
    assert annotated["@Org.OData.Repeatability.V1.Supported"] is True
    assert annotated["@Org.OData.Authorization.V1.SecuritySchemes"] == [{"Authorization": "bearer"}]


def test_xml_distinguishes_the_types_of_values() -> None:
    """Paths, enumeration members, numbers and text have different elements."""
    document = xml(under_company=True)
    written = {
        (each.tag.removeprefix(EDM), attribute)
        for each in document.iter()
        for attribute in each.attrib
        if each.tag in (f"{EDM}Annotation", f"{EDM}PropertyValue")
    } - {("Annotation", "Term"), ("Annotation", "Qualifier"), ("PropertyValue", "Property")}
    assert {tag for _, tag in written} == {"Bool", "Int", "String", "PropertyPath", "EnumMember"}
    paths = {each.text for each in document.iter(f"{EDM}PropertyPath")}
    assert "onlinePassword" in paths
    [level] = [
        each.get("EnumMember")
        for each in document.iter(f"{EDM}Annotation")
        if each.get("Term") == "Org.OData.Capabilities.V1.ConformanceLevel"
    ]
    assert level == "Org.OData.Capabilities.V1.ConformanceLevelType/Intermediate"
