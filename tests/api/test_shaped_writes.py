"""Query options of writes, which apply to the response (OData Protocol 4.01, 11.4)."""

import pytest

from support.client import record, tag_of
from support.companies import Company
from support.refusals import refusal
from support.samples import PATHS

AGENT = PATHS["shippingAgentsExt"]
ANY = {"If-Match": "*"}


def test_select_applies_to_the_response_of_a_write(own_stock: Company) -> None:
    query = "$select=name"
    answers = {
        201: own_stock.request("POST", "shippingAgentsExt", query, {"code": "UPS"}),
        200: own_stock.request("PATCH", AGENT, query, {"name": "New"}, ANY),
    }

    for status, answer in answers.items():
        shown = record(answer, status)
        assert [name for name in shown if name[0] != "@"] == ["name"]
        assert shown["@odata.etag"] == tag_of(answer)
    assert own_stock.record(AGENT)["name"] == "New"
    whole = record(own_stock.request("PUT", AGENT, "select=*", {"code": "A"}, ANY))
    assert [name for name in whole if name[0] != "@"] == ["id", "code", "name"]


@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT"])
@pytest.mark.parametrize(
    ("query", "code", "target"),
    [
        ("$expand=people", "BadRequest_MethodNotImplemented", "$expand"),
        ("$select=nothing", "BadRequest_InvalidRequestUrl", "$select"),
        ("$filter=city eq 'x'", "BadRequest_InvalidRequestUrl", "$filter"),
        ("$top=1", "BadRequest_InvalidRequestUrl", "$top"),
        ("$orderby=city", "BadRequest_InvalidRequestUrl", "$orderby"),
    ],
)
def test_invalid_options_are_refused_before_the_write(
    query: str, code: str, target: str, method: str, stocked: Company
) -> None:
    path, changed = PATHS["contactsExt"], stocked.changes()

    answer = stocked.request(
        method, "contactsExt" if method == "POST" else path, query, {"displayName": "x"}, ANY
    )

    refusal(answer, code, target)
    assert stocked.changes() == changed


@pytest.mark.parametrize("query", ["$select=name", "$top=1", "$expand=people"])
def test_a_delete_refuses_options(query: str, stocked: Company) -> None:
    answer = stocked.request("DELETE", AGENT, query, headers=ANY)

    refusal(answer, "BadRequest_InvalidRequestUrl", query.partition("=")[0])


def test_custom_options_are_ignored(own_stock: Company) -> None:
    answer = own_stock.request("PATCH", AGENT, "trace=1", {"name": "New"}, ANY)

    assert record(answer)["name"] == "New"
