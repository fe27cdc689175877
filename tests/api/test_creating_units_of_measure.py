"""Operation 6: creating a unit of measure requires a precondition."""

from support.client import Record, record
from support.companies import Company
from support.refusals import refusal
from support.together import together

BOX: Record = {"code": "BOX", "displayName": "Box"}
PCS: Record = {"code": "PCS", "displayName": "Another piece"}
STALE = 'W/"0.0"'


def test_a_tag_that_the_existing_code_does_not_have_is_412(own_stock: Company) -> None:
    before = own_stock.record("unitsOfMeasureExt('PCS')")
    changed = own_stock.changes()

    error = refusal(
        own_stock.post("unitsOfMeasureExt", PCS, {"If-Match": STALE}), "Request_EntityChanged"
    )

    assert str(before["@odata.etag"]) in error.message
    assert own_stock.record("unitsOfMeasureExt('PCS')") == before
    assert own_stock.changes() == changed


@together("guard", ["its own", "*"])
def test_an_existing_code_is_409_when_the_precondition_holds(
    guard: str, own_stock: Company
) -> None:
    before = own_stock.record("unitsOfMeasureExt('PCS')")
    held = str(before["@odata.etag"]) if guard == "its own" else guard

    answer = own_stock.post("unitsOfMeasureExt", PCS, {"If-Match": held})

    refusal(answer, "Internal_EntityWithSameKeyExists", "code")
    assert own_stock.record("unitsOfMeasureExt('PCS')") == before


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
