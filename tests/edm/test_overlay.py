"""A model with derived types: what they accept and write, and that the database stays the same."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from comptoir.catalog import MODEL
from comptoir.edm.model import EntityType, Model, Property
from comptoir.edm.overlay import overlaid
from comptoir.edm.record_json import RecordEncoder
from comptoir.edm.times import INSTANT, SHORT_INSTANT
from comptoir.edm.types import TEXT, CodeText, EdmError, EnumText, encoded_name
from comptoir.profiles.record import DECLARED, FieldOptions, TableRule, Values
from comptoir.sql.tables import build_tables
from support.client import Record, record, tag_of
from support.companies import Company
from support.databases import FreshDatabase
from support.service import Service

LAYOUTS = {
    "companies": 574872948,
    "campaignsExt": 1633731555,
    "contactsExt": 2060934223,
    "customersExt": 809316451,
    "filteredItemAttributesExt": 1548189111,
    "itemAttributesExt": 1086956424,
    "itemAttributeValuesExt": 887064507,
    "ItemProductTextLongContentsExt": 1108301148,
    "itemReferencesExt": 1034224647,
    "itemsExt": 1334324689,
    "itemTranslationsExt": 2124396807,
    "salesPricesExt": 1773202740,
    "shippingAgentsExt": 378084917,
    "unitsOfMeasureExt": 1410743760,
}
"""The layouts of the declared types, by which the JSON in existing databases is recognized."""

KIND = ((" ", " "), ("Bar", "Bar Code"), ("C", "Customer"))


def fields(set_name: str, **rules: FieldOptions) -> Values:
    return Values({set_name: TableRule(1, "T", "a test", rules)}, {"Kind": KIND})


REFERENCES = fields(
    "itemReferencesExt",
    itemNo=FieldOptions(caption="Item No.", length=20, code=True),
    referenceType=FieldOptions(caption="Type", enum="Kind"),
    description=FieldOptions(caption="Description", length=5),
)
SYMBOLS = fields("unitsOfMeasureExt", symbol=FieldOptions(caption="Symbol", length=5))
BOTH = Values({**REFERENCES.tables, **SYMBOLS.tables}, REFERENCES.enums)
OTHER_FORMS = replace(DECLARED, enumerations="names", instants="short")


def types(model: Model, set_name: str) -> dict[str, object]:
    return {each.name: each.type for each in model.by_name[set_name].type.properties}


def test_an_empty_overlay_is_the_model_itself() -> None:
    assert overlaid(MODEL, Values(), DECLARED) is MODEL
    assert overlaid(MODEL, BOTH, OTHER_FORMS) is overlaid(MODEL, replace(BOTH), OTHER_FORMS)


def test_the_layouts_of_declared_types_are_those_in_existing_databases() -> None:
    """If this fails, services read every record from its columns after an upgrade."""
    assert {each.name: RecordEncoder(each.type).layout for each in MODEL.sets} == LAYOUTS


def test_another_wire_form_is_another_layout() -> None:
    names = overlaid(MODEL, REFERENCES, replace(DECLARED, enumerations="names"))
    short = overlaid(MODEL, Values(), replace(DECLARED, instants="short"))
    changed = {"itemReferencesExt"}
    timed = {each.name for each in MODEL.sets if INSTANT in types(MODEL, each.name).values()}
    for model, expected in ((names, changed), (short, timed)):
        layouts = {each.name: RecordEncoder(each.type).layout for each in model.sets}
        assert {name for name in layouts if layouts[name] != LAYOUTS[name]} == expected


def test_another_member_is_another_layout() -> None:
    def layout(*members: tuple[str, str]) -> int:
        edm_type = EnumText(members, named=True, stored_length=None)
        return RecordEncoder(EntityType("one", "", (Property("kind", edm_type),), "kind")).layout

    assert layout(("A", "a")) != layout(("A", "b")) != layout(("A", "a"), ("B", "b"))


def test_limits_and_codes_have_the_same_json() -> None:
    """So services with and without them share it."""
    codes = fields("itemsExt", number=FieldOptions(caption="No.", length=20, code=True))
    model = overlaid(MODEL, codes, DECLARED)
    assert RecordEncoder(model.by_name["itemsExt"].type).layout == LAYOUTS["itemsExt"]


def test_tables_stay_as_declared() -> None:
    def columns(model: Model) -> list[str]:
        metadata = build_tables(model).metadata
        return [repr(column) for table in metadata.sorted_tables for column in table.columns]

    assert columns(overlaid(MODEL, REFERENCES, OTHER_FORMS)) == columns(MODEL)


def test_every_set_of_another_model_is_another_object() -> None:
    """Caches are keyed by sets and types."""
    model = overlaid(MODEL, REFERENCES, DECLARED)
    for each in MODEL.sets:
        derived = model.by_name[each.name]
        assert (derived is each, derived.type is each.type) == (False, False)
        assert list(derived.type.by_name) == list(each.type.by_name)


def test_a_view_has_the_types_of_its_base() -> None:
    codes = fields("itemsExt", number=FieldOptions(caption="No.", length=20, code=True))
    view = types(overlaid(MODEL, codes, DECLARED), "filteredItemAttributesExt")
    assert isinstance(view["itemNo"], CodeText)
    assert view["itemDescription"] is TEXT


def test_a_code_is_trimmed_and_in_upper_case() -> None:
    code = CodeText(10, stored_length=100)
    codes = {"pcs": "PCS", "  pcs ": "PCS", "straße": "STRAßE", "é\t": "É\t", " ": "", "": ""}
    assert {each: code.from_json(each) for each in codes} == codes
    assert code.from_texts(list(codes)) == list(codes.values())


def test_a_code_is_measured_without_its_blanks() -> None:
    code = CodeText(3, stored_length=100)
    assert code.from_text(" abc ") == "ABC"
    with pytest.raises(EdmError, match="exceeds the limit of 3 characters"):
        code.from_text("abcd")


def test_names_are_encoded() -> None:
    names = {
        " ": "_x0020_",
        "G/L Account": "G_x002F_L_x0020_Account",
        "Customer Disc. Group": "Customer_x0020_Disc._x0020_Group",
        "2nd": "_x0032_nd",
        "_x0020_": "_x0020_",
        "Größe_1": "Größe_1",
    }
    assert {each: encoded_name(each) for each in names} == names


def test_members_are_written_by_name_and_other_texts_as_they_are() -> None:
    kind = EnumText(KIND, named=True, stored_length=100)
    assert kind.to_wire is not None
    for stored, wire in (("Bar Code", "Bar"), (" ", "_x0020_"), ("Vendor", "Vendor")):
        assert (kind.to_wire(stored), kind.from_wire(wire)) == (wire, stored)


def test_instants_are_written_without_zeros_at_the_end() -> None:
    for stored, wire in (
        ("2025-03-05T19:19:22.370Z", "2025-03-05T19:19:22.37Z"),
        ("2025-03-05T19:19:20.000Z", "2025-03-05T19:19:20Z"),
        ("2025-03-05T19:19:22.001Z", "2025-03-05T19:19:22.001Z"),
        (INSTANT.default, "0001-01-01T00:00:00Z"),
    ):
        assert SHORT_INSTANT.to_wire is not None
        assert SHORT_INSTANT.to_wire(stored) == wire
        assert SHORT_INSTANT.from_wire(wire) == SHORT_INSTANT.from_json(wire) == stored


SENT: Record = {"itemNo": "1000", "referenceNo": "R1", "referenceType": "Bar Code"}


@pytest.fixture(scope="module")
def services(
    fresh_database: FreshDatabase, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Service, Service]]:
    """A service with the declared types and one with derived types, on the same database."""
    folder = tmp_path_factory.mktemp("overlaid")
    with Service(fresh_database, folder) as declared:
        url = declared.settings.database
        model = overlaid(MODEL, BOTH, OTHER_FORMS)
        with Service(lambda *_: url, folder, model) as derived:
            yield declared, derived


def company_of(services: tuple[Service, Service]) -> tuple[Company, str]:
    company = services[0].new_company()
    return company, f"companies({company.id})/itemReferencesExt"


def test_services_never_share_the_json_of_another_form(services: tuple[Service, Service]) -> None:
    _, path = company_of(services)
    clients = [each.client for each in services]
    forms = ("Bar Code", "Bar")
    for number, client in enumerate(clients):
        made = record(client.post(path, {**SENT, "referenceNo": f"R{number}"}), 201)
        assert made["referenceType"] == forms[number]
        address = f"{path}({made['id']})"
        for reader, form in zip(clients, forms, strict=True):
            read = reader.get(address)
            assert record(read)["referenceType"] == form
            assert {each["referenceType"] for each in reader.listed(path)} == {form}
        for writer, form in zip(clients, forms, strict=True):
            changed = writer.patch(address, {"description": form[:3]}, tag_of(read))
            assert record(changed)["referenceType"] == form
            assert [record(each.get(address))["referenceType"] for each in clients] == list(forms)
            read = changed


def test_a_stored_value_over_the_limit_is_read_and_kept(services: tuple[Service, Service]) -> None:
    company, path = company_of(services)
    company.load("itemReferencesExt", {**SENT, "description": "much too long"})
    client = services[1].client
    (found,) = client.listed(path)
    assert found["description"] == "much too long"
    address = f"{path}({found['id']})"
    tag = tag_of(client.get(address))
    refused = client.patch(address, {"description": "longer"}, tag)
    assert (refused.status_code, refused.json()["error"]["target"]) == (400, "description")
    assert record(client.patch(address, {"itemNo": " ab "}, tag))["itemNo"] == "AB"


def test_computed_texts_are_bounded_by_what_may_be_stored(
    services: tuple[Service, Service],
) -> None:
    path = f"companies({services[0].new_company().id})/unitsOfMeasureExt"
    text = "symbol"
    for _ in range(16):
        text = f"concat({text},symbol)"
    for each in services:
        answer = each.client.get(path, f"$filter=length({text}) gt 0")
        assert answer.status_code == 501
        assert "A computed text of more than" in answer.json()["error"]["message"]
