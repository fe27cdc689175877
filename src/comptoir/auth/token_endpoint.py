"""The token endpoint: client credentials for an access token (RFC 6749, 4.4)."""

import math
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import timedelta

from msgspec import UNSET

from comptoir.auth.audit import Actor
from comptoir.auth.authentication import judged
from comptoir.auth.client_check import ClientCheck, TokenRequest
from comptoir.auth.origins import issuer_at
from comptoir.auth.records import Client, RegistrySnapshot
from comptoir.auth.tokens import Claims, ClientClaims, Scope, TokenIssuer, implied, scope_names
from comptoir.auth.verification import PresentedToken, TokenVerifier
from comptoir.errors import oauth_rows as problems
from comptoir.errors.messages import quoted
from comptoir.errors.refusal import Refusal

GRANT = "client_credentials"
LONGEST_ID = 255
"""Characters of the id of a token that can be revoked."""

_EVERY_SCOPE = "/.default"
"""Ends the name of a resource, where it asks for all scopes that the client has."""


@dataclass(frozen=True, slots=True)
class TokenEndpoint:
    """Gives tokens to the clients of a registry; raises `OAuthRefusal`, and `Refusal` (503)."""

    check: ClientCheck
    issuer: TokenIssuer
    verifier: TokenVerifier

    async def token(self, asked: TokenRequest) -> Mapping[str, object]:
        """The response with a token for a client (RFC 6749, 5.1).

        `ext_expires_in` is for Microsoft's clients.
        """
        grant = asked.form.get("grant_type")
        if grant is None:
            raise problems.NO_GRANT_TYPE(grant=GRANT)
        if grant != GRANT:
            raise problems.UNKNOWN_GRANT_TYPE(name=quoted(grant), grant=GRANT)
        client, _ = await self.check.client(asked)
        wanted = list(dict.fromkeys(scope_names(asked.form.get("scope", ""))))
        every = {f"{each}{_EVERY_SCOPE}" for each in self.check.settings.resources}
        scopes = _granted(client, wanted, every)
        seconds = self.check.settings.behaviour.tokens.seconds
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
        return {
            "token_type": "Bearer",
            "expires_in": int(seconds),
            "ext_expires_in": int(seconds),
            "access_token": token,
            "scope": " ".join([*resources, *scopes]),
        }

    async def revoke(self, asked: TokenRequest) -> None:
        """Revoke a token of the client, or any with the scope `admin` (RFC 7009).

        A token that is not valid needs no revocation.
        """
        client, known = await self.check.client(asked)
        claims = self._valid(asked, known)
        if claims is None:
            return
        if not _may_see(client, claims):
            raise problems.ANOTHER_CLIENT(client=client.party)
        jti = claims.jti
        if jti is UNSET or len(jti) > LONGEST_ID or not jti.isprintable():
            raise problems.NO_TOKEN_ID()
        await self.check.registry.revoke(
            jti,
            math.ceil(claims.exp),
            judged(claims, known).subject,
            Actor(client.party, asked.address, asked.request),
        )

    async def introspect(self, asked: TokenRequest) -> Mapping[str, object]:
        """What a token of the client means, or any with the scope `admin` (RFC 7662, 2.2)."""
        client, known = await self.check.client(asked)
        claims = self._valid(asked, known)
        if claims is None or not _may_see(client, claims):
            return {"active": False}
        principal = judged(claims, known)
        found = {
            "active": True,
            "scope": " ".join([each for each in Scope if each in principal.scopes]),
            "client_id": claims.client_id,
            "username": principal.subject,
            "exp": math.floor(claims.exp),
            "sub": claims.sub,
            "aud": claims.aud,
            "iss": claims.iss,
            "jti": claims.jti,
        }
        return {name: value for name, value in found.items() if value is not UNSET}

    def _valid(self, asked: TokenRequest, known: RegistrySnapshot) -> Claims | None:
        """The claims of the token of a request, None if the API would not accept it."""
        token = asked.form.get("token")
        if token is None:
            raise problems.NO_TOKEN()
        try:
            claims = self.verifier.verify(PresentedToken(token))
            judged(claims, known)
        except Refusal:
            return None
        return claims


def _may_see(client: Client, claims: Claims) -> bool:
    """Whether a client may see or revoke a token: its own, or any with the scope `admin`."""
    is_own = isinstance(claims, ClientClaims) and claims.sub == client.id
    return is_own or Scope.ADMIN in client.scopes


def _granted(client: Client, wanted: Iterable[str], every: AbstractSet[str]) -> list[Scope]:
    """The scopes that a client asks for; all that it has for a name of `every`, or for none."""
    names = frozenset(wanted)
    if not names or names & every:
        names = names - every | client.scopes
    for name in sorted(names - implied(client.scopes)):
        raise problems.MISSING_SCOPE(client=client.party, name=quoted(name))
    return [each for each in Scope if each in names]
