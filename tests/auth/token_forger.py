"""Makes the tokens that no issuer should make."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec
from joserfc import jws
from joserfc.jwk import ECKey, Key

from comptoir.auth import KeyRing, Scope, TokenIssuer, TokenVerifier

ISSUER = "https://issuer.example"
AUDIENCE = "comptoir-tests"
COMPANY = "9a0cf0f2-56ab-4f0c-8d6e-1d2b1c5b7e11"
NOW = 1_800_000_000  # 2027-01-15T08:00:00Z

JSON = object


@dataclass
class SetClock:
    """A clock that stands still until it is set."""

    now: float = NOW

    def __call__(self) -> float:
        return self.now


@dataclass
class TokenForger:
    """An issuer and a verifier over the same keys and clock, and the tools of a forger."""

    keys: KeyRing
    clock: SetClock = field(default_factory=SetClock)

    @property
    def kid(self) -> str:
        return self.keys.signing.thumbprint()

    @property
    def issuer(self) -> TokenIssuer:
        return TokenIssuer(self.keys.signing, ISSUER, AUDIENCE, self.clock)

    def verifier(self, *algorithms: str) -> TokenVerifier:
        return TokenVerifier(
            self.keys.trusted, ISSUER, AUDIENCE, algorithms or ("ES256",), self.clock
        )

    def forge(
        self,
        claims: Mapping[str, JSON] | bytes | None = None,
        header: Mapping[str, JSON] | None = None,
        key: Key | None = None,
    ) -> str:
        """A signed token with whatever claims and header; a member that is None is left out."""
        members = {"alg": "ES256", "kid": self.kid, "typ": "at+jwt", **(header or {})}
        protected = {name: value for name, value in members.items() if value is not None}
        payload = claims if isinstance(claims, bytes) else self.payload(**(claims or {}))
        registry = jws.JWSRegistry(algorithms=[str(protected["alg"])], strict_check_header=False)
        return jws.serialize_compact(
            protected, payload, key or self.keys.signing, registry=registry
        )

    def payload(self, **claims: JSON) -> bytes:
        """Good claims as JSON, with these in their place; msgspec.UNSET leaves one out."""
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
    """The compact form of these parts, as they are."""
    parts = (base64.urlsafe_b64encode(part).rstrip(b"=") for part in (header, payload, signature))
    return b".".join(parts).decode()


def new_key() -> ECKey:
    return ECKey.generate_key("P-256")
