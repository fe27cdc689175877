"""Units of work: each is done whole or not at all, whatever its neighbours do.

Writes that wait together share a transaction, so these go to the store at once.
"""

import asyncio
from collections.abc import Coroutine

import pytest

from comptoir.app import open_store
from comptoir.errors import KEY_EXISTS, Refusal
from support.client import record
from support.office import Company, Row
from support.service import Service

COUNT = 40


async def settled(works: list[Coroutine[object, None, None]]) -> list[BaseException | None]:
    """Do them at once; what became of each."""
    return await asyncio.gather(*works, return_exceptions=True)


def agents(number: int) -> list[Row]:
    return [{"code": f"{number}a"}, {"code": f"{number}b"}]


def test_a_refused_unit_leaves_no_trace_among_its_neighbours(company: Company) -> None:
    """Of every two units the second breaks a unique rule at its last row, rows before it done."""
    record(company.post("shippingAgentsExt", {"code": "taken"}), 201)
    works = []
    for number in range(COUNT):
        good, bad = agents(number), [{"code": f"{number}c"}, {"code": "taken", "name": "x"}]
        works.append(company.office.loading(company.stored, "shippingAgentsExt", good, "code"))
        works.append(company.office.loading(company.stored, "shippingAgentsExt", bad, "id"))

    outcomes = company.office.wait(settled(works))

    assert outcomes[::2] == [None] * COUNT
    for outcome in outcomes[1::2]:
        assert isinstance(outcome, Refusal)
        assert outcome.kind is KEY_EXISTS
    expected = {"taken", *(str(row["code"]) for n in range(COUNT) for row in agents(n))}
    kept = company.listed("shippingAgentsExt")
    assert {each["code"] for each in kept} == expected
    assert len(kept) == len(expected)
    numbers = [change.number for change in company.changes()]
    assert numbers == list(range(1, len(expected) + 1))
