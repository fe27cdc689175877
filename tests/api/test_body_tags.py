"""The ETag in the body of an update, for clients that send no If-Match."""

import pytest

from support.batches import HTTP, documents, multipart
from support.client import Body, Record, record, tag_of
from support.companies import Company
from support.refusals import error_in, refusal
from support.repeats import repeatable, result
from support.samples import PATHS, SAMPLES, SHIPPING_AGENT, UNKNOWN, WRITABLE
from support.together import together

AGENT = f"shippingAgentsExt({SHIPPING_AGENT})"
BY_CODE = "shippingAgentsExt(code='DHL')"
STALE = 'W/"x"'

METHODS = pytest.mark.parametrize("method", ["PATCH", "PUT"])


def new(**more: object) -> dict[str, object]:
    return {"code": "DHL", "name": "New", **more}


@METHODS
@together("name", ["@odata.etag", "@etag"])
def test_an_update_is_guarded_by_the_tag_in_its_body(
    method: str, name: str, own_stock: Company
) -> None:
    """Syncfusion sends a record back as it was read."""
    for resource in WRITABLE:
        path = PATHS[resource]
        tag = tag_of(own_stock.get(path))

        answer = own_stock.request(method, path, body={**SAMPLES[resource], name: tag})

        assert record(answer)["@odata.etag"] == tag
        stale = own_stock.request(method, path, body={**SAMPLES[resource], name: STALE})
        assert tag in refusal(stale, "Request_EntityChanged", "If-Match").message


@METHODS
@pytest.mark.parametrize("path", [AGENT, BY_CODE])
def test_of_two_updates_with_one_tag_the_second_is_412(
    path: str, method: str, own_stock: Company
) -> None:
    tag = own_stock.record(AGENT)["@odata.etag"]
    body = new(**{"@odata.etag": tag})

    first, second = (own_stock.request(method, path, body=body) for _ in range(2))

    assert record(first)["name"] == "New"
    assert tag_of(first) != tag
    refusal(second, "Request_EntityChanged", "If-Match")


def test_the_header_takes_precedence_over_the_body(own_stock: Company) -> None:
    tag = tag_of(own_stock.get(AGENT))

    refused = own_stock.patch(AGENT, new(**{"@odata.etag": tag}), if_match=STALE)
    done = own_stock.patch(AGENT, new(**{"@odata.etag": STALE}), if_match=tag)
    overwritten = own_stock.patch(AGENT, {"name": "Third", "@odata.etag": 5}, if_match="*")

    refusal(refused, "Request_EntityChanged", "If-Match")
    assert record(done)["name"] == "New"
    assert record(overwritten)["name"] == "Third"


def test_a_duplicate_tag_is_400(own_stock: Company) -> None:
    tag = tag_of(own_stock.get(AGENT))

    both = own_stock.patch(AGENT, {"@odata.etag": tag, "@etag": tag, "name": "x"})
    twice = own_stock.patch(
        AGENT, b'{"@odata.etag": "W/\\"x\\"", "@odata.etag": "W/\\"x\\"", "name": "y"}'
    )

    assert "@odata.etag" in refusal(both, "BadRequest", "@etag").message
    refusal(twice, "BadRequest", "@odata.etag")


@METHODS
@together("body", [b"", b'\xff{"@odata.etag": "W/\\"x\\""}'])
def test_a_body_without_a_tag_is_428(body: bytes, method: str, own_stock: Company) -> None:
    """The precondition is checked before the syntax of the body."""
    answer = own_stock.request(method, AGENT, body=body)

    refusal(answer, "Request_PreconditionRequired", "If-Match")


def test_if_none_match_is_a_precondition_too(own_stock: Company) -> None:
    tag = tag_of(own_stock.get(AGENT))
    body = new(**{"@odata.etag": tag})

    exists = own_stock.patch(AGENT, body, headers={"If-None-Match": "*"})
    excluded = own_stock.patch(AGENT, body, headers={"If-None-Match": tag})
    created = own_stock.patch(
        f"shippingAgentsExt({UNKNOWN})",
        {"code": "NEW", "@odata.etag": STALE},
        headers={"If-None-Match": "*"},
    )
    updated = own_stock.patch(AGENT, body, headers={"If-None-Match": STALE})

    refusal(exists, "Request_EntityChanged", "If-None-Match")
    refusal(excluded, "Request_EntityChanged", "If-None-Match")
    assert record(created, 201)["code"] == "NEW"
    assert record(updated)["name"] == "New"


def test_only_updates_use_it(own_stock: Company) -> None:
    unit = own_stock.record(PATHS["unitsOfMeasureExt"])
    body: Body = {**SAMPLES["unitsOfMeasureExt"], "@odata.etag": unit["@odata.etag"]}

    refusal(own_stock.post("unitsOfMeasureExt", body), "Request_PreconditionRequired", "If-Match")
    deleted = own_stock.request("DELETE", PATHS["unitsOfMeasureExt"], body=body)
    refusal(deleted, "Request_PreconditionRequired", "If-Match")


@together("group", [{}, {"atomicityGroup": "g"}])
def test_an_update_in_a_batch_is_guarded_by_it(group: Record, own_stock: Company) -> None:
    tag = tag_of(own_stock.get(AGENT))
    part = {"method": "PATCH", "url": AGENT, **group}

    done = documents(own_stock, {"id": "1", **part, "body": new(**{"@odata.etag": tag})})["1"]
    refused = documents(
        own_stock,
        {"id": "1", **part, "body": {"code": "X"}, "headers": {"If-Match": "*"}},
        {"id": "2", **part, "body": {"name": "Lost", "@odata.etag": tag}},
    )

    assert done.read(Record)["name"] == "New"
    assert refused["2"].error.code == "Request_EntityChanged"
    assert own_stock.record(AGENT)["name"] == "New"
    assert own_stock.record(AGENT)["code"] == ("DHL" if group else "X")


@pytest.mark.parametrize("tag", [None, STALE])
def test_an_update_in_a_change_set_is_guarded_by_it(tag: str | None, own_stock: Company) -> None:
    tag = tag or tag_of(own_stock.get(AGENT))
    quoted = tag.replace('"', '\\"')
    text = f"""--batch_1
Content-Type: multipart/mixed; boundary=change_1

--change_1
{HTTP}
PUT {AGENT} HTTP/1.1
Content-Type: application/json;odata=verbose

{{"code": "DHL", "name": "New", "@odata.etag": "{quoted}"}}
--change_1--
--batch_1--
"""

    (answered,) = multipart(own_stock, text)

    if tag == STALE:
        assert error_in(answered.body).code == "Request_EntityChanged"
    else:
        assert [part.status for part in answered.parts] == [200]
    assert own_stock.record(AGENT)["name"] == ("DHL Systems" if tag == STALE else "New")


def test_a_repeat_of_an_update_that_it_guarded_is_recalled(own_stock: Company) -> None:
    headers = repeatable()
    body = new(**{"@odata.etag": tag_of(own_stock.get(AGENT))})
    changed = len(own_stock.changes())

    first, again = (own_stock.patch(AGENT, body, headers=headers) for _ in range(2))
    other = own_stock.patch(AGENT, new(**{"@odata.etag": STALE}), headers=headers)

    assert record(first) == record(again)
    assert result(first) == result(again) == "accepted"
    assert len(own_stock.changes()) == changed + 1
    assert other.status_code >= 400
    assert result(other) == "rejected"
