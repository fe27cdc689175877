"""Query options of writes, which apply to the response (OData Protocol 4.01, 11.4)."""

from support.client import record, tag_of
from support.companies import Company
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


def test_custom_options_are_ignored(own_stock: Company) -> None:
    answer = own_stock.request("PATCH", AGENT, "trace=1", {"name": "New"}, ANY)

    assert record(answer)["name"] == "New"
