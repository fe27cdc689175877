"""What becomes of the known tokens of an outside issuer, whose keys and terms change."""

import asyncio

import pytest
from msgspec.structs import replace

from auth.issuer_source import Source
from auth.token_forger import AUDIENCE, ISSUER, NOW, TokenForger, new_key
from comptoir.auth.authentication import Authenticator
from comptoir.auth.issuers import IssuerKeys, OutsideIssuers
from comptoir.auth.keys import KeyRing
from comptoir.auth.records import Issuer, IssuerPolicy, RegistrySnapshot
from comptoir.auth.roles import Principal, Roles
from comptoir.auth.verification import CLOCK_SKEW, TokenVerifier
from comptoir.errors.refusal import ErrorType, Refusal
from comptoir.errors.table import INVALID_CREDENTIALS, ISSUER_UNREACHABLE
from support.clients import NO_LIMITS
from support.clocks import SetClock
from support.event_loop import in_event_loop

HOUR, DAY = 3_600, 86_400
LOGIN = Issuer(
    "login",
    ISSUER,
    IssuerPolicy(
        audience=AUDIENCE,
        algorithms=("ES256",),
        scope_claim="scope",
        roles_claim="roles",
        scopes={},
        roles={},
        companies_claim="",
        companies=(),
        required={},
    ),
)


class Registry:
    """A registry whose state the test sets."""

    def __init__(self) -> None:
        self.known = RegistrySnapshot(1, {}, Roles((), ()), frozenset(), {})
        self.revoked = self.known.revoked
        self.trust(LOGIN)

    def trust(self, *issuers: Issuer) -> None:
        self.known = replace(self.known, issuers={each.url: each for each in issuers})

    async def refresh(self) -> RegistrySnapshot:
        return self.known


class Trusting:
    """An authenticator that trusts one issuer, with clocks that are set."""

    def __init__(self, keys: KeyRing) -> None:
        self.clock = SetClock(NOW)
        self.forger = TokenForger(keys, self.clock)
        self.source = Source()
        self.registry = Registry()
        outside = OutsideIssuers(self._keys_of, self.clock)
        verifier = TokenVerifier(keys.trusted.get, "own", AUDIENCE, clock=self.clock)
        self.authenticator = Authenticator(verifier, self.registry, NO_LIMITS, outside)

    def _keys_of(self, url: str) -> IssuerKeys:
        forget = self.authenticator.forget
        return IssuerKeys(url, self.source.fetch, DAY, forget, self.clock)

    def token(self, kid: str = "a", **claims: object) -> bytes:
        forged = self.forger.forge(claims, {"kid": kid}, self.source.keys[kid])
        return b"Bearer " + forged.encode()

    async def principal(self, token: bytes) -> Principal:
        return await self.authenticator.authenticate(token)

    async def refused(self, token: bytes, error: ErrorType) -> str:
        with pytest.raises(Refusal) as caught:
            await self.principal(token)
        assert caught.value.error is error
        return caught.value.message


@pytest.fixture
def trusting(keys: KeyRing) -> Trusting:
    return Trusting(keys)


@in_event_loop
async def test_a_known_token_is_accepted_without_a_yield_to_the_event_loop(
    trusting: Trusting,
) -> None:
    token = trusting.token()
    principal = await trusting.principal(token)
    assert principal.subject == "login:tests"
    assert principal.scopes == {"records.read"}
    # other services may mean something else by these names
    others = await trusting.principal(trusting.token(scope="records.read events admin"))
    assert others.scopes == {"records.read"}
    with pytest.raises(StopIteration) as returned:
        trusting.principal(token).send(None)
    assert returned.value.value is principal


@in_event_loop
async def test_known_tokens_keep_the_keys_fresh(trusting: Trusting) -> None:
    """And find out that a key was withdrawn, if no other token does."""
    former = trusting.token(exp=NOW + DAY)
    await trusting.principal(former)
    trusting.source.keys = {"b": new_key()}
    trusting.clock.now = NOW + HOUR - 1
    await trusting.principal(former)
    assert trusting.source.fetches == 1
    trusting.clock.now = NOW + HOUR
    await trusting.principal(former)
    await trusting.source.settled()
    assert "(kid) is not one of" in await trusting.refused(former, INVALID_CREDENTIALS)


@in_event_loop
async def test_known_tokens_of_an_issuer_that_is_away_too_long_are_unavailable(
    trusting: Trusting,
) -> None:
    token = trusting.token(exp=NOW + 10 * DAY)
    await trusting.principal(token)
    trusting.source.is_away = True
    for seconds in (HOUR, HOUR + 1, HOUR + DAY - 1):
        trusting.clock.now = NOW + seconds
        await trusting.principal(token)
        await trusting.source.settled()
    trusting.clock.now = NOW + HOUR + DAY
    await trusting.refused(token, ISSUER_UNREACHABLE)


@in_event_loop
async def test_a_known_token_ends_a_minute_after_its_end(trusting: Trusting) -> None:
    token = trusting.token(exp=NOW + 10)
    await trusting.principal(token)
    trusting.clock.now = NOW + 10 + CLOCK_SKEW - 1
    await trusting.principal(token)
    trusting.clock.now += 1
    assert "expired" in await trusting.refused(token, INVALID_CREDENTIALS)


@in_event_loop
async def test_other_terms_bind_known_tokens(trusting: Trusting) -> None:
    token = trusting.token(scp="records.write")
    await trusting.principal(token)
    trusting.registry.trust(
        replace(LOGIN, terms=replace(LOGIN.terms, scope_claim="scp")),
        replace(LOGIN, name="other", url="https://other.example"),
    )
    assert (await trusting.principal(token)).scopes == {"records.write"}
    trusting.registry.trust(replace(LOGIN, name="renamed"))
    assert (await trusting.principal(token)).subject == "renamed:tests"
    trusting.registry.trust()
    await trusting.refused(token, INVALID_CREDENTIALS)
    assert trusting.source.fetches == 1


@in_event_loop
async def test_an_issuer_that_is_removed_during_a_fetch_is_not_trusted(trusting: Trusting) -> None:
    trusting.source.gate.clear()
    waiting = asyncio.ensure_future(trusting.principal(trusting.token()))
    await trusting.source.settled()
    trusting.registry.trust()
    trusting.source.gate.set()
    with pytest.raises(Refusal) as caught:
        await waiting
    assert caught.value.error is INVALID_CREDENTIALS
