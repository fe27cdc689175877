"""The public keys with which clients sign assertions."""

import hashlib
from functools import lru_cache

import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_public_key
from cryptography.x509 import load_pem_x509_certificate
from joserfc.util import urlsafe_b64encode

from comptoir.auth.keys import KEY_TYPES, VerificationKey, verification_key
from comptoir.auth.records import ClientKey
from comptoir.errors import operator_rows as problems

MOST_KEYS = 5
"""The most keys of a client; an assertion that names none of them may be verified with each."""

RSA_BITS = range(2_048, 4_096 + 1)
"""The sizes of RSA keys that clients may have."""

LARGEST_FILE = 64 << 10
"""The most bytes of a file with a key or a certificate."""

_CERTIFICATE = b"-----BEGIN CERTIFICATE-----"
_PRIVATE_KEY = b"PRIVATE KEY-----"


def parse_client_key(content: bytes, path: str, now: float, expires_at: int) -> ClientKey:
    """The public key, or that of the first certificate, in PEM from a file or another place.

    A certificate's key ends with the certificate, even before `expires_at`. Raises `OperatorError`
    for a private key, a certificate that is not valid now, and a key that clients cannot use.
    """
    if _PRIVATE_KEY in content:
        raise problems.PRIVATE_KEY(path=path)
    try:
        certificate = load_pem_x509_certificate(content) if _CERTIFICATE in content else None
        key = verification_key(
            load_pem_public_key(content) if certificate is None else certificate.public_key(),
            RSA_BITS,
            (SECP256R1, Ed25519PublicKey),
        )
    except (ValueError, UnsupportedAlgorithm) as error:
        raise problems.NO_PUBLIC_KEY(path=path) from error
    if key is None:
        raise problems.UNSUPPORTED_KEY(path=path, least=RSA_BITS[0], most=RSA_BITS[-1])
    kid, jwk = key.thumbprint(), msgspec.json.encode(key.as_dict(private=False)).decode()
    if certificate is None:
        return ClientKey(kid, jwk, "", "", expires_at)
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if not begin.timestamp() <= now < end.timestamp():
        first, last = f"{begin:%Y-%m-%d}", f"{end:%Y-%m-%d}"
        raise problems.CERTIFICATE_OUTSIDE_PERIOD(path=path, begin=first, end=last)
    encoded = certificate.public_bytes(Encoding.DER)
    # not a signature: clients name their certificate by it (RFC 7515, 4.1.7)
    digests = hashlib.sha1(encoded, usedforsecurity=False), hashlib.sha256(encoded)
    x5t, x5t_s256 = (urlsafe_b64encode(each.digest()).decode() for each in digests)
    return ClientKey(kid, jwk, x5t, x5t_s256, min(int(end.timestamp()), expires_at))


@lru_cache(1_000)
def imported(jwk: str) -> VerificationKey:
    """The key of a JWK as `parse_client_key` stores it."""
    members = msgspec.json.decode(jwk, type=dict[str, str | list[str]])
    return KEY_TYPES[str(members["kty"])].import_key(members)
