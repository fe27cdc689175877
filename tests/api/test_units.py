"""Units of work: each is done whole or not at all, whatever becomes of its neighbours.

Units that wait together share a transaction, so these go to a store at once.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from uuid import uuid4

import pytest

from comptoir.app import open_store
from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.errors.refusal import Refusal
from comptoir.errors.table import KEY_EXISTS, RECORD_NOT_FOUND
from comptoir.features.transfer.load_rows import Loaded, LoadPlan, load_steps
from comptoir.response.response import Response
from comptoir.service import GroupRefusedError, Request, Service
from comptoir.store.postgres import store as postgres_store
from comptoir.store.store import Store
from support.companies import Company
from support.direct import request_of
from support.service import Service as InProcess
from support.stores import opened

COUNT = 15
AGENTS = "shippingAgentsExt"


@pytest.fixture(autouse=True)
def patient_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stop gives up writes after a second, in which a busy machine may not finish them."""
    monkeypatch.setattr(postgres_store, "STOP_SECONDS", 60.0)


async def write_rows(store: Store, plan: LoadPlan) -> Loaded:
    return await store.transact(plan.company.id, partial(load_steps, plan))


async def loaded_at_once(
    settings: Settings, plans: Sequence[LoadPlan]
) -> list[Loaded | BaseException]:
    """Submit units, close the store before they run, and return their outcomes."""
    store = open_store(settings)
    works = [asyncio.ensure_future(write_rows(store, plan)) for plan in plans]
    await asyncio.sleep(0)
    await store.close()
    return await asyncio.gather(*works, return_exceptions=True)


def inserted(outcomes: Sequence[object]) -> list[object]:
    """The number of rows that each load has inserted; other outcomes as they are."""
    return [each.inserted if isinstance(each, Loaded) else each for each in outcomes]


def unit(company: Company, *codes: str) -> LoadPlan:
    """The unit that creates shipping agents with these codes."""
    return company.admin.plan(company.stored, AGENTS, [{"code": c} for c in codes])


def renaming(company: Company, key: str) -> Request:
    """The update of a shipping agent."""
    path = f"{AGENTS}({key})"
    return request_of(company, "PATCH", path, {"name": "changed"}, {"If-Match": "*"})


def test_closing_a_store_finishes_accepted_units(company: Company, service: InProcess) -> None:
    plans = [unit(company, f"{number}a", f"{number}b") for number in range(COUNT)]

    outcomes = company.admin.wait(loaded_at_once(service.settings, plans))

    assert inserted(outcomes) == [2] * COUNT
    assert len(company.listed(AGENTS)) == 2 * COUNT
    assert len(company.changes()) == 2 * COUNT


async def around(
    company: Company, settings: Settings, plan: LoadPlan, *requests: Request
) -> list[object]:
    """Send the first request, give a load to the same store, send the rest, all at once."""
    async with opened(settings) as store:
        service = Service(MODEL, store, settings)
        await store.company(company.id)
        first, *rest = map(service.handle, requests)
        return await asyncio.gather(first, write_rows(store, plan), *rest, return_exceptions=True)


def test_a_write_sees_the_load_before_it(company: Company, service: InProcess) -> None:
    key = str(uuid4())
    row = {"id": key, "code": "LOADED", "name": "loaded"}
    plan = company.admin.plan(company.stored, AGENTS, [row])
    change = renaming(company, key)
    create = request_of(company, "POST", AGENTS, {"code": "LOADED"})

    early, loaded, changed, created = company.admin.wait(
        around(company, service.settings, plan, change, change, create)
    )

    assert isinstance(early, Refusal)
    assert early.error is RECORD_NOT_FOUND
    assert inserted([loaded]) == [1]
    assert isinstance(changed, Response)
    assert isinstance(created, Refusal)
    assert created.error is KEY_EXISTS
    assert [each["name"] for each in company.listed(AGENTS)] == ["changed"]


def test_a_refused_unit_does_not_affect_the_others(company: Company, service: InProcess) -> None:
    """Every second unit breaks a unique rule with its last row."""
    plans: list[LoadPlan] = []
    for number in range(COUNT):
        plans.append(unit(company, f"{number}a", f"{number}b"))
        plans.append(unit(company, f"{number}c", f"{number}d", f"{number}d"))

    outcomes = company.admin.wait(loaded_at_once(service.settings, plans))

    assert inserted(outcomes[::2]) == [2] * COUNT
    for outcome in outcomes[1::2]:
        assert isinstance(outcome, Refusal)
        assert outcome.error is KEY_EXISTS
    codes = sorted(str(each["code"]) for each in company.listed(AGENTS))
    assert codes == sorted(f"{number}{letter}" for number in range(COUNT) for letter in "ab")
    changes = company.changes()
    assert [change.number for change in changes] == list(range(1, 2 * COUNT + 1))
    ids = {each["id"] for each in company.listed(AGENTS)}
    assert {change.record for change in changes} == ids


def test_a_refused_group_leaves_no_record_to_the_others(
    company: Company, service: InProcess
) -> None:
    """The last write may share a transaction with the group."""
    key = str(uuid4())
    change = renaming(company, key)
    record = {"id": key, "code": "TWICE"}

    async def run() -> list[object]:
        async with opened(service.settings) as store:
            running = Service(MODEL, store, service.settings)
            await store.company(company.id)
            group = running.atomic()
            with pytest.raises(Refusal, match="GET"):
                await group.add(request_of(company, "GET", AGENTS, {}))
            for body in (record, {"code": "TWICE"}):
                await group.add(request_of(company, "POST", AGENTS, body))
            first, last = (running.handle(change) for _ in range(2))
            return list(await asyncio.gather(first, group.commit(), last, return_exceptions=True))

    _, refused, missing = company.admin.wait(run())

    assert isinstance(refused, GroupRefusedError)
    assert isinstance(missing, Refusal)
    assert missing.error is RECORD_NOT_FOUND
    assert company.changes() == []


def test_a_cancelled_write_still_returns_its_outcome(company: Company, service: InProcess) -> None:
    async def run() -> Response:
        async with opened(service.settings) as store:
            await store.company(company.id)
            request = request_of(company, "POST", AGENTS, {"code": "SENT"})
            handling = Service(MODEL, store, service.settings).handle(request)
            write = asyncio.ensure_future(handling)
            await asyncio.sleep(0)
            assert write.cancel()
            return await write

    assert company.admin.wait(run()).status == 201
    assert [each["code"] for each in company.listed(AGENTS)] == ["SENT"]


def test_a_cancelled_load_stores_the_current_unit(company: Company, service: InProcess) -> None:
    plan = unit(company, "LOADED")

    async def run() -> BaseException | Loaded:
        async with opened(service.settings) as store:
            load = asyncio.ensure_future(write_rows(store, plan))
            await asyncio.sleep(0)
            assert load.cancel()
            (outcome,) = await asyncio.gather(load, return_exceptions=True)
        return outcome

    assert isinstance(company.admin.wait(run()), asyncio.CancelledError)
    assert [each["code"] for each in company.listed(AGENTS)] == ["LOADED"]
