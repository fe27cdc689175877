"""From an `Authorization` header to a principal, and the checks of its scopes."""

import re
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec
from joserfc import jws
from joserfc.errors import InvalidKeyCurveError, InvalidKeyTypeError, JoseError
from msgspec import UNSET, Struct, UnsetType

from comptoir.auth.keys import VerificationKey
from comptoir.auth.tokens import JOSE_TYPE, SIGNING_ALGORITHM, Claims, Clock, Scope, scope_names
from comptoir.errors import INVALID_CREDENTIALS, REQUEST_DENIED, OperatorError, Refusal
from comptoir.messages import message, quoted

ASYMMETRIC_ALGORITHMS = (
    *("ES256", "ES384", "ES512"),
    *("RS256", "RS384", "RS512"),
    *("PS256", "PS384", "PS512"),
    *("Ed25519", "Ed448"),
)
CLOCK_SKEW = 60
"""Seconds by which an issuer's clock may be ahead of the service's."""

MAX_TOKEN_BYTES = 8 * 1024
CACHED_TOKENS = 10_000

_MAX_HEADER_BYTES = MAX_TOKEN_BYTES + len("Bearer ")
# RFC 9068, 4 requires at+jwt; many issuers still write JWT, or nothing
_ACCEPTED_TYPES = frozenset({JOSE_TYPE, "application/at+jwt", "jwt"})
_NOT_IN_DESCRIPTION = re.compile(r"[^\x20\x21\x23-\x5b\x5d-\x7e]")
_SEND_BEARER = "Send `Authorization: Bearer <token>` with a token from `comptoir token`."
_AS_ISSUED = "Send it exactly as it was issued."
_COMPARE_CLOCKS = "Compare the clocks of the issuer and the service."


@dataclass(frozen=True, slots=True)
class Principal:
    """The subject of a token, with its scopes and the companies that it can access.

    `companies` contains ids as lower-case Guids; None means every company, an empty set none.
    """

    subject: str
    scopes: frozenset[str]
    companies: frozenset[str] | None

    def may(self, scope: Scope) -> bool:
        """Whether the principal has the scope; `admin` implies every scope."""
        return scope in self.scopes or Scope.ADMIN in self.scopes

    def reaches(self, company_id: str) -> bool:
        """Whether the principal reaches the company with this id, a lower-case Guid."""
        return self.companies is None or company_id in self.companies


def require(principal: Principal, scope: Scope) -> None:
    """Raise `Refusal` (403, challenge `insufficient_scope`) if the principal lacks the scope."""
    if not principal.may(scope):
        challenge = f'Bearer error="insufficient_scope", scope="{scope}"'
        raise Refusal(
            REQUEST_DENIED,
            f"The token lacks the scope {scope}",
            "Use a token with this scope.",
            headers={"WWW-Authenticate": challenge},
        )


def missing_credentials(problem: str) -> Refusal:
    """401 for a request without a bearer token.

    The challenge has no `error`: the client may not know that it must authenticate (RFC 6750, 3.1).
    """
    challenge = 'Bearer realm="comptoir"'
    return _unauthenticated(problem, _SEND_BEARER, challenge)


def invalid_token(problem: str, remedy: str) -> Refusal:
    """401 for a bearer token that is not accepted (RFC 6750, 3.1).

    The challenge repeats the message, with `'` for each character that it cannot contain.
    """
    description = _NOT_IN_DESCRIPTION.sub("'", message(problem, remedy))
    challenge = f'Bearer error="invalid_token", error_description="{description}"'
    return _unauthenticated(problem, remedy, challenge)


def _unauthenticated(problem: str, remedy: str, challenge: str) -> Refusal:
    headers = {"WWW-Authenticate": challenge}
    return Refusal(INVALID_CREDENTIALS, problem, remedy, target="Authorization", headers=headers)


@dataclass(frozen=True, slots=True)
class VerifiedToken:
    """An accepted token: its principal, and its end in seconds since 1970."""

    principal: Principal
    expires_at: float


class _Header(Struct, frozen=True):
    """The members of a JOSE header that the verifier uses (RFC 7515, 4.1).

    `jwk`, `jku`, `x5c` and `x5u` are not among them: a token never brings its own key.
    """

    alg: str
    kid: str | UnsetType = UNSET
    typ: str = JOSE_TYPE
    crit: list[str] | UnsetType = UNSET


class TokenVerifier:
    """Accepts tokens of one issuer for one audience, signed by a trusted key."""

    def __init__(
        self,
        keys: Mapping[str, VerificationKey],
        issuer: str,
        audience: str,
        algorithms: tuple[str, ...] = (SIGNING_ALGORITHM,),
        clock: Clock = time.time,
    ) -> None:
        """Set the trusted keys by `kid`, and the accepted algorithms.

        Raises `OperatorError` unless `algorithms` names one or more of `ASYMMETRIC_ALGORITHMS`.
        """
        for name in algorithms or ("",):
            if name not in ASYMMETRIC_ALGORITHMS:
                raise OperatorError(
                    f"the token algorithm {quoted(name)} is not supported",
                    f"Use one or more of {', '.join(ASYMMETRIC_ALGORITHMS)}.",
                )
        self.clock = clock
        self._keys = keys
        self._issuer = issuer
        self._audience = audience
        self._algorithms = algorithms
        # unknown members of a header are ignored (RFC 7515, 4)
        self._registry = jws.JWSRegistry(algorithms=algorithms, strict_check_header=False)

    def verify(self, token: str) -> VerifiedToken:
        """Verify a token in compact form (RFC 7515, 7.1).

        Raises `Refusal` (401, challenge `invalid_token`) with the check that failed.
        """
        claims = _parsed_claims(self._verified_payload(token))
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
            raise _malformed(error.description) from error
        except (msgspec.ValidationError, UnicodeEncodeError) as error:
            raise _malformed(str(error)) from error
        key = self._key_of(header)
        try:
            genuine = jws.validate_compact(signed, key, registry=self._registry)
        except (InvalidKeyTypeError, InvalidKeyCurveError) as error:
            raise invalid_token(
                "The bearer token's signing key (kid) does not fit its algorithm (alg)",
                "Get a new token from its issuer.",
            ) from error
        except JoseError as error:
            raise _malformed(error.description) from error
        if not genuine:
            raise invalid_token("The bearer token's signature is invalid", _AS_ISSUED)
        return signed.payload

    def _key_of(self, header: _Header) -> VerificationKey:
        if header.alg not in self._algorithms:
            raise invalid_token(
                "The bearer token's algorithm (alg) is not accepted",
                f"Use a token that is signed with {' or '.join(self._algorithms)}.",
            )
        if header.typ.lower() not in _ACCEPTED_TYPES:
            raise invalid_token(
                "The bearer token's type (typ) is not that of an access token",
                "Send the access token that the issuer returned.",
            )
        # critical extensions must be supported (RFC 7515, 4.1.11), and none is
        if header.crit is not UNSET:
            raise invalid_token(
                "The bearer token requires extensions (crit), which are not supported",
                "Use a token without them.",
            )
        if header.kid is UNSET:
            raise invalid_token(
                "The bearer token does not name its signing key (kid)",
                "Use a token whose header names it.",
            )
        key = self._keys.get(header.kid)
        if key is None:
            raise invalid_token(
                "The bearer token's signing key (kid) is not trusted",
                "Use a token of this service, or ask the operator to add the public key of the "
                "token's issuer to the key directory.",
            )
        return key

    def _check_parties(self, claims: Claims) -> None:
        if claims.iss != self._issuer:
            raise invalid_token(
                "The bearer token's issuer (iss) is not trusted",
                f"Use a token of the issuer {self._issuer}.",
            )
        audiences = [claims.aud] if isinstance(claims.aud, str) else claims.aud
        if self._audience not in audiences:
            raise invalid_token(
                "The bearer token is for another audience (aud)",
                f"Use a token for the audience {self._audience}.",
            )

    def _check_times(self, claims: Claims) -> None:
        now = self.clock()
        if claims.exp <= now:
            raise invalid_token(
                f"The bearer token expired at {_instant(claims.exp)} (exp)", "Get a new one."
            )
        if claims.nbf is not UNSET and claims.nbf > now + CLOCK_SKEW:
            raise invalid_token(
                f"The bearer token is not valid before {_instant(claims.nbf)} (nbf)",
                f"Wait until then. {_COMPARE_CLOCKS}",
            )
        if claims.iat is not UNSET and claims.iat > now + CLOCK_SKEW:
            raise invalid_token(
                f"The bearer token was issued in the future, at {_instant(claims.iat)} (iat)",
                _COMPARE_CLOCKS,
            )


class Authenticator:
    """Authenticates requests; for use in one event loop only.

    It caches the `capacity` tokens used last, because verifying a signature costs a hundred times
    a look-up. It compares a cached token with the clock at every use.
    """

    def __init__(self, verifier: TokenVerifier, capacity: int = CACHED_TOKENS) -> None:
        self._verifier = verifier
        self._clock = verifier.clock
        self._capacity = capacity
        self._verified: OrderedDict[bytes, VerifiedToken] = OrderedDict()

    def authenticate(self, authorization: bytes | None) -> Principal:
        """Return the principal of an `Authorization` header's value.

        Raises `Refusal` (401): without a bearer token with a bare challenge, else with
        `invalid_token` (RFC 6750, 3.1).
        """
        if authorization is None:
            raise missing_credentials("The request has no Authorization header")
        if len(authorization) > _MAX_HEADER_BYTES:
            raise invalid_token(
                f"The bearer token exceeds the limit of {MAX_TOKEN_BYTES} bytes",
                "Use a token with fewer claims.",
            )
        verified = self._verified.get(authorization)
        if verified is not None:
            if self._clock() < verified.expires_at:
                self._verified.move_to_end(authorization)
                return verified.principal
            del self._verified[authorization]
        verified = self._verifier.verify(_bearer_token(authorization))
        self._verified[authorization] = verified
        if len(self._verified) > self._capacity:
            self._verified.popitem(last=False)
        return verified.principal


def _bearer_token(authorization: bytes) -> str:
    scheme, _, credentials = authorization.partition(b" ")
    if scheme.lower() != b"bearer":
        raise missing_credentials("The Authorization header has no bearer token")
    token = credentials.strip(b" ")
    if not token.isascii():
        raise invalid_token("The bearer token contains non-ASCII characters", _AS_ISSUED)
    return token.decode("ascii")


def _parsed_claims(payload: bytes) -> Claims:
    try:
        return msgspec.json.decode(payload, type=Claims)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise invalid_token(
            f"The bearer token's claims are invalid: {error}", "Use a token that follows RFC 9068."
        ) from error


def _malformed(reason: str) -> Refusal:
    return invalid_token(f"The bearer token is malformed: {reason.removesuffix('.')}", _AS_ISSUED)


def _instant(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
