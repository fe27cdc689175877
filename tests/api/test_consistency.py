"""`Consistency-Token` and `Data-Access-Intent`: what writes give, and what reads may ask for.

What a replica makes of them, the tests of PostgreSQL say: without one, all reads are current.
"""

from collections.abc import Mapping

from support.batches import Entry, documents
from support.client import record
from support.companies import Company
from support.refusals import refusal
from support.repeats import repeatable
from support.replicas import READ_ONLY, token
from support.samples import SHIPPING_AGENT
from support.service import Service
from support.together import together

AGENT = f"shippingAgentsExt({SHIPPING_AGENT})"


def number(headers: Mapping[str, str]) -> int:
    """The change number in a token."""
    return int(headers["Consistency-Token"].rpartition(".")[2])


def test_every_write_returns_the_token_of_its_change(own_stock: Company) -> None:
    before = len(own_stock.changes())
    answers = [
        own_stock.post("shippingAgentsExt", {"code": "UPS"}),
        own_stock.patch(AGENT, {"name": "New"}, if_match="*"),
        own_stock.patch(AGENT, {"name": "Newer"}, "*", {"Prefer": "return=minimal"}),
        own_stock.put(AGENT, {"code": "DHL"}, if_match="*"),
        own_stock.delete(AGENT, if_match="*"),
    ]

    assert [number(token(each)) for each in answers] == [before + n for n in range(1, 6)]
    assert [each.number for each in own_stock.changes()][-5:] == [before + n for n in range(1, 6)]


def test_a_write_that_changes_nothing_returns_the_last_token(own_stock: Company) -> None:
    """A client that keeps only the last token still sees its own writes."""
    last = token(own_stock.post("shippingAgentsExt", {"code": "UPS"}))

    assert token(own_stock.patch(AGENT, {}, if_match="*")) == last


def test_a_repeat_returns_the_first_token(company: Company) -> None:
    headers = repeatable()
    first = company.post("shippingAgentsExt", {"code": "UPS"}, headers)
    company.post("shippingAgentsExt", {"code": "DHL"})

    assert token(company.post("shippingAgentsExt", {"code": "UPS"}, headers)) == token(first)


def test_the_writes_of_a_group_return_the_token_of_the_group(company: Company) -> None:
    def create(code: str, group: str) -> Entry:
        return {
            "id": code,
            "atomicityGroup": group,
            "method": "POST",
            "url": "shippingAgentsExt",
            "headers": {"Content-Type": "application/json"},
            "body": {"code": code},
        }

    answers = documents(company, create("A", "g"), create("B", "g"), create("C", "h"))

    told = {name: each.headers["consistency-token"] for name, each in answers.items()}
    assert told["A"] == told["B"] == f"{company.stored.incarnation}.2"
    assert told["C"] == f"{company.stored.incarnation}.3"


def test_a_refused_write_returns_no_token(own_stock: Company) -> None:
    refused = own_stock.patch(AGENT, {"name": "New"}, if_match='W/"other"')

    assert refused.status_code == 412
    assert "consistency-token" not in refused.headers


@together("intent", ["ReadOnly", "READWRITE", " readonly"])
def test_reads_are_current_without_a_replica(own_stock: Company, intent: str) -> None:
    written = token(own_stock.patch(AGENT, {"name": "New"}, if_match="*"))
    headers = {"Data-Access-Intent": intent, **written}

    assert record(own_stock.get(AGENT, headers=headers))["name"] == "New"
    assert record(own_stock.get(AGENT, headers=written))["name"] == "New"
    assert own_stock.get("shippingAgentsExt", headers=headers).status_code == 200
    assert own_stock.get("$metadata", headers=headers).status_code == 200


def test_the_token_of_another_company_is_refused(own_stock: Company, service: Service) -> None:
    other = service.new_company()
    written = token(other.post("shippingAgentsExt", {"code": "UPS"}))

    for answer in (
        own_stock.get(AGENT, headers=written),
        own_stock.get("shippingAgentsExt/$count", headers={**READ_ONLY, **written}),
        own_stock.patch(AGENT, {"name": "New"}, "*", written),
    ):
        error = refusal(answer, "BadRequest", "Consistency-Token")
        assert "another company" in error.message
    assert service.client.get("companies", headers=written).status_code == 200


def test_a_token_may_be_ahead_of_the_company(own_stock: Company) -> None:
    """The changes are lost, and the primary serves the read."""
    ahead = {"Consistency-Token": f"{own_stock.stored.incarnation}.{10**17}"}

    assert own_stock.get(AGENT, headers=ahead).status_code == 200


def test_a_write_with_readonly_is_refused(own_stock: Company) -> None:
    for answer in (
        own_stock.post("shippingAgentsExt", {"code": "UPS"}, READ_ONLY),
        own_stock.patch(AGENT, {"name": "New"}, "*", READ_ONLY),
        own_stock.delete(AGENT, "*", READ_ONLY),
    ):
        refusal(answer, "BadRequest", "Data-Access-Intent")
    changed = own_stock.patch(AGENT, {"name": "New"}, "*", {"Data-Access-Intent": "ReadWrite"})
    assert record(own_stock.get(AGENT)) == record(changed)


def test_in_a_batch_the_headers_are_those_of_its_requests(own_stock: Company) -> None:
    change: Entry = {
        "id": "write",
        "method": "PATCH",
        "url": AGENT,
        "headers": {"If-Match": "*", "Content-Type": "application/json"},
        "body": {"name": "New"},
    }
    read: Entry = {"id": "read", "method": "GET", "url": AGENT}

    answers = documents(own_stock, change, read, headers=READ_ONLY)
    assert answers["write"].error.target == "Data-Access-Intent"
    assert answers["read"].status == 200

    spoilt = {**read, "headers": {"Consistency-Token": "none"}}
    answers = documents(own_stock, change, spoilt)
    assert answers["write"].status == 200
    assert answers["read"].error.target == "Consistency-Token"
    refused = own_stock.post("$batch", {"requests": [read]}, {"Data-Access-Intent": "none"})
    refusal(refused, "BadRequest", "Data-Access-Intent")
