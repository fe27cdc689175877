"""Forms are made from the declaration of an entity type, whichever it is."""

from decimal import Decimal
from itertools import chain

import msgspec

from comptoir.catalog import MODEL
from comptoir.edm.model import EntitySet
from comptoir.edm.overlay import overlaid
from comptoir.features.business_central import CURRENT
from comptoir.features.business_central.profile import business_central
from comptoir.features.console.record_form import editable, form_fields, shown_properties
from comptoir.features.console.values import decoded, empty, encoded, shown, typed
from support.samples import SAMPLES
from support.specimen import SPECIMEN, WITH_SPECIMENS
from support.together import together

BEHAVIOUR = business_central(CURRENT)
OF_BUSINESS_CENTRAL = overlaid(MODEL, MODEL.tables, BEHAVIOUR.forms)
SETS = list(chain(WITH_SPECIMENS.sets, OF_BUSINESS_CENTRAL.sets))
"""Every entity set, as it is in each profile."""


def test_each_type_has_its_control() -> None:
    controls = {each.name: each.control for each in form_fields(SPECIMEN, {})}

    lines = ("code", "series", "text", "mirrored", "reference", "moment")
    assert controls == {
        **dict.fromkeys(lines, "line"),
        **dict.fromkeys(("amount", "rate"), "number"),
        "rank": "whole",
        "active": "choice",
        "day": "day",
        "content": "lines",
    }


def test_a_field_says_what_it_accepts() -> None:
    contact = {each.name: each for each in form_fields(MODEL.by_name["contactsExt"].type, {})}

    assert contact["number"].note == "Up to 100 characters."
    assert contact["customerTemplateId"].note.startswith("A Guid, such as 5d115c9c-")
    assert tuple(contact["type"].options) == ("Company", "Person")
    assert contact["displayName"].required
    assert contact["displayName"].description == "The name to display."


def test_a_property_with_few_values_is_a_choice() -> None:
    contact = OF_BUSINESS_CENTRAL.by_name["contactsExt"].type
    declared = contact.by_name["type"]

    [found] = [each for each in form_fields(contact, {"type": "Person"}) if each.name == "type"]

    assert (found.label, found.control, found.value) == (declared.caption, "choice", "Person")
    assert "Person" in found.options
    # a value that another profile has stored stays selected
    [other] = [each for each in form_fields(contact, {"type": "Robot"}) if each.name == "type"]
    assert tuple(other.options) == ("Robot", *found.options)


def test_text_with_line_ends_gets_a_field_with_lines() -> None:
    contact = MODEL.by_name["contactsExt"].type

    [found] = [each for each in form_fields(contact, {"name2": "a\nb"}) if each.name == "name2"]

    assert found.control == "lines"


@together("entity_set", SETS)
def test_a_key_and_what_the_service_sets_are_only_shown(entity_set: EntitySet) -> None:
    entity_type = entity_set.type
    changed = {each.name for each in editable(entity_type)}
    shown_only = {each.name for each in shown_properties(entity_type, {}, whole=False)}

    assert entity_type.key in shown_only
    assert changed | shown_only == set(entity_type.by_name)
    assert not changed & shown_only
    if entity_type.modified_at is not None:
        assert entity_type.modified_at.name in shown_only


def test_a_new_record_may_have_a_key_unless_the_service_generates_it() -> None:
    agent, unit = MODEL.by_name["shippingAgentsExt"].type, MODEL.by_name["unitsOfMeasureExt"].type

    assert [each.name for each in editable(agent, creating=True)] == ["code", "name"]
    created = [each.name for each in editable(unit, creating=True)]
    assert created == [each.name for each in unit.properties]


@together("entity_set", SETS)
def test_an_untouched_form_changes_nothing(entity_set: EntitySet) -> None:
    values = decoded(msgspec.json.encode(SAMPLES.get(entity_set.name, {})))

    for each in editable(entity_set.type):
        before = values.get(each.name, empty(each))
        assert typed(each, shown(each, before), before) == before


@together(
    ("name", "text", "value"),
    [
        ("rank", " 7 ", 7),
        ("rank", "", 0),
        ("rank", "seven", "seven"),
        ("amount", "33.64420", Decimal("33.6442")),
        ("amount", "1,5", "1,5"),
        ("active", "true", True),
        ("day", "", "0001-01-01"),
        ("day", "2026-02-30", "2026-02-30"),
        ("moment", "2026-01-31T13:30:00+01:00", "2026-01-31T12:30:00.000Z"),
        ("reference", "", "00000000-0000-0000-0000-000000000000"),
        ("text", " kept ", " kept "),
        ("text", "", ""),
    ],
)
def test_what_a_typed_text_means(name: str, text: str, value: object) -> None:
    declared = SPECIMEN.by_name[name]

    assert typed(declared, text, empty(declared)) == value


def test_numbers_stay_exact() -> None:
    text = b'{"amount":1234567890123.12345,"rank":7,"active":true}'

    assert encoded(decoded(text)) == text
