"""The documents by which clients find the token endpoint and the keys of its tokens."""

from collections.abc import Mapping

import msgspec

from comptoir.auth.assertions import ASSERTION_ALGORITHMS
from comptoir.auth.keys import VerificationKey
from comptoir.auth.origins import token_url
from comptoir.auth.token_endpoint import GRANT
from comptoir.auth.tokens import SIGNING_ALGORITHM, Scope

_METHODS = ("client_secret_basic", "client_secret_post", "private_key_jwt")


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """The members of RFC 8414, 2, which OpenID Connect Discovery shares.

    OpenID Connect requires two more, about ID tokens, although the service issues none.
    """

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    revocation_endpoint: str
    introspection_endpoint: str
    scopes_supported: tuple[str, ...] = tuple(Scope)
    response_types_supported: tuple[str, ...] = ()
    subject_types_supported: tuple[str, ...] = ("public",)
    id_token_signing_alg_values_supported: tuple[str, ...] = (SIGNING_ALGORITHM,)
    grant_types_supported: tuple[str, ...] = (GRANT,)
    token_endpoint_auth_methods_supported: tuple[str, ...] = _METHODS
    token_endpoint_auth_signing_alg_values_supported: tuple[str, ...] = ASSERTION_ALGORITHMS
    revocation_endpoint_auth_methods_supported: tuple[str, ...] = _METHODS
    revocation_endpoint_auth_signing_alg_values_supported: tuple[str, ...] = ASSERTION_ALGORITHMS
    introspection_endpoint_auth_methods_supported: tuple[str, ...] = _METHODS
    introspection_endpoint_auth_signing_alg_values_supported: tuple[str, ...] = ASSERTION_ALGORITHMS


def configuration(issuer: str, origin: str, tenant: str) -> Configuration:
    """The document of an issuer, which is the address that it was asked for at.

    The endpoints begin with the tenant: Microsoft's library for Node replaces the first segment.
    """
    root = f"{origin}/{tenant}"
    return Configuration(
        issuer=issuer,
        authorization_endpoint=f"{root}/oauth2/v2.0/authorize",
        token_endpoint=token_url(origin, tenant),
        jwks_uri=f"{root}/discovery/v2.0/keys",
        revocation_endpoint=f"{root}/oauth2/v2.0/revoke",
        introspection_endpoint=f"{root}/oauth2/v2.0/introspect",
    )


def key_set(keys: Mapping[str, VerificationKey]) -> bytes:
    """The document with the public keys of clients' tokens, a JWK set (RFC 7517, 5)."""
    members = [
        {**key.as_dict(private=False), "kid": kid, "use": "sig", "alg": SIGNING_ALGORITHM}
        for kid, key in keys.items()
    ]
    return msgspec.json.encode({"keys": members})
