"""Tokens that an issuer should not create."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec
from joserfc.jwk import ECKey, Key

from comptoir.auth.keys import KeyRing
from comptoir.auth.roles import Principal
from comptoir.auth.tokens import Scope, TokenIssuer
from comptoir.auth.verification import PresentedToken, TokenVerifier, principal_of
from support.assertions import base64url, signed
from support.clocks import SetClock

ISSUER = "https://issuer.example"
AUDIENCE = "comptoir-tests"
COMPANY = "9a0cf0f2-56ab-4f0c-8d6e-1d2b1c5b7e11"
NOW = 1_800_000_000  # 2027-01-15T08:00:00Z

JSON = object


@dataclass
class TokenForger:
    """Forges tokens; has an issuer and a verifier with the same keys and clock."""

    keys: KeyRing
    clock: SetClock = field(default_factory=lambda: SetClock(NOW))

    @property
    def kid(self) -> str:
        return self.keys.signing.thumbprint()

    @property
    def issuer(self) -> TokenIssuer:
        return TokenIssuer(lambda: self.keys.signing, ISSUER, AUDIENCE, self.clock)

    def verifier(self, *algorithms: str) -> TokenVerifier:
        return TokenVerifier(
            self.keys.trusted.get, ISSUER, AUDIENCE, algorithms or ("ES256",), self.clock
        )

    def accepted(self, token: str) -> Principal:
        """The principal of a token; raises `Refusal`."""
        return principal_of(self.verifier().verify(PresentedToken(token)))

    def forge(
        self,
        claims: Mapping[str, JSON] | bytes | None = None,
        header: Mapping[str, JSON] | None = None,
        key: Key | None = None,
    ) -> str:
        """A signed token with any claims and header; members that are None are left out."""
        members = {"alg": "ES256", "kid": self.kid, "typ": "at+jwt", **(header or {})}
        protected = {name: value for name, value in members.items() if value is not None}
        payload = claims if isinstance(claims, bytes) else self.payload(**(claims or {}))
        return signed(protected, payload, key or self.keys.signing)

    def payload(self, **claims: JSON) -> bytes:
        """Valid claims as JSON, replaced by `claims`; msgspec.UNSET leaves a claim out."""
        good = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": "tests",
            "exp": self.clock.now + 3600,
            "iat": self.clock.now,
            "scope": str(Scope.RECORDS_READ),
        }
        merged = {**good, **claims}
        return msgspec.json.encode(
            {name: value for name, value in merged.items() if value is not msgspec.UNSET}
        )


def unsigned(header: bytes, payload: bytes, signature: bytes = b"") -> str:
    """The compact form of these parts, unchanged."""
    return ".".join(map(base64url, (header, payload, signature)))


def new_key() -> ECKey:
    return ECKey.generate_key("P-256")
