"""Tokens of outside issuers: their verification, and what their claims give here."""

import hmac
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from msgspec import UNSET, UnsetType

from comptoir.auth.issuer_keys import IssuerKeys, NoteFetch
from comptoir.auth.keys import VerificationKey
from comptoir.auth.logins import Login
from comptoir.auth.principal import Principal
from comptoir.auth.records import ConsoleLogin, Issuer, IssuerPolicy
from comptoir.auth.tokens import NumericDate, RegisteredClaims, Scope, scope_names
from comptoir.auth.verification import (
    CLOCK_SKEW,
    PresentedToken,
    check_audience,
    check_times,
    invalid_token,
    parsed_claims,
)
from comptoir.edm.times import Clock
from comptoir.edm.types import is_guid
from comptoir.errors import refusal_rows as rows
from comptoir.errors.messages import quoted
from comptoir.outgoing import Fetch

RESERVED_NAMES = frozenset({"client", "console", "cli"})
"""The beginnings of subjects that are not of an issuer."""

_OF_ID_TOKENS = ("nonce", "at_hash", "c_hash", "s_hash")
"""Claims that access tokens do not have (OpenID Connect Core, 2 and 3)."""


_BY_NAME = frozenset({Scope.RECORDS_READ, Scope.RECORDS_WRITE})
"""The scopes that a token has by their names; other issuers may mean something else by the rest."""


class NoRoleError(Exception):
    """A user has no role in the console, for a reason that concerns the operator."""


class _IdClaims(RegisteredClaims, frozen=True, kw_only=True):
    """The claims of an ID token (OpenID Connect Core, 2)."""

    iat: NumericDate
    nonce: str
    azp: str | UnsetType = UNSET


@dataclass(frozen=True, slots=True)
class OutsideToken:
    """A token of an outside issuer: its principal and roles, and the key that has signed it.

    Until `expires_at`, it need not be compared with the keys of its issuer.
    """

    principal: Principal
    roles: frozenset[str] | None
    issuer: Issuer
    key: VerificationKey
    expires_at: float


class OutsideIssuers:
    """Verifies the tokens of outside issuers; for use in one event loop only."""

    def __init__(
        self,
        fetch: Fetch,
        stale_seconds: float,
        clock: Clock = time.time,
        monotonic: Clock = time.monotonic,
        note_fetch: NoteFetch = lambda *_: None,
    ) -> None:
        """`clock` is that of the tokens, and `monotonic` that of the keys."""
        self._note_fetch = note_fetch
        self._fetch = fetch
        self._stale_seconds = stale_seconds
        self._clock = clock
        self._monotonic = monotonic
        self._keys: dict[str, IssuerKeys] = {}
        self.withdrawn: Callable[[Collection[VerificationKey]], None] = lambda _: None
        """Called with keys that an issuer no longer has."""

    async def verify(self, token: PresentedToken, issuer: Issuer) -> OutsideToken:
        """Verify a token that names an issuer; raises `Refusal` (401, or 503 without keys)."""
        terms = issuer.terms
        kid = token.kid(terms.algorithms)
        keys = self._keys_of(issuer.url)
        key = await keys.key(kid, terms.refreshed)
        payload = token.payload(key)
        registered = parsed_claims(payload, RegisteredClaims)
        check_audience(registered, terms.audience)
        now = self._clock()
        check_times(registered, now, now - CLOCK_SKEW)
        claims = parsed_claims(payload, dict[str, object])
        _check_is_no_id_token(claims)
        _check_required(claims, terms)
        names = {name for text in _values(claims, terms.scope_claim) for name in scope_names(text)}
        values = names | _values(claims, terms.roles_claim)
        mapped = {scope for value in values for scope in terms.scopes.get(value, ())}
        principal = Principal(
            f"{issuer.name}:{registered.sub}",
            frozenset(names & _BY_NAME | mapped),
            _companies(claims, terms),
        )
        ends = min(registered.exp + CLOCK_SKEW, now + keys.seconds_left)
        return OutsideToken(principal, _roles(values, terms), issuer, key, ends)

    async def user(
        self, id_token: str, issuer: Issuer, console: ConsoleLogin, nonce: str, begun_at: int
    ) -> Login:
        """The user of the console whom an ID token names; raises `NoRoleError` for other users.

        The login with this nonce has begun in a second since 1970. Raises `Refusal` as `verify`
        does, for what OpenID Connect Core, 3.1.3.7, forbids.
        """
        terms = issuer.terms
        token = PresentedToken(id_token)
        kid = token.kid(terms.algorithms)
        payload = token.payload(await self._keys_of(issuer.url).key(kid, terms.refreshed))
        registered = parsed_claims(payload, _IdClaims)
        if registered.iss != issuer.url:
            raise invalid_token(rows.OTHER_ISSUER_OF_LOGIN)
        # a token for others too could come from one of them
        if registered.aud not in (console.client_id, [console.client_id]):
            raise invalid_token(rows.SHARED_LOGIN)
        if registered.azp not in (UNSET, console.client_id):
            raise invalid_token(rows.OTHER_CLIENT_OF_LOGIN)
        if not hmac.compare_digest(registered.nonce.encode(), nonce.encode()):
            raise invalid_token(rows.OTHER_LOGIN)
        now = self._clock()
        check_times(registered, now, now - CLOCK_SKEW)
        if registered.iat < begun_at - CLOCK_SKEW:
            raise invalid_token(rows.OLD_LOGIN)
        claims = parsed_claims(payload, dict[str, object])
        _check_required(claims, terms)
        values = _values(claims, terms.roles_claim)
        roles = [console.roles[value] for value in values if value in console.roles]
        if not roles:
            found = "its values have no role" if values else "the ID token does not have it"
            raise NoRoleError(f"roles are in the claim {quoted(terms.roles_claim)}, and {found}")
        highest = max(roles, key=lambda role: role.rank)
        return Login(f"{issuer.name}:{registered.sub}", highest, _companies(claims, terms))

    async def document(self, issuer: Issuer) -> bytes:
        """The discovery document of an issuer; raises `OutgoingError`."""
        return await self._keys_of(issuer.url).document(issuer.terms.refreshed)

    async def stop(self) -> None:
        """Cancel the fetches."""
        for each in self._keys.values():
            await each.stop()

    def _keys_of(self, url: str) -> IssuerKeys:
        keys = self._keys.get(url)
        if keys is None:
            keys = self._keys[url] = IssuerKeys(
                url,
                self._fetch,
                self._stale_seconds,
                self.withdrawn,
                self._monotonic,
                self._note_fetch,
            )
        return keys


def _check_is_no_id_token(claims: Mapping[str, object]) -> None:
    if any(name in claims for name in _OF_ID_TOKENS):
        raise invalid_token(rows.ID_TOKEN)


def _check_required(claims: Mapping[str, object], terms: IssuerPolicy) -> None:
    for name, value in terms.required.items():
        if value not in _values(claims, name):
            raise invalid_token(rows.CLAIM_LACKS_VALUE, claim=name)


def _roles(values: Collection[str], terms: IssuerPolicy) -> frozenset[str] | None:
    """The roles of a token; None if no value gives one, so that the scopes alone decide."""
    if not terms.roles:
        return None
    return frozenset(role for value in values for role in terms.roles.get(value, ()))


def _companies(claims: Mapping[str, object], terms: IssuerPolicy) -> frozenset[str] | None:
    if not terms.companies_claim:
        return None if terms.companies is None else frozenset(terms.companies)
    return frozenset(
        each.lower() for each in _values(claims, terms.companies_claim) if is_guid(each)
    )


def _values(claims: Mapping[str, object], name: str) -> set[str]:
    """The texts of a claim, which may be one text; its name may be a path, such as `a.b`."""
    found = claims.get(name)
    if found is None:
        found = claims
        for step in name.split("."):
            found = found.get(step) if isinstance(found, dict) else None
    if isinstance(found, str):
        return {found}
    return {each for each in found if isinstance(each, str)} if isinstance(found, list) else set()
