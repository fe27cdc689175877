"""Operation 6: creating a unit of measure requires a precondition."""

import pytest

from support.client import Record, record
from support.companies import Company
from support.refusals import refusal
from support.together import together

BOX: Record = {"code": "BOX", "displayName": "Box"}
PCS: Record = {"code": "PCS", "displayName": "Another piece"}
STALE = 'W/"0.0"'
PROTOCOL = ({"OData-Version": "4.0"}, {"OData-MaxVersion": "4.01"})


def test_a_create_without_a_precondition_is_428(company: Company) -> None:
    answer = company.post("unitsOfMeasureExt", BOX)

    refusal(answer, "Request_PreconditionRequired", "If-Match")
    assert company.listed("unitsOfMeasureExt") == []
    assert company.changes() == []


@pytest.mark.parametrize("named", PROTOCOL)
def test_a_client_that_names_the_protocol_needs_no_precondition(
    named: dict[str, str], company: Company
) -> None:
    record(company.post("unitsOfMeasureExt", BOX, named), 201)


@pytest.mark.parametrize("guard", [STALE, "*", '"x", W/"y"'])
def test_a_new_code_is_created_whatever_the_tag(guard: str, company: Company) -> None:
    record(company.post("unitsOfMeasureExt", BOX, {"If-Match": guard}), 201)


def test_a_new_code_is_created_if_none_may_match(company: Company) -> None:
    record(company.post("unitsOfMeasureExt", BOX, {"If-None-Match": "*"}), 201)


def test_a_tag_that_the_existing_code_does_not_have_is_412(own_stock: Company) -> None:
    before = own_stock.record("unitsOfMeasureExt('PCS')")
    changed = own_stock.changes()

    error = refusal(
        own_stock.post("unitsOfMeasureExt", PCS, {"If-Match": STALE}), "Request_EntityChanged"
    )

    assert str(before["@odata.etag"]) in error.message
    assert own_stock.record("unitsOfMeasureExt('PCS')") == before
    assert own_stock.changes() == changed


def test_an_existing_code_is_412_if_none_may_match(own_stock: Company) -> None:
    answer = own_stock.post("unitsOfMeasureExt", PCS, {"If-None-Match": "*"})

    refusal(answer, "Request_EntityChanged")


@together("guard", ["its own", "*"])
def test_an_existing_code_is_409_when_the_precondition_holds(
    guard: str, own_stock: Company
) -> None:
    before = own_stock.record("unitsOfMeasureExt('PCS')")
    held = str(before["@odata.etag"]) if guard == "its own" else guard

    answer = own_stock.post("unitsOfMeasureExt", PCS, {"If-Match": held})

    refusal(answer, "Internal_EntityWithSameKeyExists", "code")
    assert own_stock.record("unitsOfMeasureExt('PCS')") == before


def test_an_existing_code_is_409_for_a_client_that_names_the_protocol(own_stock: Company) -> None:
    answer = own_stock.post("unitsOfMeasureExt", PCS, PROTOCOL[0])

    refusal(answer, "Internal_EntityWithSameKeyExists", "code")


def test_a_create_without_a_time_gets_the_current_time(company: Company) -> None:
    created = record(company.post("unitsOfMeasureExt", BOX, {"If-Match": "*"}), 201)

    assert created["lastModifiedDateTime"] == company.changes()[0].at


def test_an_update_ignores_a_sent_time(own_stock: Company) -> None:
    """Only a create stores a sent `lastModifiedDateTime`."""
    sent = {"symbol": "x", "lastModifiedDateTime": "2019-04-03T10:20:30.123Z"}

    updated = record(own_stock.patch("unitsOfMeasureExt('PCS')", sent, if_match="*"))

    assert updated["lastModifiedDateTime"] == own_stock.changes()[-1].at


@together(
    ("code", "address"),
    [
        ("A/B", "'A%2FB'"),
        ("it's", "'it''s'"),
        ("m² (é)", "'m%C2%B2%20%28%C3%A9%29'"),
        ("50%", "'50%25'"),
        ("a,b=c", "'a%2Cb%3Dc'"),
        ("?#&+", "'%3F%23%26%2B'"),
        ("中文😀", "'%E4%B8%AD%E6%96%87%F0%9F%98%80'"),
    ],
)
def test_every_code_has_an_address(code: str, address: str, company: Company) -> None:
    """The address in `Location` reads the record, for any code."""
    answer = company.post("unitsOfMeasureExt", {"code": code}, {"If-Match": "*"})

    created = record(answer, 201)
    assert answer.headers["location"] == f"{company.root}/unitsOfMeasureExt({address})"
    assert record(company.follow(answer.headers["location"])) == created


def test_the_named_form_of_the_key_works_too(own_stock: Company) -> None:
    plain = own_stock.record("unitsOfMeasureExt('PCS')")

    assert own_stock.record("unitsOfMeasureExt(code='PCS')") == plain


def test_codes_differ_by_case(own_stock: Company) -> None:
    """Text is compared by code point: `pcs` and `PCS` are different units."""
    record(own_stock.post("unitsOfMeasureExt", {"code": "pcs"}, {"If-Match": "*"}), 201)

    assert own_stock.record("unitsOfMeasureExt('PCS')")["displayName"] == "Piece"
    assert own_stock.record("unitsOfMeasureExt('pcs')")["displayName"] == ""
