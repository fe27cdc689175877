"""The verification of bearer tokens: signatures, parties and times."""

import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, TypeVar

import msgspec
from joserfc import jws
from joserfc.errors import (
    DecodeError,
    InvalidKeyCurveError,
    InvalidKeyTypeError,
    JoseError,
    UnsupportedKeyAlgorithmError,
)
from msgspec import UNSET, Meta, Struct, UnsetType

from comptoir.auth.keys import KeyLookup, VerificationKey
from comptoir.auth.roles import Principal
from comptoir.auth.tokens import (
    JOSE_TYPE,
    SIGNING_ALGORITHM,
    Claims,
    ClientClaims,
    RegisteredClaims,
    scope_names,
)
from comptoir.edm.times import Clock
from comptoir.errors import operator_rows as problems
from comptoir.errors import refusal_rows as rows
from comptoir.errors.messages import description, quoted, time_text
from comptoir.errors.refusal import Fact, Refusal, RefusalRow


def extracted(token: str, registry: jws.JWSRegistry) -> jws.CompactSignature:
    """The parts of a token, whose signature is not verified yet; raises `JoseError`."""
    try:
        return jws.extract_compact(token.encode(), registry=registry)
    # joserfc takes any JSON for a header, and reads it without a bound of its depth
    except (UnicodeEncodeError, TypeError, RecursionError) as error:
        raise DecodeError("Invalid header") from error


AnyClaims = TypeVar("AnyClaims")

ASYMMETRIC_ALGORITHMS = (
    *("ES256", "ES384", "ES512"),
    *("RS256", "RS384", "RS512"),
    *("PS256", "PS384", "PS512"),
    *("Ed25519", "Ed448"),
)
CLOCK_SKEW = 60
"""Seconds by which an issuer's clock may be ahead of the service's."""

MAX_TOKEN_BYTES = 8 * 1024

# RFC 9068, 4 requires at+jwt; many issuers still write JWT, or nothing
ACCESS_TOKEN_TYPES = frozenset({JOSE_TYPE, "application/at+jwt", "jwt"})

# unknown members of a header are ignored (RFC 7515, 4)
_REGISTRY = jws.JWSRegistry(algorithms=ASYMMETRIC_ALGORITHMS, strict_check_header=False)
# a header may contain certificates; the whole token is limited
_REGISTRY.max_header_length = MAX_TOKEN_BYTES


def invalid_token(row: RefusalRow, /, **facts: Fact) -> Refusal:
    """401 for a bearer token that is not accepted (RFC 6750, 3.1).

    The challenge repeats the message, with `'` for each character that it cannot contain.
    """
    refusal = row("Authorization", more=facts)
    text = description(refusal.message)
    challenge = f'Bearer error="invalid_token", error_description="{text}"'
    refusal.headers = {"WWW-Authenticate": challenge}
    return refusal


class _Header(Struct, frozen=True):
    """The members of a JOSE header that are used (RFC 7515, 4.1).

    `jwk`, `jku`, `x5c` and `x5u` are not among them: a token never brings its own key.
    """

    alg: str
    kid: Annotated[str, Meta(max_length=512)] | UnsetType = UNSET
    typ: str = JOSE_TYPE
    crit: list[str] | UnsetType = UNSET


class _Issuer(Struct, frozen=True):
    iss: str


class PresentedToken:
    """A token as it was sent, which nothing is known of until its signature is verified."""

    def __init__(self, token: str) -> None:
        """Parse the compact form (RFC 7515, 7.1); raises `Refusal` (401) if it is malformed."""
        try:
            self._signed = extracted(token, _REGISTRY)
            self._header = msgspec.convert(self._signed.headers(), _Header)
        except JoseError as error:
            raise _malformed(error.description) from error
        except msgspec.ValidationError as error:
            raise _malformed(str(error)) from error
        self.issuer = ""
        """The issuer that it names, blank if it is malformed: it only selects the keys."""
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self.issuer = msgspec.json.decode(self._signed.payload, type=_Issuer).iss

    def kid(self, algorithms: Collection[str], types: Collection[str] = ACCESS_TOKEN_TYPES) -> str:
        """The name of its key; raises `Refusal` (401) for a header that is not accepted."""
        header = self._header
        if header.alg not in algorithms:
            raise invalid_token(rows.ALGORITHM, algorithms=" or ".join(algorithms))
        if header.typ.lower() not in types:
            raise invalid_token(rows.TOKEN_TYPE)
        # critical extensions must be supported (RFC 7515, 4.1.11), and none is
        if header.crit is not UNSET:
            raise invalid_token(rows.EXTENSIONS)
        if header.kid is UNSET:
            raise invalid_token(rows.NO_KEY_NAME)
        return header.kid

    def payload(self, key: VerificationKey) -> bytes:
        """The claims that the key has signed; raises `Refusal` (401) if it has not."""
        try:
            genuine = jws.validate_compact(self._signed, key, registry=_REGISTRY)
        except (InvalidKeyTypeError, InvalidKeyCurveError, UnsupportedKeyAlgorithmError) as error:
            raise invalid_token(rows.KEY_MISFIT) from error
        except JoseError as error:
            raise _malformed(error.description) from error
        if not genuine:
            raise invalid_token(rows.WRONG_SIGNATURE)
        return self._signed.payload


@dataclass(slots=True, eq=False)
class TokenVerifier:
    """Accepts tokens for one audience, of one issuer and of the token endpoint.

    `keys` are the trusted ones by `kid`, and `algorithms` those that are accepted with them. Tokens
    end by `clock`. They begin by `issuing`, the same one without it. Tokens of the token endpoint
    have one of the `client_issuers`, and one of the `client_keys`, which are this service's own.
    """

    keys: KeyLookup
    issuer: str
    audience: str
    algorithms: tuple[str, ...] = (SIGNING_ALGORITHM,)
    clock: Clock = time.time
    client_issuers: Collection[str] = ()
    client_keys: KeyLookup = lambda _: None
    issuing: Clock | None = None

    def __post_init__(self) -> None:
        """Raise `OperatorError` for other algorithms than `ASYMMETRIC_ALGORITHMS`."""
        check_algorithms(self.algorithms)

    def issues(self, issuer: str) -> bool:
        """Whether an issuer is this service."""
        return issuer == self.issuer or issuer in self.client_issuers

    def verify(self, token: PresentedToken) -> Claims:
        """The claims of a token; raises `Refusal` (401, challenge `invalid_token`).

        Those of a client's token are `ClientClaims`: their subject is the id of a client, which may
        have been disabled since.
        """
        is_of_client = token.issuer in self.client_issuers
        if is_of_client:
            keys, kid = self.client_keys, token.kid((SIGNING_ALGORITHM,), (JOSE_TYPE,))
        else:
            keys, kid = self.keys, token.kid(self.algorithms)
        key = keys(kid)
        if key is None:
            raise invalid_token(rows.UNTRUSTED_KEY)
        claims = parsed_claims(token.payload(key), ClientClaims if is_of_client else Claims)
        if not is_of_client and claims.iss != self.issuer:
            raise invalid_token(rows.UNTRUSTED_ISSUER, issuer=self.issuer)
        check_audience(claims, self.audience)
        check_times(claims, (self.issuing or self.clock)(), self.clock())
        return claims


def principal_of(claims: Claims) -> Principal:
    """The principal of a token of this service by its claims alone."""
    companies = None
    if claims.companies is not UNSET:
        companies = frozenset(str(company) for company in claims.companies)
    return Principal(claims.sub, frozenset(scope_names(claims.scope)), companies)


def check_algorithms(names: Collection[str]) -> None:
    """Raise `OperatorError` unless these are one or more of `ASYMMETRIC_ALGORITHMS`."""
    for name in names or ("",):
        if name not in ASYMMETRIC_ALGORITHMS:
            raise problems.UNKNOWN_ALGORITHM(
                name=quoted(name), known=", ".join(ASYMMETRIC_ALGORITHMS)
            )


def check_audience(claims: RegisteredClaims, audience: str) -> None:
    """Raise `Refusal` (401) for a token that is not for an audience."""
    audiences = [claims.aud] if isinstance(claims.aud, str) else claims.aud
    if audience not in audiences:
        raise invalid_token(rows.OTHER_AUDIENCE, audience=audience)


def check_times(claims: RegisteredClaims, now: float, ended_by: float) -> None:
    """Raise `Refusal` (401) for a token that has not begun now, or has ended by another time."""
    if claims.exp <= ended_by:
        raise invalid_token(rows.EXPIRED, time=time_text(claims.exp))
    if claims.nbf is not UNSET and claims.nbf > now + CLOCK_SKEW:
        raise invalid_token(rows.NOT_YET_VALID, time=time_text(claims.nbf))
    if claims.iat is not UNSET and claims.iat > now + CLOCK_SKEW:
        raise invalid_token(rows.ISSUED_LATER, time=time_text(claims.iat))


def parsed_claims(payload: bytes, claims: type[AnyClaims]) -> AnyClaims:
    """The claims of a payload; raises `Refusal` (401) if one is missing or of another type."""
    try:
        return msgspec.json.decode(payload, type=claims)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise invalid_token(rows.INVALID_CLAIMS, reason=str(error)) from error


def _malformed(reason: str) -> Refusal:
    return invalid_token(rows.MALFORMED_TOKEN, reason=reason.removesuffix("."))
