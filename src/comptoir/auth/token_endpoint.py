"""The token endpoint: client credentials for an access token (RFC 6749, 4.4)."""

import math
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import timedelta

import msgspec
from msgspec import UNSET, UnsetType

from comptoir.auth.audit import Actor
from comptoir.auth.authentication import judged
from comptoir.auth.client_check import ClientCheck, TokenRequest
from comptoir.auth.origins import issuer_at
from comptoir.auth.records import Client, RegistrySnapshot, WritableRegistry
from comptoir.auth.tokens import Scope, TokenIssuer, implied, scope_names
from comptoir.auth.verification import PresentedToken, TokenVerifier, VerifiedToken
from comptoir.config import Settings
from comptoir.errors import oauth_rows as problems
from comptoir.errors.messages import quoted
from comptoir.errors.refusal import Refusal

GRANT = "client_credentials"
LONGEST_ID = 255
"""Characters of the id of a token that can be revoked."""

_EVERY_SCOPE = "/.default"
"""Ends the name of a resource, where it asks for all scopes that the client has."""


class TokenAnswer(msgspec.Struct, frozen=True):
    """The response with a token (RFC 6749, 5.1), with the member that Microsoft's clients read."""

    token_type: str
    expires_in: int
    ext_expires_in: int
    access_token: str
    scope: str


class Introspection(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The response about a token (RFC 7662, 2.2)."""

    active: bool
    scope: str | UnsetType = UNSET
    client_id: str | UnsetType = UNSET
    username: str | UnsetType = UNSET
    exp: int | UnsetType = UNSET
    sub: str | UnsetType = UNSET
    aud: str | list[str] | UnsetType = UNSET
    iss: str | UnsetType = UNSET
    jti: str | UnsetType = UNSET


@dataclass(frozen=True, slots=True)
class TokenEndpoint:
    """Gives tokens to the clients of a registry; raises `OAuthRefusal`, and `Refusal` (503)."""

    registry: WritableRegistry
    check: ClientCheck
    issuer: TokenIssuer
    verifier: TokenVerifier
    settings: Settings

    async def token(self, asked: TokenRequest) -> TokenAnswer:
        """Give a token to a client."""
        grant = asked.form.get("grant_type")
        if grant is None:
            raise problems.NO_GRANT_TYPE(grant=GRANT)
        if grant != GRANT:
            raise problems.UNKNOWN_GRANT_TYPE(name=quoted(grant), grant=GRANT)
        client, _ = await self.check.client(asked)
        wanted = list(dict.fromkeys(scope_names(asked.form.get("scope", ""))))
        every = {f"{each}{_EVERY_SCOPE}" for each in self.settings.resources}
        scopes = _granted(client, wanted, every)
        seconds = self.settings.behaviour.tokens.seconds
        token = self.issuer.issue(
            client.id,
            scopes,
            client.companies,
            timedelta(seconds=seconds),
            client_issuer=issuer_at(asked.origin, asked.tenant),
            roles=client.roles,
            not_before=client.not_before,
        )
        # Microsoft's clients find a token again by the name that they asked for
        resources = [each for each in wanted if each in every]
        return TokenAnswer("Bearer", seconds, seconds, token, " ".join([*resources, *scopes]))

    async def revoke(self, asked: TokenRequest) -> None:
        """Revoke a token of the client, or any with the scope `admin` (RFC 7009).

        A token that is not valid needs no revocation.
        """
        client, known = await self.check.client(asked)
        verified = self._valid(asked, known)
        if verified is None:
            return
        if not _may_see(client, verified):
            raise problems.ANOTHER_CLIENT(client=client.party)
        jti = verified.claims.jti
        if jti is UNSET or len(jti) > LONGEST_ID or not jti.isprintable():
            raise problems.NO_TOKEN_ID()
        await self.registry.revoke(
            jti,
            math.ceil(verified.claims.exp),
            judged(verified, known).subject,
            Actor(client.party, asked.address, asked.request),
        )

    async def introspect(self, asked: TokenRequest) -> Introspection:
        """The meaning of a token of the client, or of any with the scope `admin` (RFC 7662)."""
        client, known = await self.check.client(asked)
        verified = self._valid(asked, known)
        if verified is None or not _may_see(client, verified):
            return Introspection(active=False)
        claims, principal = verified.claims, judged(verified, known)
        return Introspection(
            active=True,
            scope=" ".join([each for each in Scope if each in principal.scopes]),
            client_id=claims.client_id,
            username=principal.subject,
            exp=math.floor(claims.exp),
            sub=claims.sub,
            aud=claims.aud,
            iss=claims.iss,
            jti=claims.jti,
        )

    def _valid(self, asked: TokenRequest, known: RegistrySnapshot) -> VerifiedToken | None:
        """The token of a request, None if the API would not accept it."""
        token = asked.form.get("token")
        if token is None:
            raise problems.NO_TOKEN()
        try:
            verified = self.verifier.verify(PresentedToken(token))
            judged(verified, known)
        except Refusal:
            return None
        return verified


def _may_see(client: Client, verified: VerifiedToken) -> bool:
    """Whether a client may see or revoke a token: its own, or any with the scope `admin`."""
    is_own = verified.is_of_client and verified.principal.subject == client.id
    return is_own or Scope.ADMIN in client.scopes


def _granted(client: Client, wanted: Iterable[str], every: AbstractSet[str]) -> list[Scope]:
    """The scopes that a client asks for; all that it has for a name of `every`, or for none."""
    names = frozenset(wanted)
    if not names or names & every:
        names = names - every | client.scopes
    for name in sorted(names - implied(client.scopes)):
        raise problems.MISSING_SCOPE(client=client.party, name=quoted(name))
    return [each for each in Scope if each in names]
