"""Authentication and authorization: keys, tokens, principals, scopes."""

from comptoir.auth.authentication import (
    Authenticator,
    Principal,
    TokenVerifier,
    VerifiedToken,
    require,
)
from comptoir.auth.keys import KeyRing, VerificationKey, load_keys
from comptoir.auth.tokens import Clock, Scope, TokenIssuer, scope_names, token_issuer

__all__ = [
    "Authenticator",
    "Clock",
    "KeyRing",
    "Principal",
    "Scope",
    "TokenIssuer",
    "TokenVerifier",
    "VerificationKey",
    "VerifiedToken",
    "load_keys",
    "require",
    "scope_names",
    "token_issuer",
]
