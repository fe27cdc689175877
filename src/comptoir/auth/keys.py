"""The keys that sign and verify tokens, and which of them are valid at a time."""

import math
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
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

from comptoir.errors import operator_rows as problems


def create_private(folder: Path) -> None:
    """Create a folder and its missing parents if missing, for their owner only."""
    for each in (*reversed(folder.parents), folder):
        each.mkdir(mode=0o700, exist_ok=True)


def private_pem(key: EllipticCurvePrivateKey) -> bytes:
    """A private key as unencrypted PEM."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


@contextmanager
def drafted(path: Path, content: bytes, mode: int = 0o600) -> Iterator[Path]:
    """A file beside a path with the content for it, on disk; removed at the end of the block.

    It belongs to the owner of the folder, who could not read a private file of root.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if os.geteuid() == 0:
                os.fchown(descriptor, path.parent.stat().st_uid, -1)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def read_private_key(path: Path) -> EllipticCurvePrivateKey:
    """The P-256 key in a file that only its owner can read; raises `OperatorError`."""
    try:
        key = load_pem_private_key(read(path, 0o077, "go-rwx"), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise problems.UNUSABLE_FILE(
            path=path, expected="an unencrypted PEM private key"
        ) from error
    if not isinstance(key, EllipticCurvePrivateKey) or not isinstance(key.curve, SECP256R1):
        raise problems.UNUSABLE_FILE(path=path, expected="a P-256 key, which ES256 needs")
    return key


def read(path: Path, forbidden: int, remedy: str) -> bytes:
    """The content of a file; raises `OperatorError` if its mode has one of the forbidden bits."""
    with path.open("rb") as file:
        # the mode of the open file, because its name may refer to another one by now
        refuse_open(path, os.fstat(file.fileno()).st_mode, forbidden, remedy)
        return file.read()


def refuse_open(path: Path, mode: int, forbidden: int, remedy: str) -> None:
    """Raise `OperatorError` if a mode has one of the forbidden bits."""
    if mode & forbidden:
        raise problems.OPEN_TO_OTHERS(path=path, mode=mode & 0o777, change=remedy)


TRUSTED_SECONDS = 86_400
"""Seconds for which tokens of a signing key are accepted after its successor has begun to sign."""

MIN_RSA_BITS = 2048  # RFC 7518 section 3.3

VerificationKey = ECKey | RSAKey | OKPKey

KeyLookup = Callable[[str], VerificationKey | None]
"""Returns the trusted key with a `kid`."""


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key of the service (ES256), which signs from a time on, in epoch seconds."""

    name: str
    starts_at: float
    private: ECKey
    public: ECKey
    kid: str


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The keys at a time: the private one that signs, and the trusted public ones by `kid`.

    `own` are those of them whose private key this service has: only these sign clients' tokens.
    At `changes_at`, in epoch seconds, another key begins to sign or one ends.
    """

    signing: ECKey
    own: Mapping[str, VerificationKey]
    trusted: Mapping[str, VerificationKey]
    changes_at: float


def ring_at(
    now: float, signing: Sequence[SigningKey], public: Mapping[str, VerificationKey]
) -> KeyRing:
    """The keys at a time, of signing keys in the order of their starts and of `*.pub.pem` files.

    The last key that has started signs. Keys of the future are trusted, because the clock of
    another host may be ahead.
    """
    started = [each for each in signing if each.starts_at <= now]
    ends = [*(end_of(successor) for _, successor in pairwise(signing)), math.inf]
    own = {key.kid: key.public for key, end in zip(signing, ends, strict=True) if now < end}
    by_thumbprint = {key.thumbprint(): key for key in public.values()}
    changes = [time for time in (*(each.starts_at for each in signing), *ends) if time > now]
    return KeyRing(
        signing=(started or signing[:1])[-1].private,
        own=own,
        trusted={**public, **by_thumbprint, **own},
        changes_at=min(changes),
    )


def end_of(successor: SigningKey) -> float:
    """The time at which the tokens of a signing key end."""
    return successor.starts_at + TRUSTED_SECONDS


def create_signing_key(path: Path) -> None:
    """Create a private key in a file that does not exist yet."""
    # unlike a rename, a link never replaces the key of a faster process
    with (
        drafted(path, private_pem(generate_private_key(SECP256R1()))) as draft,
        suppress(FileExistsError),
    ):
        os.link(draft, path)


def read_signing_key(path: Path, starts_at: float) -> SigningKey:
    """The private key in a file; raises `OperatorError`."""
    key = read_private_key(path)
    public = ECKey.import_key(key.public_key())
    return SigningKey(path.name, starts_at, ECKey.import_key(key), public, public.thumbprint())


def read_public_key(path: Path) -> VerificationKey:
    """The public key in a file; raises `OperatorError`."""
    try:
        key = load_pem_public_key(read(path, 0o022, "go-w"))
    except (ValueError, UnsupportedAlgorithm) as error:
        raise problems.UNUSABLE_FILE(path=path, expected="a PEM public key") from error
    match key:
        case EllipticCurvePublicKey(curve=SECP256R1() | SECP384R1() | SECP521R1()):
            return ECKey.import_key(key)
        case RSAPublicKey(key_size=size) if size >= MIN_RSA_BITS:
            return RSAKey.import_key(key)
        case Ed25519PublicKey() | Ed448PublicKey():
            return OKPKey.import_key(key)
    raise problems.UNUSABLE_FILE(
        path=path,
        expected=f"a P-256, P-384, P-521, Ed25519, Ed448 or RSA ({MIN_RSA_BITS} bits or more) key",
    )
