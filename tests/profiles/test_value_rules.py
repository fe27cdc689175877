"""What the fields of Business Central refuse: a case for each rule in the data."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest
from httpx import Response

from comptoir.catalog import MODEL
from comptoir.edm.types import encoded_name
from comptoir.profiles.record import FieldOptions, NamedOptions
from support.client import Record, record
from support.companies import Company
from support.databases import FreshDatabase
from support.refusals import error_in
from support.service import Service
from support.together import together

NEW: dict[str, Record] = {
    "campaignsExt": {"number": "C-1"},
    "contactsExt": {"displayName": "Al"},
    "itemAttributesExt": {"name": "Colour"},
    "itemAttributeValuesExt": {"itemNo": "I-1", "attributeName": "Colour"},
    "itemReferencesExt": {"itemNo": "I-1", "referenceNo": "R-1"},
    "itemsExt": {"number": "I-1"},
    "itemTranslationsExt": {"itemNo": "I-1", "languageCode": "ENU"},
    "shippingAgentsExt": {"code": "A-1"},
    "unitsOfMeasureExt": {"code": "U-1"},
}
"""The least that a new record of each writable set needs; `itemsExt` first where it is named."""

OTHER: Record = {
    "attributeId": 70,
    "attributeName": "Size",
    "languageCode": "DES",
    "number": "N-2",
    "referenceNo": "R-2",
    "code": "A-2",
}
"""Other values of identification fields."""

EMPTY = {"attributeId": "0", "referenceType": " "}
"""The empty values of identification fields that are not an empty text."""

CAPTIONS: Mapping[object, str] = {"_x0020_": " ", "Bar_x0020_Code": "Bar Code"}
"""The captions of options, which messages contain instead of their names."""

Field = tuple[str, str, FieldOptions]
FIELDS: list[Field] = [
    (name, field, rule)
    for name in NEW
    for field, rule in MODEL.tables.tables[name].fields.items()
    if field != MODEL.by_name[name].type.key
]
REQUIRED = [
    (name, field)
    for name in NEW
    for field, rule in MODEL.tables.tables[name].fields.items()
    if rule.required or MODEL.by_name[name].type.by_name[field].required
]


@pytest.fixture(scope="module")
def company(services: Mapping[str, Service]) -> Company:
    """A company with a record of each set."""
    return services["business-central"].new_company()


@pytest.fixture(scope="module")
def paths(company: Company) -> dict[str, str]:
    """The path of a record of each set."""
    keys = {}
    for name in ("itemsExt", *NEW):
        if name not in keys:
            created = company.post(name, NEW[name])
            keys[name] = created.headers["location"].partition(f"{company.id})/")[2]
    return keys


def check_refused(
    company: Company, paths: dict[str, str], name: str, sent: Record, code: str, message: str
) -> None:
    """A create and an update with the values are refused, and the record stays as it is."""
    before = company.record(paths[name])
    for response in (
        company.post(name, {**NEW[name], **sent}),
        company.patch(paths[name], sent, if_match="*"),
    ):
        assert response.status_code == 400, response.text
        error = error_in(response.content)
        assert (error.code, error.message.partition("  Correlation")[0]) == (code, message)
    assert company.record(paths[name]) == before


@together("case", (each for each in FIELDS if each[2].length is not None))
def test_a_text_over_its_length(case: Field, company: Company, paths: dict[str, str]) -> None:
    name, field, rule = case
    assert rule.length is not None
    text = "X" * (rule.length + 1)
    message = (
        f"The length of the string is {len(text)}, but it must be less than or equal to "
        f"{rule.length} characters. Value: {text}"
    )
    code = "Application_StringExceededLength"
    check_refused(company, paths, name, {field: text}, code, message)


@together("case", (each for each in FIELDS if each[2].enum))
def test_only_options_are_accepted(case: Field, company: Company, paths: dict[str, str]) -> None:
    name, field, rule = case
    options = ",".join(caption for _, caption in MODEL.tables.enums[rule.enum])
    message = f"'Nobody' is not an option. The existing options are: {options}"
    check_refused(company, paths, name, {field: "Nobody"}, "Unknown", message)
    for member, _ in MODEL.tables.enums[rule.enum]:
        changed = company.patch(paths[name], {field: member}, if_match="*")
        assert record(changed)[field] == encoded_name(member)


def identity(name: str, known: Mapping[str, object], form: str) -> str:
    """The identification fields of a record, as messages have them."""
    entity_type, fields = MODEL.by_name[name].type, MODEL.tables.tables[name].fields
    values = {**EMPTY, **known}
    return ",".join(
        form.format(fields[each].caption, CAPTIONS.get(values.get(each, ""), values.get(each, "")))
        for each in entity_type.identification
    )


@together(("name", "field"), REQUIRED)
def test_a_required_property_that_is_missing_or_empty(
    name: str, field: str, company: Company, paths: dict[str, str]
) -> None:
    table = MODEL.tables.tables[name]
    message = f"{table.fields[field].caption} must have a value in {table.caption}: {{}}. "
    message += "It cannot be zero or empty."
    lacking = {other: value for other, value in NEW[name].items() if other != field}
    for sent in (lacking, {**lacking, field: ""}, {**lacking, field: " "}):
        if sent.get(field) == " " and not table.fields[field].code:
            continue
        created = error_in(company.post(name, sent, {"If-Match": "*"}).content)
        assert created.code == "Application_FieldValidationException"
        assert created.message.startswith(message.format(identity(name, lacking, "{}={}")))
    if field != MODEL.by_name[name].type.key:
        before = company.record(paths[name])
        refused = error_in(company.patch(paths[name], {field: ""}, if_match="*").content)
        assert refused.code == "Application_FieldValidationException"
        assert refused.message.startswith(message.format(identity(name, before, "{}={}")))
        assert company.record(paths[name]) == before


@together("name", (each for each in NEW if each != "contactsExt"))
def test_a_record_that_exists(name: str, company: Company, paths: dict[str, str]) -> None:
    """And, where the identification may change, an update to that of another record."""
    entity_type = MODEL.by_name[name].type
    stored = company.record(paths[name])
    same = {each: stored[each] for each in entity_type.identification}
    others = {each: OTHER[each] for each in same if each in OTHER}
    message = f"The record in table {MODEL.tables.tables[name].caption} already exists. "
    message += "Identification fields and values: " + identity(name, same, "{}='{}'")
    responses = [company.post(name, {**NEW[name], **same}, {"If-Match": "*"})]
    if entity_type.key not in same:
        other = record(company.post(name, {**NEW[name], **same, **others}), 201)
        responses.append(company.patch(f"{name}({other['id']})", same, if_match="*"))
    for response in responses:
        error = error_in(response.content)
        assert (response.status_code, error.code) == (400, "Internal_EntityWithSameKeyExists")
        assert error.message.partition("  Correlation")[0] == message


def test_one_of_two_creates_at_once_succeeds(fresh_database: FreshDatabase, tmp_path: Path) -> None:
    """Also if two services use the database: the second one waits, and then sees the record."""
    with ExitStack() as opened:
        one, other = (
            opened.enter_context(Service(fresh_database, tmp_path, profile="business-central"))
            for _ in range(2)
        )
        company = one.new_company()
        codes = [f"A-{number}" for number in range(20)]
        sent = [company.build("POST", "shippingAgentsExt", body={"code": each}) for each in codes]
        with ThreadPoolExecutor() as threads:
            pairs = list(
                zip(*threads.map(lambda each: each.send_all(sent), (one, other)), strict=True)
            )
        for code, pair in zip(codes, pairs, strict=True):
            created, refused = sorted(pair, key=lambda response: response.status_code)
            assert (created.status_code, refused.status_code) == (201, 400)
            error = error_in(refused.content)
            assert error.code == "Internal_EntityWithSameKeyExists"
            assert f"values: Code='{code}'" in error.message
        assert sorted(str(each["code"]) for each in company.listed("shippingAgentsExt")) == sorted(
            codes
        )


RELATED = [(*each[:2], each[2].names) for each in FIELDS if each[2].names is not None]
numbers = count()


@together(("name", "field", "relation"), RELATED)
def test_a_code_that_names_no_record(
    name: str, field: str, relation: NamedOptions, company: Company, paths: dict[str, str]
) -> None:
    """It is accepted once the record exists; only customers cannot be created by clients."""
    table, target = MODEL.tables.tables[name], MODEL.tables.tables[relation.set]
    code = f"R-{next(numbers)}"
    sent: Record = {field: code}
    sent.update(relation.when)
    message = (
        f"The field {table.fields[field].caption} of table {table.caption} contains a value "
        f"({code}) that cannot be found in the related table ({target.caption})."
    )
    check_refused(company, paths, name, sent, "Internal_InvalidTableRelation", message)
    if relation.set in NEW:
        named = {**NEW[relation.set], **relation.only, relation.by: code}
        record(company.post(relation.set, named, {"If-Match": "*"}), 201)
    else:
        company.load(relation.set, {relation.by: code})
    assert record(company.patch(paths[name], sent, if_match="*"))[field] == code


STORED: Record = {
    "displayName": "X" * 101,
    "city": "Llanfairpwllgwyngyllgogerychwyrn",
    "searchName": "x" * 101,
    "type": "Club",
    "email": "nobody",
    "phoneNumber": "1-800-CALL",
    "mobilePhoneNumber": "9" * 31,
}
"""Values of a contact that a file may have, and the profile accepts from no client."""


@pytest.mark.parametrize("method", ["PATCH", "PUT"])
def test_an_update_may_repeat_a_stored_value(method: str, company: Company) -> None:
    """Another such value is refused, and so is the same one in a create."""
    number = f"C-{method}"
    company.load("contactsExt", {"number": number, **STORED})
    (stored,) = company.listed("contactsExt", {"$filter": f"number eq '{number}'"})
    path, guarded = f"contactsExt({stored['id']})", {"If-Match": "*"}

    def update(sent: Record) -> Response:
        return company.request(method, path, body=sent, headers=guarded)

    assert {name: stored[name] for name in STORED} == STORED
    for name, value in STORED.items():
        assert record(update({name: value}))["@odata.etag"] == stored["@odata.etag"]
        for refused in (
            update({name: f"{value}x"}),
            company.post("contactsExt", {"displayName": "Al", name: value}),
        ):
            assert refused.status_code == 400, refused.text
    changed = record(update({**STORED, "name2": "Two"}))
    assert {name: changed[name] for name in STORED} == STORED
    assert changed["name2"] == "Two"
    assert changed["lastModifiedDateTime"] != stored["lastModifiedDateTime"]
    changed = record(update({"displayName": "Al", "searchName": STORED["searchName"]}))
    assert (changed["displayName"], changed["searchName"]) == ("Al", STORED["searchName"])


@together("case", (each for each in FIELDS if each[2].form not in ("", "phone")))
def test_an_address_that_is_not_valid(case: Field, company: Company, paths: dict[str, str]) -> None:
    name, field, _ = case
    for text in ("al", "@example.com", "al@", "al@example@com", "al@example.com;b o@a.com"):
        message = f'The email address "{text.rpartition(";")[2]}" is not valid.'
        code = "Application_DialogException"
        check_refused(company, paths, name, {field: text}, code, message)
    for text in ("al@example.com", "al@example.com; bo@example.com", ""):
        assert record(company.patch(paths[name], {field: text}, "*"))[field] == text


@together("case", (each for each in FIELDS if each[2].form == "phone"))
def test_a_phone_number_with_letters(case: Field, company: Company, paths: dict[str, str]) -> None:
    name, field, rule = case
    before = company.record(paths[name])
    for response, known in (
        (company.post(name, {**NEW[name], field: "1-800-CALL"}), NEW[name]),
        (company.patch(paths[name], {field: "1-800-CALL"}, if_match="*"), before),
    ):
        error = error_in(response.content)
        assert error.code == "Application_DialogException"
        assert error.message.partition("  Correlation")[0] == (
            f"{rule.caption} must not contain letters in {MODEL.tables.tables[name].caption} "
            + identity(name, known, "{}='{}'")
            + "."
        )
    assert record(company.patch(paths[name], {field: "+49 (731) 12-3"}, "*"))[field]
