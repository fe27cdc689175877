"""Access tokens (JWT: RFC 7519, RFC 9068): their scopes and claims, and their issuer."""

import time
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated
from uuid import UUID, uuid4

import msgspec
from joserfc import jws
from joserfc.jwk import ECKey
from msgspec import UNSET, Meta, Struct, UnsetType

from comptoir.auth.keys import load_keys
from comptoir.config import Settings
from comptoir.edm.times import Clock
from comptoir.errors import operator_rows as problems

SIGNING_ALGORITHM = "ES256"
JOSE_TYPE = "at+jwt"
"""The `typ` of an access token (RFC 9068, 2.1)."""

_REGISTRY = jws.JWSRegistry(algorithms=[SIGNING_ALGORITHM])

MOST_COMPANIES = 100
MOST_ROLES = 16
"""The most companies and roles of a token: with them, it is as long as the API accepts."""

# up to the end of the year 9999: excludes milliseconds, and times that a date cannot represent
NumericDate = Annotated[float, Meta(ge=0, le=253_402_300_799)]
Subject = Annotated[str, Meta(min_length=1, max_length=255)]


class Scope(StrEnum):
    """A permission of a token (RFC 6749, 3.3)."""

    RECORDS_READ = "records.read"
    RECORDS_WRITE = "records.write"
    """To create, update and delete records, not to read them."""
    EVENTS = "events"
    """To subscribe to the changes of records that the token may read."""
    FAULTS = "faults"
    """To change the faults that requests meet, and see what clients have met."""
    ADMIN = "admin"
    """All of these, and the administration."""


def scope_names(text: str) -> list[str]:
    """The names in a list of scopes, separated by U+0020 only (RFC 6749, 3.3)."""
    return [name for name in text.split(" ") if name]


def implied(scopes: AbstractSet[str]) -> AbstractSet[str]:
    """The scopes that some scopes include: `admin` implies every other."""
    return frozenset(Scope) if Scope.ADMIN in scopes else scopes


class RegisteredClaims(Struct, frozen=True, kw_only=True):
    """The claims of every token; times are seconds since 1970 in UTC (RFC 7519, 4.1).

    A claim that is UNSET is absent.
    """

    iss: str
    aud: str | list[str]
    sub: Subject
    exp: NumericDate
    iat: NumericDate | UnsetType = UNSET
    nbf: NumericDate | UnsetType = UNSET

    def __post_init__(self) -> None:
        # the subject is written to logs and to the change log
        if not self.sub.isprintable():
            raise ValueError("`sub` contains characters that are not printable")


class Claims(RegisteredClaims, frozen=True, kw_only=True):
    """The claims of the service's own tokens.

    Null differs from absent: `companies` of null is refused, and an absent one means every company.
    """

    scope: str
    jti: str | UnsetType = UNSET
    client_id: Subject | UnsetType = UNSET
    companies: list[UUID] | UnsetType = UNSET


class ClientClaims(Claims, frozen=True, kw_only=True):
    """The claims of a client's token; without `roles`, none restrict it."""

    roles: list[str] | UnsetType = UNSET


@dataclass(frozen=True, slots=True)
class TokenIssuer:
    """Issues tokens, each signed with the private key that `signing` returns then."""

    signing: Callable[[], ECKey]
    issuer: str
    audience: str
    clock: Clock = time.time

    def issue(
        self,
        subject: str,
        scopes: Iterable[Scope],
        companies: Iterable[str] | None,
        ttl: timedelta,
        *,
        client_issuer: str = "",
        roles: Iterable[str] | None = None,
        not_before: int = 0,
    ) -> str:
        """Return a signed token in compact form (RFC 7515, 7.1).

        With `client_issuer`, which becomes its `iss`, the subject is a client of the endpoint. Its
        `roles` restrict it unless they are None, and its time of issue is at least `not_before` in
        epoch seconds.

        `companies` are Guids; None means every company, an empty iterable none. The lifetime `ttl`
        is rounded down to seconds. Raises `OperatorError` for a lifetime below one second or past
        the year 9999, a company that is not a Guid, and a subject that is empty, longer than 255
        characters or not printable.
        """
        lifetime = int(ttl.total_seconds())
        if lifetime < 1:
            raise problems.SHORT_LIFETIME()
        now = max(int(self.clock()), not_before)
        claims = {
            "iss": client_issuer or self.issuer,
            "aud": self.audience,
            "sub": subject,
            "exp": now + lifetime,
            "iat": now,
            "jti": str(uuid4()),
            "scope": " ".join(scopes),
            **({"client_id": subject, "azp": subject} if client_issuer else {}),
            **({} if companies is None else {"companies": list(companies)}),
            **({} if roles is None else {"roles": sorted(roles)}),
        }
        try:
            # issued tokens follow the rules by which they are accepted
            msgspec.convert(claims, Claims)
        except msgspec.ValidationError as error:
            raise problems.INVALID_TOKEN(reason=error) from error
        key = self.signing()
        header = {"alg": SIGNING_ALGORITHM, "kid": key.thumbprint(), "typ": JOSE_TYPE}
        payload = msgspec.json.encode(claims)
        return jws.serialize_compact(header, payload, key, registry=_REGISTRY)


def token_issuer(settings: Settings) -> TokenIssuer:
    """The issuer of the service's own tokens; creates its key on first use."""
    keys = load_keys(Path(settings.keys))
    return TokenIssuer(lambda: keys.signing, settings.token_issuer, settings.token_audience)
