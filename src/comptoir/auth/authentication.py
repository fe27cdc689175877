"""From an `Authorization` header to a principal."""

from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import TypeGuard

from msgspec import UNSET

from comptoir.auth.client_check import ClientCheck, TokenRequest
from comptoir.auth.issuers import OutsideIssuers, OutsideToken
from comptoir.auth.limits import Limits
from comptoir.auth.records import ClientState, Registry, RegistrySnapshot
from comptoir.auth.roles import Principal
from comptoir.auth.tokens import Claims, ClientClaims, implied
from comptoir.auth.verification import (
    MAX_TOKEN_BYTES,
    PresentedToken,
    TokenVerifier,
    invalid_token,
    principal_of,
)
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import OAuthRefusal, Refusal
from comptoir.errors.table import SLOW_DOWN

CACHED_TOKENS = 10_000

_MAX_HEADER_BYTES = MAX_TOKEN_BYTES + len("Bearer ")


@dataclass(frozen=True, slots=True)
class BasicAuthenticator:
    """Authenticates requests by secrets of clients; for use in one event loop only.

    Each request is checked, like one for a token: a guess slows down, and is audited.
    """

    check: ClientCheck
    limits: Limits

    async def authenticate(
        self, authorization: bytes, address: str, request: str, *, is_private: bool
    ) -> Principal:
        """Return the principal of the value of an `Authorization` header.

        `address` is that of the client, and `request` the id of the request in the log. Raises
        `Refusal`: 401 for wrong credentials, or if others may read them; 429 after too many wrong
        ones; 503 if nothing is known of clients.
        """
        if not is_private:
            raise rows.NOT_PRIVATE("Authorization")
        text = authorization.decode("latin-1")
        asked = TokenRequest({}, text, "", "", address, request, by_name=True)
        try:
            client, known = await self.check.client(asked)
        except OAuthRefusal as refusal:
            raise _of_api(refusal) from refusal
        return Principal(
            client.party,
            client.scopes,
            client.companies,
            known.roles.rights_of(client.roles),
            self.limits.account(client.id, client.rate, client.quota),
        )


def is_basic(authorization: bytes | None) -> TypeGuard[bytes]:
    """Whether the value of an `Authorization` header has the scheme Basic."""
    return authorization is not None and authorization[:6].lower() == b"basic "


def _of_api(denial: OAuthRefusal) -> Refusal:
    problem, remedy = denial.problem, denial.remedy
    if denial.error is SLOW_DOWN:
        refusal = rows.TOO_MANY_GUESSES(headers=denial.headers, problem=problem, remedy=remedy)
    else:
        refusal = rows.WRONG_SECRET("Authorization", problem=problem, remedy=remedy)
    refusal.denial = denial
    return refusal


@dataclass(slots=True)
class _Accepted:
    """A cached token, with its principal by what was `known` when it was last judged.

    It need not be verified again before `expires_at`.
    """

    verified: Claims | OutsideToken
    expires_at: float
    principal: Principal
    known: RegistrySnapshot | None = None


@dataclass(slots=True, eq=False)
class Authenticator:
    """Authenticates requests; for use in one event loop only.

    It caches the `capacity` tokens used last, because verifying a signature costs a hundred times
    a look-up. It compares a cached token with the clock at every use, and judges it again when
    something else is known of clients.
    """

    verifier: TokenVerifier
    registry: Registry
    limits: Limits
    outside: OutsideIssuers
    capacity: int = CACHED_TOKENS
    _accepted: OrderedDict[bytes, _Accepted] = field(default_factory=OrderedDict)

    async def authenticate(self, authorization: bytes | None) -> Principal:
        """Return the principal of an `Authorization` header's value.

        Raises `Refusal`: 401 without a bearer token with a bare challenge, else with
        `invalid_token` (RFC 6750, 3.1); 503 if nothing is known of the token's client.
        """
        if authorization is None:
            raise rows.NO_HEADER("Authorization")
        if len(authorization) > _MAX_HEADER_BYTES:
            raise invalid_token(rows.LONG_TOKEN, limit=MAX_TOKEN_BYTES)
        cached = self._accepted.get(authorization)
        if cached is not None:
            if self.verifier.clock() < cached.expires_at:
                self._accepted.move_to_end(authorization)
                if cached.known is self.registry.known or await self._judge(cached):
                    return cached.principal
            self._accepted.pop(authorization, None)
        accepted = await self._verified(PresentedToken(_bearer_token(authorization)))
        self._accepted[authorization] = accepted
        if len(self._accepted) > self.capacity:
            self._accepted.popitem(last=False)
        return accepted.principal

    def forget(self) -> None:
        """Verify the cached tokens again, as after a change of keys."""
        self._accepted.clear()

    async def _verified(self, token: PresentedToken) -> _Accepted:
        """Verify a token, and judge it by what is known; raises `Refusal`."""
        while True:
            issuer = None
            if not self.verifier.issues(token.issuer):
                known = self.registry.known or await self.registry.refresh()
                issuer = known.issuers.get(token.issuer)
            if issuer is None:
                claims = self.verifier.verify(token)
                accepted = _Accepted(claims, claims.exp, principal_of(claims))
            else:
                outside = await self.outside.verify(token, issuer)
                accepted = _Accepted(outside, outside.expires_at, outside.principal)
            # the issuer may have been changed or removed while its keys were fetched
            if await self._judge(accepted):
                return accepted

    async def _judge(self, accepted: _Accepted) -> bool:
        """Set the principal of a token by what is known now; raises `Refusal`.

        False: its issuer has changed, so the token must be verified again.
        """
        verified, known, account = accepted.verified, self.registry.known, None
        if isinstance(verified, OutsideToken):
            known, given = known or await self.registry.refresh(), verified.principal
            if known.issuers.get(verified.issuer.url) != verified.issuer:
                return False
            principal = replace(given, rights=known.roles.rights_of(verified.roles))
            account = self.limits.party(given.subject)
        elif isinstance(verified, ClientClaims):
            if known is None or verified.sub not in known.clients:
                # another process may have added it, and given the token, a moment ago
                known = await self.registry.refresh()
            principal, client = judged(verified, known), known.clients[verified.sub]
            account = self.limits.account(client.id, client.rate, client.quota)
        else:
            # while the database is away, a token of the command is accepted unless it was revoked
            _check_revoked(verified, self.registry.revoked)
            principal = accepted.principal
            account = self.limits.party(verified.sub) if self.limits.of_all else None
        accepted.principal, accepted.known = replace(principal, account=account), known
        return True


def judged(claims: Claims, known: RegistrySnapshot) -> Principal:
    """The principal of a token by what is known; raises `Refusal` (401) if it is not valid now.

    A token of a client has those of its rights that the client has.
    """
    _check_revoked(claims, known.revoked)
    given = principal_of(claims)
    if not isinstance(claims, ClientClaims):
        return given
    client = known.clients.get(given.subject)
    if client is None or client.state is not ClientState.ACTIVE:
        raise invalid_token(rows.CLIENT_ENDED)
    if claims.iat is UNSET or claims.iat < client.not_before:
        raise invalid_token(rows.CLIENT_RENEWED)
    roles = None if claims.roles is UNSET else frozenset(claims.roles)
    return replace(
        given,
        subject=client.party,
        scopes=given.scopes & implied(client.scopes),
        companies=_both(client.companies, given.companies),
        rights=known.roles.rights_of(_both(client.roles, roles)),
    )


def _check_revoked(claims: Claims, revoked: Collection[str]) -> None:
    if claims.jti in revoked:
        raise invalid_token(rows.REVOKED)


def _both(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    """The common part of two restrictions; None restricts nothing."""
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _bearer_token(authorization: bytes) -> str:
    scheme, _, credentials = authorization.partition(b" ")
    if scheme.lower() != b"bearer":
        raise rows.NO_TOKEN("Authorization")
    token = credentials.strip(b" ")
    if not token.isascii():
        raise invalid_token(rows.TOKEN_NOT_ASCII)
    return token.decode("ascii")
