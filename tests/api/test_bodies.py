"""Bodies that are refused, with code and target, and without a change."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from support.client import Body, record
from support.companies import Company
from support.databases import ON_SQLITE
from support.refusals import refusal
from support.samples import CONTACT, ITEM_ATTRIBUTE
from support.together import together

pytestmark = ON_SQLITE  # nothing of this is up to the database

CONTACT_PATH = f"contactsExt({CONTACT})"
ATTRIBUTE_PATH = f"itemAttributesExt({ITEM_ATTRIBUTE})"


@pytest.fixture(scope="module")
def kept(stocked: Company) -> Company:
    """A company that is checked to be unchanged after the test."""
    return stocked


@contextmanager
def nothing_changes(company: Company, *paths: str) -> Iterator[None]:
    before = [company.record(path) for path in paths]
    counts = [len(company.listed(path.partition("(")[0])) for path in paths]
    changed = company.changes()
    yield
    assert [company.record(path) for path in paths] == before
    assert [len(company.listed(path.partition("(")[0])) for path in paths] == counts
    assert company.changes() == changed


SYNTAX = {
    "empty": b"",
    "blank": b" \r\n\t",
    "broken": b'{"displayName": x}',
    "truncated": b'{"displayName": "Ann',
    "unquoted": b"{displayName: 'Ann'}",
    "a comma too many": b'{"displayName": "Ann",}',
    "more behind it": b'{"displayName": "Ann"} {"city": "Graz"}',
    "text behind it": b'{"displayName": "Ann"} x',
    "a comment": b'{"displayName": "Ann" /* why */}',
    "not UTF-8": b'{"displayName": "Ann\xff"}',
    "Latin-1": '{"displayName": "Zoë"}'.encode("latin-1"),
    "UTF-16": '{"displayName": "Ann"}'.encode("utf-16"),
    "an encoded surrogate": b'{"displayName": "\xed\xa0\x80"}',
    "a high surrogate alone": rb'{"displayName": "\ud83d"}',
    "a low surrogate alone": rb'{"displayName": "\ude00"}',
    "surrogates the wrong way round": rb'{"displayName": "\ude00\ud83d"}',
    "a half pair in a name": rb'{"\ud83d": "Ann"}',
    "a control character": b'{"displayName": "A\x01"}',
    "a raw NUL": b'{"displayName": "A\x00"}',
    "an array": b'[{"displayName": "Ann"}]',
    "an empty array": b"[]",
    "text": b'"Ann"',
    "a number": b"5",
    "true": b"true",
    "null": b"null",
    "NaN": b'{"privacyBlocked": NaN}',
    "100,000 nested arrays": b'{"displayName": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "100,000 nested objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "100,000 open arrays": b"[" * 100_000,
    "5,000 digits": b'{"privacyBlocked": ' + b"9" * 5_000 + b"}",
    "an endless exponent": b'{"privacyBlocked": 1e99999999999999999999}',
}


@together("name", SYNTAX)
def test_a_body_that_is_not_an_object_is_400(name: str, kept: Company) -> None:
    with nothing_changes(kept, CONTACT_PATH):
        refusal(kept.patch(CONTACT_PATH, SYNTAX[name], if_match="*"), "BadRequest")
        refusal(kept.post("contactsExt", SYNTAX[name]), "BadRequest")


@together("depth", range(900, 1_020, 5))
def test_a_duplicate_name_around_a_deep_value_is_400(depth: int, kept: Company) -> None:
    deep = b"[" * depth + b"]" * depth

    for value in (deep, deep.replace(b"[", b'{"a":').replace(b":}", b":1}").replace(b"]", b"}")):
        body = b'{"city": "Graz", "people": ' + value + b', "city": "Linz"}'
        refusal(kept.post("contactsExt", body), "BadRequest")


def test_a_number_of_many_digits_is_400_with_its_name(kept: Company) -> None:
    body = b'{"attributeId": "' + b"9" * 5_000 + b'"}'
    with nothing_changes(kept, ATTRIBUTE_PATH):
        refusal(kept.patch(ATTRIBUTE_PATH, body, if_match="*"), "BadRequest", "attributeId")
        refusal(kept.post("itemAttributesExt", body), "BadRequest", "attributeId")


def test_several_faults_are_reported_together(kept: Company) -> None:
    body: Body = {"city": 5, "languagecode": "x", "privacyBlocked": None, "state": "fine"}

    error = refusal(kept.patch(CONTACT_PATH, body, if_match="*"), "BadRequest", "city")

    assert [each.target for each in error.details] == ["city", "languagecode", "privacyBlocked"]
    assert "Did you mean languageCode?" in error.details[1].message


def test_only_the_first_of_very_many_faults_are_reported(kept: Company) -> None:
    """The rest of the body is not checked."""
    body = {f"name {number}": "x" for number in range(40_000)}

    error = refusal(kept.patch(CONTACT_PATH, body, if_match="*"), "BadRequest", "name 0")

    assert [detail.target for detail in error.details] == [f"name {n}" for n in range(20)]


def test_control_information_is_ignored(own_stock: Company) -> None:
    """A record may be sent back as it was read, with its control information."""
    read = own_stock.record(CONTACT_PATH)
    control: dict[str, object] = {
        "@odata.etag": 'W/"other"',
        "@odata.id": None,
        "@odata.type": 5,
        "city@odata.type": "#String",
        "@custom.term": {"a": [1]},
    }
    changed = own_stock.changes()

    answer = own_stock.patch(CONTACT_PATH, {**read, **control}, if_match="*")

    assert record(answer) == read
    assert own_stock.changes() == changed


@together("size", [0, 1])
def test_a_body_of_1_mib_is_read_and_of_one_byte_more_is_413(size: int, kept: Company) -> None:
    body = b'{"city": 5}'.ljust((1 << 20) + size)
    with nothing_changes(kept, CONTACT_PATH):
        answer = kept.patch(CONTACT_PATH, body, if_match="*")
        refusal(answer, "Request_BodyTooLarge" if size else "BadRequest")
        unguarded = kept.patch(CONTACT_PATH, body)
        refusal(unguarded, "Request_BodyTooLarge" if size else "Request_PreconditionRequired")
        as_text = kept.patch(CONTACT_PATH, body, "*", {"Content-Type": "text/plain"})
        refusal(as_text, "Request_UnsupportedMediaType")
