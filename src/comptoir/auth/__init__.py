"""Authentication and authorization: keys, tokens, principals, scopes.

What only a service needs is not here, because a command that issues a token would import it.
"""

from comptoir.auth.keys import KeyFolder, KeyRing, VerificationKey, load_keys
from comptoir.auth.limits import Account, Limits
from comptoir.auth.roles import Principal, Right, Rights, Role, parse_roles, require, rights_of
from comptoir.auth.tokens import Scope, TokenIssuer, scope_names, token_issuer
from comptoir.auth.verification import ClientTokens, TokenVerifier, VerifiedToken

__all__ = [
    "Account",
    "ClientTokens",
    "KeyFolder",
    "KeyRing",
    "Limits",
    "Principal",
    "Right",
    "Rights",
    "Role",
    "Scope",
    "TokenIssuer",
    "TokenVerifier",
    "VerificationKey",
    "VerifiedToken",
    "load_keys",
    "parse_roles",
    "require",
    "rights_of",
    "scope_names",
    "token_issuer",
]
