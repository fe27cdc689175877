"""`Consistency-Token` and `Data-Access-Intent`: what writes give, and what reads may ask for.

What a replica makes of them, the tests of PostgreSQL say: without one, all reads are current.
"""

from collections.abc import Mapping

from support.batches import Entry, documents
from support.companies import Company
from support.replicas import token
from support.samples import SHIPPING_AGENT

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


def test_a_token_may_be_ahead_of_the_company(own_stock: Company) -> None:
    """The changes are lost, and the primary serves the read."""
    ahead = {"Consistency-Token": f"{own_stock.stored.incarnation}.{10**17}"}

    assert own_stock.get(AGENT, headers=ahead).status_code == 200
