"""Logins to the console of users of issuers."""

import asyncio

from comptoir.auth.audit import Actor
from comptoir.auth.records import ConsoleRole, Issuer, IssuerPolicy, Login, LoginPolicy
from comptoir.auth.verification import CLOCK_SKEW
from comptoir.config import Settings
from comptoir.features.console.logins import (
    CODE_SECONDS,
    Logins,
    NewSession,
    Session,
    SessionPolicy,
    new_secret,
)
from comptoir.store.store import Store
from support.event_loop import in_event_loop
from support.stores import opened

NOW = 1_800_000_000
HERE = "198.51.100.7"


def issuer_at(url: str, role: ConsoleRole = ConsoleRole.VIEWER) -> Issuer:
    console = LoginPolicy("console", "", {"Staff": role})
    terms = IssuerPolicy("api", ("RS256",), "scope", "roles", {}, {}, "", None, {}, login=console)
    return Issuer("keycloak", url, terms)


FIRST, SECOND = issuer_at("https://first.example.com"), issuer_at("https://second.example.com")


async def come_back(store: Store, code: str, issuer: Issuer, now: int = NOW) -> Session | None:
    """The session of a user of an issuer who finishes a login."""
    login = Login("keycloak:joe", ConsoleRole.VIEWER, None)
    new = NewSession(new_secret(), "", SessionPolicy(60, 60), now, Actor("", HERE))
    return await Logins(store.control).begin_once(code, issuer, login, new)


@in_event_loop
async def test_one_of_many_at_once_finishes_a_login(settings: Settings) -> None:
    """And none later, as long as a host with another clock would accept its cookie."""
    async with opened(settings) as one, opened(settings) as other:
        await one.control.add_issuer(FIRST, Actor("cli:test"))
        coming = [come_back(store, "a", FIRST) for _ in range(5) for store in (one, other)]
        assert [*map(bool, await asyncio.gather(*coming))].count(True) == 1
        last = NOW + CODE_SECONDS + CLOCK_SKEW - 1
        assert await come_back(one, "a", FIRST, last) is None
        assert await come_back(one, "b", FIRST, last) is not None


@in_event_loop
async def test_an_issuer_that_was_replaced_meanwhile(settings: Settings) -> None:
    """Another one has its name now, or it gives fewer rights; new keys do not replace it."""
    async with opened(settings) as store:
        operator = Actor("cli:test")
        await store.control.add_issuer(FIRST, operator)
        await store.control.remove_issuer(FIRST.name, operator)
        assert await come_back(store, "a", FIRST) is None
        await store.control.add_issuer(SECOND, operator)
        assert await come_back(store, "a", FIRST) is None
        assert await come_back(store, "a", issuer_at(SECOND.url, ConsoleRole.ADMIN)) is None
        await store.control.refresh_issuer(SECOND.name, operator)
        assert await come_back(store, "a", SECOND) is not None
