"""Assertions: tokens that clients sign to authenticate themselves (RFC 7523, 2.2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec
from joserfc import jws
from joserfc.errors import JoseError
from msgspec import UNSET, Meta, Struct, UnsetType, field

from comptoir.auth.client_keys import imported
from comptoir.auth.keys import VerificationKey
from comptoir.auth.records import Client, ClientKey
from comptoir.auth.tokens import NumericDate
from comptoir.auth.verification import CLOCK_SKEW, extracted
from comptoir.errors import oauth_rows as problems

ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
LONGEST_LIFETIME = 3_600
"""The most seconds from now to the end of an assertion, besides the difference of clocks."""

LARGEST_HEADER = 12 << 10
"""The most bytes of a header as base64: Microsoft's clients send a chain of certificates in it."""

# EdDSA is the name of Ed25519 before RFC 9864, which Ed448 shares
ASSERTION_ALGORITHMS = ("RS256", "PS256", "ES256", "Ed25519", "EdDSA")

# a token of another type must not serve as an assertion (RFC 8725, 3.11)
_TYPES = frozenset({"jwt", "client-authentication+jwt", "application/client-authentication+jwt"})

_registry = jws.JWSRegistry(algorithms=ASSERTION_ALGORITHMS, strict_check_header=False)
_registry.max_header_length = LARGEST_HEADER
# joserfc would accept Ed448 and emit a warning
_registry.algorithms = {**_registry.algorithms, "EdDSA": _registry.algorithms["Ed25519"]}


class _AssertionHeader(Struct, frozen=True):
    """The members of a header that are used.

    `jwk`, `jku`, `x5c` and `x5u` are not among them: an assertion never brings its own key.
    """

    alg: str
    typ: str = "JWT"
    kid: str = ""
    x5t: str = ""
    x5t_s256: str = field(default="", name="x5t#S256")
    crit: list[str] | UnsetType = UNSET

    def names(self, key: ClientKey) -> bool:
        """Whether the header names a key, by one of three names that may be padded."""
        named = ((self.kid, key.kid), (self.x5t, key.x5t), (self.x5t_s256, key.x5t_s256))
        return any(sent and sent.rstrip("=") == known for sent, known in named)


class AssertionClaims(Struct, frozen=True):
    """The claims of an assertion (RFC 7523, 3); times may have fractions."""

    iss: str
    sub: str
    aud: str | list[str]
    exp: NumericDate
    jti: Annotated[str, Meta(min_length=1, max_length=255)]
    nbf: NumericDate | UnsetType = UNSET

    def __post_init__(self) -> None:
        # PostgreSQL cannot store U+0000
        if not self.jti.isprintable():
            raise ValueError("`jti` contains characters that are not printable")


@dataclass(frozen=True, slots=True)
class Assertion:
    """An unverified client assertion."""

    client_id: str
    claims: AssertionClaims
    _header: _AssertionHeader
    _signed: jws.CompactSignature

    def check(self, audiences: Sequence[str], now: float) -> None:
        """Check what does not depend on a client; raises `OAuthRefusal` (`invalid_client`)."""
        header, claims = self._header, self.claims
        if header.alg not in ASSERTION_ALGORITHMS:
            raise problems.UNKNOWN_ALGORITHM(known=", ".join(ASSERTION_ALGORITHMS[:-1]))
        if header.typ.lower() not in _TYPES:
            raise problems.NOT_AN_ASSERTION()
        # critical extensions must be supported (RFC 7515, 4.1.11), and none is
        if header.crit is not UNSET:
            raise problems.REQUIRED_EXTENSIONS()
        if not self.client_id == claims.iss == claims.sub:
            raise problems.DIFFERENT_CLIENTS()
        audience = [claims.aud] if isinstance(claims.aud, str) else claims.aud
        if not {each.lower() for each in audience} & set(audiences):
            raise problems.ANOTHER_AUDIENCE(audience=audiences[0])
        if claims.exp <= now:
            raise problems.EXPIRED()
        if claims.exp > now + LONGEST_LIFETIME + CLOCK_SKEW:
            raise problems.LATE_END()
        if claims.nbf is not UNSET and claims.nbf > now + CLOCK_SKEW:
            raise problems.NOT_YET_VALID()

    def is_signed_by(self, client: Client, now: float) -> bool:
        """Whether one of a client's keys signed the assertion, whose algorithm was checked."""
        header = self._header
        is_named = bool(header.kid or header.x5t or header.x5t_s256)
        return any(
            self._is_genuine(imported(each.jwk))
            for each in client.keys
            if now < each.expires_at and (header.names(each) or not is_named)
        )

    def _is_genuine(self, key: VerificationKey) -> bool:
        try:
            return jws.validate_compact(self._signed, key, registry=_registry)
        except JoseError:
            # such as a key of another kind than the algorithm needs
            return False


def parse_assertion(text: str, client_id: str | None) -> Assertion:
    """The parts of an assertion; without a client id, that which it names.

    Raises `OAuthRefusal` (`invalid_client`) unless its header and claims have the right form.
    """
    try:
        signed = extracted(text, _registry)
        header = msgspec.convert(signed.headers(), _AssertionHeader)
        claims = msgspec.json.decode(signed.payload, type=AssertionClaims)
    except JoseError as error:
        raise problems.MALFORMED_ASSERTION(reason=error.description.removesuffix(".")) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise problems.MALFORMED_ASSERTION(reason=str(error).removesuffix(".")) from error
    return Assertion(claims.sub if client_id is None else client_id, claims, header, signed)
