"""Who is asking, and what they may do: keys, tokens, principals, scopes."""

from comptoir.auth.authenticator import Authenticator
from comptoir.auth.keys import KeyRing, VerificationKey, load_keys
from comptoir.auth.principal import Principal, Scope, require, scope_names
from comptoir.auth.tokens import Clock, TokenIssuer, TokenVerifier, VerifiedToken, token_issuer

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
