"""`$metadata` of any model; the corpus has what a client reads in that of the shipped one."""

from collections.abc import Mapping

from comptoir.catalog import MODEL
from comptoir.edm.model import EntitySet, EntityType, Model, NavigationProperty, Property
from comptoir.edm.types import CODE, GUID
from metadata.reading import EDM, Value, json, member, xml
from support.contract import FIELDS
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


@ROOTS
@together("resource", FIELDS)
def test_an_entity_type_has_the_properties_of_the_interface_in_order(
    resource: str, under_company: bool
) -> None:
    """Filter-only properties come last."""
    name = MODEL.by_name[resource].type.name
    types = xml(under_company=under_company).iter(f"{EDM}EntityType")
    [entity_type] = [each for each in types if each.get("Name") == name]
    properties = {each.get("Name"): each.get("Type") for each in entity_type.iter(f"{EDM}Property")}
    expected = {name: TYPES[wire] for name, wire in FIELDS[resource].items()}
    pairs = PAIRS if resource == "filteredItemAttributesExt" else []
    expected |= dict.fromkeys(pairs, "Edm.String")
    assert list(properties.items()) == list(expected.items())


def test_navigation_properties_have_no_wrong_constraint_or_partner() -> None:
    """A company may be its own `company`, but is never one of its `people`."""
    text = str(json())
    assert "$Partner" not in text
    assert "$ReferentialConstraint" not in text


def test_an_inverse_navigation_property_is_the_partner() -> None:
    def entity_set(name: str, other: str, on: tuple[str, str], only: str = "") -> EntitySet:
        wanted = {"code": only} if only else {}
        relation = NavigationProperty("others", f"{other}sExt", on, "Those alike.", only=wanted)
        properties = (Property("id", GUID), Property("number", CODE), Property("code", CODE))
        return EntitySet(f"{name}sExt", EntityType(name, "", properties, navigation=(relation,)))

    def partners(left: EntitySet, right: EntitySet) -> list[Value | None]:
        known = json(model=Model((*MODEL.sets, left, right)))
        return [member(known, "Comptoir", name, "others").get("$Partner") for name in names]

    names, left, right = ("left", "right"), ("number", "code"), ("code", "number")
    plain = entity_set("left", "right", left)
    assert partners(plain, entity_set("right", "left", right)) == ["others", "others"]
    assert partners(plain, entity_set("right", "left", left)) == [None, None]
    assert partners(plain, entity_set("right", "left", right, only="A")) == [None, None]


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
