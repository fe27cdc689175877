"""When secrets were last used: at most one write an hour for each."""

import asyncio
from collections.abc import Mapping

import pytest

from comptoir.auth.secret_uses import SAVE_AFTER, SecretKey, SecretUses
from comptoir.errors import DATABASE_UNREACHABLE, Refusal
from support.clocks import SetClock

HOUR = 1_800_000_000
ONE, OTHER = ("webshop", "1"), ("webshop", "2")


class Store:
    """Keeps what is saved, unless it is away."""

    def __init__(self) -> None:
        self.saved: list[Mapping[SecretKey, int]] = []
        self.is_away = False

    async def __call__(self, uses: Mapping[SecretKey, int]) -> None:
        if self.is_away:
            raise Refusal(DATABASE_UNREACHABLE, "The database is away", "Send it again.")
        self.saved.append(uses)


@pytest.fixture
def clock() -> SetClock:
    return SetClock(HOUR)


@pytest.fixture
def uses(clock: SetClock) -> SecretUses:
    return SecretUses(clock)


def test_a_secret_is_saved_once_an_hour(uses: SecretUses, clock: SetClock) -> None:
    store = Store()
    for minute in range(90):
        clock.now = HOUR + 60 * minute
        uses.note(*ONE)
        asyncio.run(uses.write(store))
    assert store.saved == [{ONE: HOUR}, {ONE: HOUR + 3_600}]


def test_uses_are_saved_together_after_some_time(uses: SecretUses, clock: SetClock) -> None:
    store = Store()
    uses.note(*ONE)
    clock.now += SAVE_AFTER - 1
    uses.note(*OTHER)
    asyncio.run(uses.write(store))
    assert store.saved == []
    clock.now += 1
    asyncio.run(uses.write(store))
    assert store.saved == [{ONE: HOUR, OTHER: HOUR}]


def test_what_is_left_is_saved_at_the_end(uses: SecretUses) -> None:
    store = Store()
    uses.note(*ONE)
    asyncio.run(uses.write(store, is_last=True))
    asyncio.run(uses.write(store, is_last=True))
    assert store.saved == [{ONE: HOUR}]


def test_a_failed_save_is_repeated(uses: SecretUses, clock: SetClock) -> None:
    store = Store()
    uses.note(*ONE)
    store.is_away = True
    with pytest.raises(Refusal):
        asyncio.run(uses.write(store, is_last=True))
    clock.now += 3_600
    uses.note(*ONE)
    uses.note(*OTHER)
    store.is_away = False
    asyncio.run(uses.write(store, is_last=True))
    assert store.saved == [{ONE: HOUR + 3_600, OTHER: HOUR + 3_600}]
