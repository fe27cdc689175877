"""Bearer tokens: JWT access tokens (RFC 7519, RFC 9068), issued and verified."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import msgspec
from joserfc import jws
from joserfc.errors import InvalidKeyCurveError, InvalidKeyTypeError, JoseError
from joserfc.jwk import ECKey
from msgspec import UNSET, Struct, UnsetType

from comptoir.auth.challenge import invalid_token
from comptoir.auth.claims import Claims
from comptoir.auth.keys import VerificationKey, load_keys
from comptoir.auth.principal import Principal, Scope, scope_names
from comptoir.config import Settings
from comptoir.errors import OperatorError, Refusal

ASYMMETRIC_ALGORITHMS = (
    *("ES256", "ES384", "ES512"),
    *("RS256", "RS384", "RS512"),
    *("PS256", "PS384", "PS512"),
    *("Ed25519", "Ed448"),
)
CLOCK_SKEW = 60
"""Seconds by which an issuer's clock may be ahead of ours."""

_SIGNING_ALGORITHM = "ES256"
_JOSE_TYPE = "at+jwt"
# RFC 9068 section 4 asks for at+jwt; many issuers still write JWT, or nothing.
_ACCEPTED_TYPES = frozenset({_JOSE_TYPE, "application/at+jwt", "jwt"})

Clock = Callable[[], float]
"""Returns the seconds since 1970 in UTC."""


class TokenIssuer:
    """Issues tokens signed with one private key."""

    def __init__(self, key: ECKey, issuer: str, audience: str, clock: Clock = time.time) -> None:
        self._key = key
        self._kid = key.thumbprint()
        self._issuer = issuer
        self._audience = audience
        self._clock = clock
        self._registry = jws.JWSRegistry(algorithms=[_SIGNING_ALGORITHM])

    def issue(
        self,
        subject: str,
        scopes: Iterable[Scope],
        companies: Iterable[str] | None,
        ttl: timedelta,
    ) -> str:
        """Return a signed token in compact form (RFC 7515 section 7.1).

        `companies` are Guids as text; None reaches every company, an empty iterable none. `ttl`
        counts in whole seconds from now.

        Raises OperatorError for a `ttl` below one second or past the year 9999, a company that is
        not a Guid, and a subject that is empty, longer than 255 characters or not printable.
        """
        lifetime = int(ttl.total_seconds())
        if lifetime < 1:
            raise OperatorError("A token must live for a second or more: give a longer lifetime.")
        now = int(self._clock())
        claims = {
            "iss": self._issuer,
            "aud": self._audience,
            "sub": subject,
            "exp": now + lifetime,
            "iat": now,
            "jti": str(uuid4()),
            "scope": " ".join(scopes),
            **({} if companies is None else {"companies": list(companies)}),
        }
        try:
            # What is issued is held to the rules by which it will be accepted.
            msgspec.convert(claims, Claims)
        except msgspec.ValidationError as error:
            raise OperatorError(f"The token cannot be issued: {error}.") from error
        header = {"alg": _SIGNING_ALGORITHM, "kid": self._kid, "typ": _JOSE_TYPE}
        payload = msgspec.json.encode(claims)
        return jws.serialize_compact(header, payload, self._key, registry=self._registry)


def token_issuer(settings: Settings) -> TokenIssuer:
    """Return the issuer of the service's own tokens; its key is created on first use."""
    keys = load_keys(Path(settings.keys))
    return TokenIssuer(keys.signing, settings.token_issuer, settings.token_audience)


@dataclass(frozen=True, slots=True)
class VerifiedToken:
    """What an accepted token says: its principal, and when it ends (seconds since 1970)."""

    principal: Principal
    expires_at: float


class _Header(Struct, frozen=True):
    """The members of a JOSE header that decide anything (RFC 7515 section 4.1).

    `jwk`, `jku`, `x5c` and `x5u` are not among them: a token never brings its own key.
    """

    alg: str
    kid: str | UnsetType = UNSET
    typ: str = _JOSE_TYPE
    crit: list[str] | UnsetType = UNSET


class TokenVerifier:
    """Accepts tokens of one issuer for one audience, signed by a trusted key."""

    def __init__(
        self,
        keys: Mapping[str, VerificationKey],
        issuer: str,
        audience: str,
        algorithms: tuple[str, ...] = (_SIGNING_ALGORITHM,),
        clock: Clock = time.time,
    ) -> None:
        """Take the trusted keys by `kid`, and the algorithms that are accepted.

        Raises OperatorError unless `algorithms` names one or more of ASYMMETRIC_ALGORITHMS.
        """
        unfit = [name for name in algorithms if name not in ASYMMETRIC_ALGORITHMS]
        if unfit or not algorithms:
            raise OperatorError(
                f"Tokens cannot be verified with {', '.join(unfit) or 'no algorithm'}:"
                f" choose among {', '.join(ASYMMETRIC_ALGORITHMS)}."
            )
        self.clock = clock
        self._keys = keys
        self._issuer = issuer
        self._audience = audience
        self._algorithms = algorithms
        # Members of a header that are not understood are ignored (RFC 7515 section 4).
        self._registry = jws.JWSRegistry(algorithms=algorithms, strict_check_header=False)

    def verify(self, token: str) -> VerifiedToken:
        """Verify a token in compact form (RFC 7515, section 7.1).

        Raises `Refusal` (401, challenge `invalid_token`) with the check that failed.
        """
        claims = _parse_claims(self._verified_payload(token))
        self._check_parties(claims)
        self._check_times(claims)
        companies = None
        if claims.companies is not UNSET:
            companies = frozenset(str(company) for company in claims.companies)
        principal = Principal(claims.sub, frozenset(scope_names(claims.scope)), companies)
        return VerifiedToken(principal, claims.exp)

    def _verified_payload(self, token: str) -> bytes:
        try:
            signed = jws.extract_compact(token.encode(), registry=self._registry)
            header = msgspec.convert(signed.headers(), _Header)
        except JoseError as error:
            raise _garbled(error.description) from error
        except (msgspec.ValidationError, UnicodeEncodeError) as error:
            raise _garbled(str(error)) from error
        key = self._key_for(header)
        try:
            genuine = jws.validate_compact(signed, key, registry=self._registry)
        except (InvalidKeyTypeError, InvalidKeyCurveError) as error:
            raise invalid_token(
                "The bearer token's signing key (`kid`) is of another kind than its algorithm"
                " (`alg`) needs; get a new token from its issuer."
            ) from error
        except JoseError as error:
            raise _garbled(error.description) from error
        if not genuine:
            raise invalid_token(
                "The bearer token's signature does not fit its content and key; send the token"
                " exactly as it was issued, or get a new one."
            )
        return signed.payload

    def _key_for(self, header: _Header) -> VerificationKey:
        if header.alg not in self._algorithms:
            raise invalid_token(
                "The bearer token's algorithm (`alg`) is not accepted here; get one that is signed"
                f" with {' or '.join(self._algorithms)}."
            )
        if header.typ.lower() not in _ACCEPTED_TYPES:
            raise invalid_token(
                "The bearer token's type (`typ`) is not that of an access token; send the access"
                " token that the issuer gave beside it."
            )
        # RFC 7515 section 4.1.11: what is critical must be understood, and no extension is.
        if header.crit is not UNSET:
            raise invalid_token(
                "The bearer token needs extensions (`crit`) that are not supported here; get one"
                " without them."
            )
        if header.kid is UNSET:
            raise invalid_token(
                "The bearer token names no signing key (`kid`); get one whose header names it."
            )
        key = self._keys.get(header.kid)
        if key is None:
            raise invalid_token(
                "The bearer token's signing key (`kid`) is not trusted here; get a token from this"
                " service's issuer, or have that key's public half added to the key directory."
            )
        return key

    def _check_parties(self, claims: Claims) -> None:
        if claims.iss != self._issuer:
            raise invalid_token(
                "The bearer token comes from another issuer (`iss`) than the one trusted here,"
                f" {self._issuer}; get a token from that one."
            )
        audiences = [claims.aud] if isinstance(claims.aud, str) else claims.aud
        if self._audience not in audiences:
            raise invalid_token(
                "The bearer token is meant for another audience (`aud`); get one for"
                f" {self._audience}."
            )

    def _check_times(self, claims: Claims) -> None:
        now = self.clock()
        if claims.exp <= now:
            raise invalid_token(
                f"The bearer token expired at {_instant(claims.exp)} (`exp`); get a new one."
            )
        if claims.nbf is not UNSET and claims.nbf > now + CLOCK_SKEW:
            raise invalid_token(
                f"The bearer token is not valid before {_instant(claims.nbf)} (`nbf`); wait until"
                " then, or compare the clocks of issuer and service."
            )
        if claims.iat is not UNSET and claims.iat > now + CLOCK_SKEW:
            raise invalid_token(
                f"The bearer token was issued in the future, at {_instant(claims.iat)} (`iat`);"
                " compare the clocks of issuer and service."
            )


def _parse_claims(payload: bytes) -> Claims:
    try:
        return msgspec.json.decode(payload, type=Claims)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise invalid_token(
            f"The bearer token's claims are not those of an access token ({error}); get one that"
            " follows RFC 9068."
        ) from error


def _garbled(reason: str) -> Refusal:
    return invalid_token(
        f"The bearer token is garbled ({reason}); send it exactly as it was issued."
    )


def _instant(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
