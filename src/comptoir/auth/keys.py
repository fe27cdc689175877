"""The keys that sign and verify tokens, in a directory."""

import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    SECP384R1,
    SECP521R1,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from joserfc.jwk import ECKey, OKPKey, RSAKey

from comptoir.errors import OperatorError

SIGNING_KEY_FILE = "signing-key.pem"
PUBLIC_KEY_SUFFIX = ".pub.pem"

_MIN_RSA_BITS = 2048  # RFC 7518 section 3.3

VerificationKey = ECKey | RSAKey | OKPKey


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The private signing key (ES256), and the trusted public keys by `kid`."""

    signing: ECKey
    trusted: Mapping[str, VerificationKey]


def load_keys(directory: Path) -> KeyRing:
    """Return the keys in a directory; creates it and a signing key on first use.

    Processes that start at the same time end up with the same signing key. Every `*.pub.pem` in
    the directory is trusted too, such as a rotated key's public half or a foreign issuer's key. A
    key's `kid` is its thumbprint (RFC 7638), and for a `*.pub.pem` also the file name without the
    suffix, because some issuers choose a `kid` of their own.

    Raises `OperatorError` for a directory that the service cannot write to or others can, a
    private key that others can read, and a file without a usable key.
    """
    path = directory / SIGNING_KEY_FILE
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        _refuse_open(directory, directory.stat().st_mode, 0o022, "go-w")
        if not path.exists():
            _create_signing_key(path)
        signing = _read_signing_key(path)
        public = {
            file.name.removesuffix(PUBLIC_KEY_SUFFIX): _read_public_key(file)
            for file in sorted(directory.glob(f"*{PUBLIC_KEY_SUFFIX}"))
        }
    except OSError as error:
        raise OperatorError(
            f"the key directory {directory} cannot be used: {error.strerror}",
            "Choose another one, or change its permissions for the service's user.",
        ) from error
    own = ECKey.import_key(signing.public_key())
    by_thumbprint = {key.thumbprint(): key for key in (own, *public.values())}
    return KeyRing(ECKey.import_key(signing), {**public, **by_thumbprint})


def _create_signing_key(path: Path) -> None:
    pem = generate_private_key(SECP256R1()).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(pem)
            file.flush()
            os.fsync(file.fileno())
        # unlike a rename, a link never replaces the key of a faster process
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()


def _read_signing_key(path: Path) -> EllipticCurvePrivateKey:
    try:
        key = load_pem_private_key(_read(path, 0o077, "go-rwx"), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise _unusable(path, "an unencrypted PEM private key") from error
    if not isinstance(key, EllipticCurvePrivateKey) or not isinstance(key.curve, SECP256R1):
        raise _unusable(path, "a P-256 key, which ES256 needs")
    return key


def _read_public_key(path: Path) -> VerificationKey:
    try:
        key = load_pem_public_key(_read(path, 0o022, "go-w"))
    except (ValueError, UnsupportedAlgorithm) as error:
        raise _unusable(path, "a PEM public key") from error
    match key:
        case EllipticCurvePublicKey(curve=SECP256R1() | SECP384R1() | SECP521R1()):
            return ECKey.import_key(key)
        case RSAPublicKey(key_size=size) if size >= _MIN_RSA_BITS:
            return RSAKey.import_key(key)
        case Ed25519PublicKey() | Ed448PublicKey():
            return OKPKey.import_key(key)
    raise _unusable(
        path, f"a P-256, P-384, P-521, Ed25519, Ed448 or RSA ({_MIN_RSA_BITS} bits or more) key"
    )


def _read(path: Path, forbidden: int, remedy: str) -> bytes:
    with path.open("rb") as file:
        # the mode of the open file, because its name may refer to another one by now
        _refuse_open(path, os.fstat(file.fileno()).st_mode, forbidden, remedy)
        return file.read()


def _refuse_open(path: Path, mode: int, forbidden: int, remedy: str) -> None:
    if mode & forbidden:
        raise OperatorError(
            f"other users have access to {path} (mode {mode & 0o777:04o})",
            f"Run `chmod {remedy} {path}`.",
        )


def _unusable(path: Path, expected: str) -> OperatorError:
    return OperatorError(
        f"{path} does not contain {expected}", "Restore the file, or move it away."
    )
