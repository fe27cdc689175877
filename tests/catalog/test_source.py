"""Every fault of a catalog is reported with its place and a remedy, and all of them at once."""

from collections.abc import Mapping, Sequence

import pytest

from comptoir.catalog import MODEL
from comptoir.catalog.building import RESERVED_PROPERTIES, RESERVED_SETS, build
from comptoir.catalog.source import Source
from comptoir.edm.model import Model
from comptoir.errors.refusal import OperatorError
from comptoir.sql.tables import build_tables, control_tables
from support.together import together

GOOD = """comptoir = 1
namespace = "Own"
container = "Container"

[sets.things]
type = "thing"
unique = [["code"]]

[sets.things.properties]
id = "Guid"
code = { type = "String(20)", required = true }
size = "Int32"
name = "String"
at = { type = "DateTimeOffset", modified_at = true }

[sets.things.navigation]
owner = { to = "owners", on = { name = "name" } }

[sets.things.business_central]
table = 7
caption = "Thing"

[sets.things.business_central.properties]
code = { caption = "Code", length = 10 }

[sets.owners]
type = "owner"

[sets.owners.properties]
id = "Guid"
name = "String"

[enums]
Level = ["None", "Gold"]
"""
VIEW = (
    '[sets.seen]\ntype = "seen"\nread_only = true\nview = {}\n[sets.seen.properties]\nid = "Guid"\n'
)
PAIRS = """
[sets.things.pair_filter]
name = "name"
value = "value"
count = 2
carrier = "owners"
reference = "kode"
carrier_reference = "name"
carrier_name = "nam"
carrier_value = "id"
"""


def built(text: str) -> Model:
    return build(Source.parse("own.toml", text.encode()))


def faults(text: str) -> list[str]:
    with pytest.raises(OperatorError) as raised:
        built(text)
    return list(raised.value.details)


A_SET = 'type = "c"\nproperties = { id = "Guid" }\n[enums]'
FAULTS: Mapping[str, Sequence[tuple[str, str]]] = {
    'size = "Int32"': [
        ('size = "Int23"', "12:1: Int23 is not a known type. Did you mean Int32?"),
        ('size = "String(0)"', "12:1: String(0) is not a known type."),
        ('"a b" = "Int32"', "12:1: a b is not a name. Use A to Z,"),
        ('Code = "Int32"', "12:1: Code has the name of code. Choose another"),
        ('Company_ID = "Int32"', "12:1: Company_ID has the name of company_id."),
        (f'{"x" * 64} = "Int32"', "x is not a name. Use A to Z, a to z, digits and _, at most 63"),
        ('"größe" = "Int32"', "12:1: größe is not a name. Use A to Z, a to z,"),
        ('size = { type = "Int32", modified_at = true }', "12:1: modified_at needs"),
        ('y = { type = "DateTimeOffset", modified_at = true }', "here or from y."),
        ('size = { type = "Guid", digits = true }', "digits needs the type Int32."),
    ],
    "required = true": [
        ("requird = true", "11:31: requird is not a known option. Did you mean"),
        ('required = "yes"', "11:31: required is not valid: Expected `bool`"),
        ('derived = "trim(name)"', "11:1: code has a place in a key besides derived."),
    ],
    'name = "String"\nat': [("name = 3\nat", "13:1: name is not a table. Write its options as {")],
    'type = "owner"\n': [("", "26:2: sets.owners has no type. Add it.")],
    "[enums]": [
        (f"[sets.Companies]\n{A_SET}", "33:2: Companies has the name of companies."),
        (f"[sets.Clients]\n{A_SET}", "33:2: Clients has the name of clients. Choose another"),
        (f"{VIEW}[enums]", "view is not valid: Object missing required field `base`."),
    ],
    "[sets.owners]": [(f"[sets.{'o' * 57}]", "Use A to Z, a to z, digits and _, at most 56")],
    '[["code"]]': [
        ('[["kode"]]', "7:1: kode is not a known property of things. Did you mean"),
        ('[["name"]]', "13:1: name identifies records and has the type String."),
        (
            '[{ properties = ["code", "size"], blank_is_free = true }]',
            "7:1: blank_is_free is set for several properties, code, size. Use it for one",
        ),
        ('[{ properties = ["size"], blank_is_free = true }]', "7:1: blank_is_free needs the type"),
        ('[["code"]]\nindexes = [["x"]]', "8:1: x is not a known property of things."),
        ('[["code"]]\nkey = "x"', "8:1: x is not a known property of things."),
        (
            '[["id"]]\nkey = "size"\ncolumns = ["cod"]',
            "9:1: cod is not a known property of things.",
        ),
    ],
    'code = { type = "String(20)"': [('code = { type = "Stream"', "has the type Stream. Use G")],
    'to = "owners"': [('to = "owner"', "17:1: owner is not a known entity set. Did you mean")],
    'on = { name = "name" }': [
        ('on = { name = "name", size = "size" }', "17:1: owner does not have one pair in `on`."),
        ('only = { name = "A" }', "17:1: owner does not have one pair in `on`."),
        ("check = true", "17:26: check does not apply to owners. Use it"),
        ('on = { name = "nam" }', "17:1: nam is not a known property"),
        ('on = { size = "name" }', "17:1: owner compares size (Int32) with name (String)."),
    ],
    "owner = {": [("code = {", "17:1: code has the name of code. Choose another name.")],
    "code = { caption": [("kode = { caption", "24:1: kode is not a known property of things.")],
    "length = 10": [
        ("length = 30", "24:1: the field code accepts more than the type String(20)"),
        ('enum = "Levl"', "24:1: Levl is not a known enumeration. Did you mean Level?"),
    ],
    '"Thing"': [
        ('"Thing"\nalias = "OWNERS"', "22:1: OWNERS has the name of owners."),
        ('"Thing"\nperiods = [["at", "x"]]', "22:1: x is not a known property of things."),
        ('"Thing"\nused_in = { owners = "x" }', "22:1: x is not a known property of owners"),
    ],
    "comptoir = 1": [("comptoir = 2", "1:1: comptoir is not valid: Invalid enum value 2.")],
}
OF_A_PROPERTY = (
    ('"Decimal(18,2)"', "12:1: Decimal(18,2) is not a known type."),
    ('"Decimal(5,6)"', "12:1: Decimal(5,6) is not a known type."),
    ('"Decimal(0,0)"', "12:1: Decimal(0,0) is not a known type."),
    ('"Stream", required = true', "12:1: x has the type Stream besides required. Remove one"),
    ('"Stream", default = ""', "12:1: x has the type Stream besides default."),
    ('"String", minimum = 1', "12:1: minimum needs the type Int32 or Decimal."),
    ('"Int32", code = true', "12:1: code needs the type String."),
    ('"Date", created_at = true', "12:1: created_at needs the type DateTimeOffset."),
    ('"Int32", computed = true, required = true', "12:1: x has required besides computed."),
    ('"Int32", immutable = true, computed = true', "12:1: x has immutable besides computed."),
    ('"Int32", numbered = true, default = 1', "12:1: x has default besides numbered."),
    ('"Decimal(5,2)", derived = "name"', "12:1: x needs the type String."),
    ('"String", derived = "toupper(size"', "12:1: toupper(size is not an expression."),
    ('"String", derived = "\'a\'"', "12:1: 'a' is not an expression."),
    (f'"String", derived = "{"trim(" * 999}name{")" * 999}"', "12:1: trim(trim(trim("),
    ('"String", derived = "concat(name,nam)"', "12:1: nam is not a known property of"),
    ('"String", derived = "at"', "12:1: at needs the type String."),
    ('"String", derived = "trim(x)"', "12:1: x follows from itself, through x. Let one"),
    ('"String", derived = "y" }\ny = { code = true', "sets.things.properties.y has no"),
    (
        '"String", computed_default = "lower(name)"',
        "12:1: lower(name) is not an expression. Write a property, or toupper, tolower, trim ",
    ),
    ('"String", computed_default = "toupper(nam)"', "things. Did you mean name?"),
    ('"String", computed_default = "owner/name"', "leads to another set than things, or lacks"),
    ('"Int32", default = "a"', "12:23: default is not valid: a must be a whole number"),
    ('"Int32", default = 2.5', "12:23: default is not valid: 2.5 must be a whole"),
    ('"Date", default = "2026-02-30"', "default is not valid: 2026-02-30 "),
    ('"Boolean", default = 1', "12:25: default is not valid: 1 must be true or false"),
    ('"Decimal(5,2)", default = inf', "default is not valid: inf must be a number"),
    ('"Decimal(5,2)", maximum = 0.125', "maximum is not valid: 0.125 has more than 2"),
    ('"Int32", minimum = 3, maximum = 2, default = 3', "it exceeds maximum."),
    ('"Int32", maximum = 2, default = 3', "default is not valid: 3 must be between"),
    ('"Int32", minimum = 1', "default is not valid: 0 must be between 1 and"),
)


@together(
    ("old", "new", "fault"),
    [
        *((old, *each) for old, rows in FAULTS.items() for each in rows),
        *(('size = "Int32"', f"x = {{ type = {given} }}", fault) for given, fault in OF_A_PROPERTY),
    ],
)
def test_a_fault_has_its_place_and_a_remedy(old: str, new: str, fault: str) -> None:
    assert GOOD.count(old) == 1
    found = faults(GOOD.replace(old, new))
    assert any(fault in each for each in found), found
    assert all(each.startswith("own.toml:") for each in found)


@together(
    ("view", "fault"),
    [
        ('{ base = "owner", columns = { id = "id" } }', "owner is not a known entity set."),
        ('{ base = "owners", columns = { id = "x" } }', "x is not a known property of owners."),
        ('{ base = "owners", columns = { x = "id" } }', "the view has no column for id."),
        ('{ base = "seen", columns = { id = "id" } }', "the view seen is not read-only, or shows"),
    ],
)
def test_a_view_shows_properties_of_a_stored_set(view: str, fault: str) -> None:
    assert any(fault in each for each in faults(GOOD + VIEW.replace("{}", view)))


def test_filters_by_pairs_name_properties() -> None:
    found = faults(GOOD + PAIRS)
    assert [each.partition(". ")[0].rpartition(": ")[2] for each in found] == [
        "nam is not a known property of owners",
        "kode is not a known property of things",
    ]


def test_all_faults_are_reported_in_the_order_of_the_file() -> None:
    text = GOOD.replace('"Int32"', '"Int"').replace('"owners"', '"others"').replace("10", '"10"')
    assert [each.split(":")[1] for each in faults(text)] == ["12", "17", "24"]


def test_an_enumeration_has_members() -> None:
    text = GOOD.replace("length = 10", 'enum = "Level"')
    values = built(text).tables
    members = values.enums[values.tables["things"].fields["code"].enum]
    assert [name for name, _ in members] == ["None", "Gold"]
    (fault,) = faults(text.replace('["None", "Gold"]', "[]"))
    assert fault == "own.toml:34:1: the enumeration Level has no members. Add some."


@together(
    ("old", "new", "fault"),
    [
        ('"Int32"', '"Levl"', "12:1: Levl is not a known type. Did you mean Level?"),
        ('["None", "Gold"]', "[]", "34:1: the enumeration Level has no members. Add some."),
        ("Level =", "Thing =", "34:1: Thing has the name of thing. Choose another name."),
        ("Level =", "boolean =", "34:1: boolean has the name of Boolean. Choose another name."),
        ("Level =", "container =", "34:1: container has the name of Container."),
        ('"Gold"', '"gold", "Gold"', "34:1: Gold has the name of gold. Choose another name."),
        ('"Gold"', '"A-B"', "34:1: A-B is not a name of a member. Use letters, digits, _ and"),
        ('"Gold"', f'"{"x" * 101}"', "x is not a name of a member. Use letters, digits, _ and"),
    ],
)
def test_an_enumeration_is_a_type_if_its_names_are_valid(old: str, new: str, fault: str) -> None:
    text = GOOD.replace('name = "String"\nat', 'name = "Level"\nat')
    assert any(fault in each for each in faults(text.replace(old, new)))


def test_the_names_of_tables_and_columns_of_the_service_are_reserved() -> None:
    records = build_tables(MODEL).metadata.tables
    own = {*records, *control_tables().tables} - MODEL.by_name.keys()
    assert own <= set(RESERVED_SETS)
    columns = {each.name for each in records["itemsExt"].columns}
    assert columns - MODEL.by_name["itemsExt"].type.by_name.keys() < set(RESERVED_PROPERTIES)


def test_text_that_is_not_toml_is_refused() -> None:
    with pytest.raises(OperatorError, match=r"own.toml is not TOML: .* \(at line 1, column 10\)"):
        built("comptoir : 1")


def test_a_good_file_has_the_sets_that_it_declares() -> None:
    model = built(GOOD)
    assert [each.name for each in model.sets] == ["companies", "owners", "things"]
    code = model.by_name["things"].type.by_name["code"]
    assert (code.required, code.type.facets) == (True, {"MaxLength": 20})


def test_the_sets_of_the_interface_have_a_description_of_each_property() -> None:
    for each in MODEL.sets:
        assert each.type.description
        assert [p.name for p in each.type.properties if not p.description] == []
