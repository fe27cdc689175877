"""Units of work: each is done whole or not at all, whatever becomes of its neighbours.

Units that wait together share a transaction, so these go to a store at once.
"""

import asyncio
from collections.abc import Sequence

from comptoir.app import open_store
from comptoir.config import Settings
from comptoir.errors import KEY_EXISTS, Refusal
from comptoir.plan.load import LoadPlan
from comptoir.store.bulk import Loaded
from support.office import Company
from support.service import Service

COUNT = 40


async def loaded_at_once(
    settings: Settings, plans: Sequence[LoadPlan]
) -> list[Loaded | BaseException]:
    """Give units to a store, close it before any is done, and tell what became of each."""
    store = open_store(settings)
    works = [asyncio.ensure_future(store.load(plan)) for plan in plans]
    await asyncio.sleep(0)
    await store.close()
    return await asyncio.gather(*works, return_exceptions=True)


def unit(company: Company, *codes: str) -> LoadPlan:
    """The unit that creates shipping agents with these codes."""
    return company.office.plan(company.stored, "shippingAgentsExt", [{"code": c} for c in codes])


def test_closing_a_store_finishes_what_it_accepted(company: Company, service: Service) -> None:
    plans = [unit(company, f"{number}a", f"{number}b") for number in range(COUNT)]

    outcomes = company.office.wait(loaded_at_once(service.settings, plans))

    assert outcomes == [Loaded(inserted=2)] * COUNT
    assert len(company.listed("shippingAgentsExt")) == 2 * COUNT
    assert len(company.changes()) == 2 * COUNT


def test_a_refused_unit_leaves_no_trace_and_its_neighbours_are_done(
    company: Company, service: Service
) -> None:
    """Every second unit breaks a unique rule with its last row, when others have been inserted."""
    plans: list[LoadPlan] = []
    for number in range(COUNT):
        plans.append(unit(company, f"{number}a", f"{number}b"))
        plans.append(unit(company, f"{number}c", f"{number}d", f"{number}d"))

    outcomes = company.office.wait(loaded_at_once(service.settings, plans))

    assert outcomes[::2] == [Loaded(inserted=2)] * COUNT
    for outcome in outcomes[1::2]:
        assert isinstance(outcome, Refusal)
        assert outcome.kind is KEY_EXISTS
    codes = sorted(str(each["code"]) for each in company.listed("shippingAgentsExt"))
    assert codes == sorted(f"{number}{letter}" for number in range(COUNT) for letter in "ab")
    changes = company.changes()
    assert [change.number for change in changes] == list(range(1, 2 * COUNT + 1))
    ids = {each["id"] for each in company.listed("shippingAgentsExt")}
    assert {change.record for change in changes} == ids
