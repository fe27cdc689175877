"""The failed logins to the console, which all processes count together, and users of issuers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from comptoir.app import open_store
from comptoir.auth.audit import Actor
from comptoir.auth.guesses import FREE_FAILURES
from comptoir.auth.logins import (
    CODE_SECONDS,
    MOST_GUESSES,
    ConsoleRole,
    Login,
    NewSession,
    Session,
    SessionTerms,
    new_secret,
)
from comptoir.auth.records import ConsoleTerms, Issuer, IssuerTerms
from comptoir.auth.verification import CLOCK_SKEW
from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.errors import Refusal
from comptoir.store.store import Store
from support.databases import FreshDatabase, run_sql

NOW = 1_800_000_000
HERE, ELSEWHERE = "198.51.100.7", "198.51.100.8"
OPENED, WRONG = "opened", "wrong"


@pytest.fixture
def url(fresh_database: FreshDatabase, tmp_path: Path) -> str:
    return fresh_database(tmp_path, MODEL)


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Store]:
    store = open_store(Settings(database=url))
    try:
        yield store
    finally:
        await store.close()


async def enter(store: Store, code: str = "", now: int = NOW, address: str = HERE) -> str:
    """What becomes of a code: opened, wrong, or the seconds to wait."""
    try:
        new = NewSession(new_secret(), "", SessionTerms(60, 60), now, Actor("", address))
        session = await store.control.logins.begin(code or new_secret(), new)
    except Refusal as refusal:
        return refusal.headers["Retry-After"]
    return WRONG if session is None else OPENED


async def code_of(store: Store) -> str:
    """A code that is valid for ten minutes."""
    code, login = new_secret(), Login("anna", ConsoleRole.VIEWER, None)
    await store.control.logins.add_code(code, login, NOW, Actor("cli:test"))
    return code


def test_five_of_many_at_once_are_looked_up(url: str) -> None:
    async def run() -> None:
        async with opened(url) as one, opened(url) as other:
            entering = [enter(store) for _ in range(10) for store in (one, other)]
            found = await asyncio.gather(*entering)
            assert sorted(found) == ["60"] * (20 - FREE_FAILURES) + [WRONG] * FREE_FAILURES

    asyncio.run(run())


def test_a_code_waits_until_a_minute_has_fewer_wrong_ones(url: str) -> None:
    async def run() -> None:
        async with opened(url) as store:
            code = await code_of(store)
            for second in range(FREE_FAILURES):
                assert await enter(store, now=NOW + second) == WRONG
            assert await enter(store, code, NOW + 10) == "50"
            assert await enter(store, now=NOW + 59) == "1"
            assert await enter(store, now=NOW + 60) == WRONG
            assert await enter(store, code, NOW + 60) == "1"
            assert await enter(store, code, NOW + 61) == OPENED

    asyncio.run(run())


@pytest.mark.parametrize(
    ("address", "found"),
    [
        (ELSEWHERE, OPENED),
        ("2001:db8:1:3::7", OPENED),
        ("2001:db8:1:2:ffff::8", "60"),
        (f"::ffff:{HERE}", "60"),
    ],
)
def test_only_the_network_of_the_address_waits(url: str, address: str, found: str) -> None:
    async def run() -> None:
        async with opened(url) as store:
            for _ in range(FREE_FAILURES):
                assert await enter(store) == WRONG
                assert await enter(store, address="2001:db8:1:2::7") == WRONG
            assert await enter(store, await code_of(store), address=address) == found

    asyncio.run(run())


async def fail(store: Store, issuer: str, now: int, address: str = HERE) -> str:
    """What becomes of a login with an issuer that fails: wrong, or the seconds to wait."""
    logins = store.control.logins
    try:
        await logins.check(address, issuer, now)
    except Refusal as refusal:
        return refusal.headers["Retry-After"]
    await logins.note_failed(address, issuer, now)
    return WRONG


def test_failed_logins_with_an_issuer_are_counted_by_all_processes(url: str) -> None:
    """For the issuer and the address together, apart from wrong codes."""

    async def run() -> None:
        async with opened(url) as one, opened(url) as other:
            for second in range(FREE_FAILURES):
                store = (one, other)[second % 2]
                assert await fail(store, "keycloak", NOW + second) == WRONG
            for store in (one, other):
                assert await fail(store, "keycloak", NOW + 10) == "50"
                assert await fail(store, "entra", NOW + 10) == WRONG
                assert await fail(store, "keycloak", NOW + 10, ELSEWHERE) == WRONG
                assert await enter(store, now=NOW + 10) == WRONG
            # two that waited for the issuer at once
            for store in (one, other):
                await store.control.logins.note_failed(HERE, "keycloak", NOW + 20)
            assert await fail(one, "keycloak", NOW + 60) == "2"
            assert await fail(other, "keycloak", NOW + 62) == WRONG

    asyncio.run(run())


def test_the_stored_codes_are_few_and_recent(url: str) -> None:
    numbers = {1: NOW, 2: NOW, 3: NOW, MOST_GUESSES: NOW, MOST_GUESSES + 1: NOW - 60}
    for number, at in numbers.items():
        # as earlier releases do
        adding = (
            "INSERT INTO console_guesses (number, network, at) VALUES (:number, 'network', :at)"
        )
        run_sql(url, adding, number=number, at=at)

    async def run() -> None:
        async with opened(url) as store:
            assert await enter(store) == WRONG

    asyncio.run(run())
    left = [number for (number,) in run_sql(url, "SELECT number FROM console_guesses ORDER BY 1")]
    assert left == [3, MOST_GUESSES, MOST_GUESSES + 2]


def issuer_at(url: str, role: ConsoleRole = ConsoleRole.VIEWER) -> Issuer:
    console = ConsoleTerms("console", "", {"Staff": role})
    terms = IssuerTerms("api", ("RS256",), "scope", "roles", {}, {}, "", None, {}, console=console)
    return Issuer("keycloak", url, terms)


FIRST, SECOND = issuer_at("https://first.example.com"), issuer_at("https://second.example.com")


async def come_back(store: Store, code: str, issuer: Issuer, now: int = NOW) -> Session | None:
    """The session of a user of an issuer who finishes a login."""
    login = Login("keycloak:joe", ConsoleRole.VIEWER, None)
    new = NewSession(new_secret(), "", SessionTerms(60, 60), now, Actor("", HERE))
    return await store.control.logins.begin_once(code, issuer, login, new)


def test_one_of_many_at_once_finishes_a_login(url: str) -> None:
    """And none later, as long as a host with another clock would accept its cookie."""

    async def run() -> None:
        async with opened(url) as one, opened(url) as other:
            await one.control.add_issuer(FIRST, Actor("cli:test"))
            coming = [come_back(store, "a", FIRST) for _ in range(5) for store in (one, other)]
            assert [*map(bool, await asyncio.gather(*coming))].count(True) == 1
            last = NOW + CODE_SECONDS + CLOCK_SKEW - 1
            assert await come_back(one, "a", FIRST, last) is None
            assert await come_back(one, "b", FIRST, last) is not None

    asyncio.run(run())


def test_an_issuer_that_was_replaced_meanwhile(url: str) -> None:
    """Another one has its name now, or it gives fewer rights; new keys do not replace it."""

    async def run() -> None:
        async with opened(url) as store:
            operator = Actor("cli:test")
            await store.control.add_issuer(FIRST, operator)
            await store.control.remove_issuer(FIRST.name, operator)
            assert await come_back(store, "a", FIRST) is None
            await store.control.add_issuer(SECOND, operator)
            assert await come_back(store, "a", FIRST) is None
            assert await come_back(store, "a", issuer_at(SECOND.url, ConsoleRole.ADMIN)) is None
            await store.control.refresh_issuer(SECOND.name, operator)
            assert await come_back(store, "a", SECOND) is not None

    asyncio.run(run())
