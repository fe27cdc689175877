"""The keys that sign and verify tokens: the folder that they are in, which is valid at a time."""

import logging
import math
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
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
from cryptography.hazmat.primitives.asymmetric.types import (
    CertificatePublicKeyTypes,
    PublicKeyTypes,
)
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from joserfc.jwk import ECKey, OKPKey, RSAKey

from comptoir.edm.times import Clock
from comptoir.errors import operator_rows as problems
from comptoir.errors.messages import time_text
from comptoir.errors.refusal import OperatorError


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
_RSA_BITS = range(MIN_RSA_BITS, 16_384 + 1)  # OpenSSL verifies with none that is longer
_KINDS = (SECP256R1, SECP384R1, SECP521R1, Ed25519PublicKey, Ed448PublicKey)

VerificationKey = ECKey | RSAKey | OKPKey

KEY_TYPES: Mapping[str, type[RSAKey] | type[ECKey] | type[OKPKey]] = {
    "RSA": RSAKey,
    "EC": ECKey,
    "OKP": OKPKey,
}
"""The types of keys by the `kty` of a JWK (RFC 7518, 6.1)."""

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


def read_signing_key(path: Path) -> SigningKey:
    """The private key in a file; raises `OperatorError`."""
    key = read_private_key(path)
    public = ECKey.import_key(key.public_key())
    private, kid = ECKey.import_key(key), public.thumbprint()
    return SigningKey(path.name, _starts_at(path), private, public, kid)


def read_public_key(path: Path) -> VerificationKey:
    """The public key in a file; raises `OperatorError`."""
    try:
        key = load_pem_public_key(read(path, 0o022, "go-w"))
    except (ValueError, UnsupportedAlgorithm) as error:
        raise problems.UNUSABLE_FILE(path=path, expected="a PEM public key") from error
    found = verification_key(key, _RSA_BITS, _KINDS)
    if found is None:
        kinds = f"a P-256, P-384, P-521, Ed25519, Ed448 or RSA ({MIN_RSA_BITS} bits or more) key"
        raise problems.UNUSABLE_FILE(path=path, expected=kinds)
    return found


def verification_key(
    key: PublicKeyTypes | CertificatePublicKeyTypes, rsa_bits: range, kinds: tuple[type, ...]
) -> VerificationKey | None:
    """A public key as verification needs it.

    None unless it has one of these sizes of RSA, or one of these curves or kinds of Edwards keys.
    """
    match key:
        case RSAPublicKey(key_size=size) if size in rsa_bits:
            return RSAKey.import_key(key)
        case EllipticCurvePublicKey(curve=curve) if isinstance(curve, kinds):
            return ECKey.import_key(key)
        case Ed25519PublicKey() | Ed448PublicKey() if isinstance(key, kinds):
            return OKPKey.import_key(key)
    return None


SIGNING_KEY_FILE = "signing-key.pem"
PUBLIC_KEY_SUFFIX = ".pub.pem"
_KEY_FILE = re.compile(
    r"signing-key(?:\.(?P<time>\d{8}T\d{6}Z))?\.pem|.*\.pub\.pem", re.ASCII | re.DOTALL
)
_TIME = "%Y%m%dT%H%M%SZ"

_log = logging.getLogger(__name__)

_Version = tuple[int, ...]
"""Fingerprint of a file (times, size, inode)."""


class KeyFolder:
    """The keys of a folder, for use in one event loop only.

    `reload` reads the files again if one has changed, and logs and leaves out those that cannot be
    used. While none is left that signs, or the folder cannot be read, the former keys remain.
    """

    def __init__(self, folder: Path, clock: Clock = time.time) -> None:
        """Read all files; creates the folder and a signing key on first use.

        Processes that start at the same time end up with the same signing key. Raises
        `OperatorError` for a folder that the service cannot write to or others can, a private key
        that others can read, and a file without a usable key.
        """
        self._folder = folder
        self._clock = clock
        self._error = ""
        try:
            create_private(folder)
            if all(name.endswith(PUBLIC_KEY_SUFFIX) for name in self._versions()):
                create_signing_key(folder / SIGNING_KEY_FILE)
            self._seen = self._versions()
            self._keys = {name: self._read(name) for name in self._seen}
        except OSError as error:
            raise self._unusable(error) from error
        self._ring = self._followed = self._ring_now()

    @property
    def ring(self) -> KeyRing:
        """The keys of this moment, from the files at the last `reload`."""
        if self._clock() >= self._ring.changes_at and self.signing_keys:
            self._ring = self._ring_now()
        return self._ring

    @property
    def signing_keys(self) -> Sequence[SigningKey]:
        """The keys that sign, also ended ones, in the order of their starts."""
        keys = [each for each in self._keys.values() if isinstance(each, SigningKey)]
        return sorted(keys, key=lambda each: (each.starts_at, each.name))

    @property
    def public_keys(self) -> Mapping[str, VerificationKey]:
        """The keys of the `*.pub.pem` files by their names without the suffix."""
        return {
            name.removesuffix(PUBLIC_KEY_SUFFIX): each
            for name, each in self._keys.items()
            if not isinstance(each, SigningKey)
        }

    def own(self, kid: str) -> VerificationKey | None:
        """The key with which this service signs tokens under a `kid`."""
        return self.ring.own.get(kid) or self._looked().own.get(kid)

    def trusted(self, kid: str) -> VerificationKey | None:
        """The trusted key with a `kid`, which is its thumbprint (RFC 7638).

        For a `*.pub.pem` it may also be the name of the file without the suffix, because some
        issuers choose a `kid` of their own.
        """
        return self.ring.trusted.get(kid) or self._looked().trusted.get(kid)

    def reload(self) -> None:
        """Read the files again if one has changed since the last `reload`."""
        try:
            versions = self._versions()
        except (OperatorError, OSError) as error:
            found = str(self._unusable(error) if isinstance(error, OSError) else error)
            if found != self._error:
                self._error = found
                _log.warning("the former keys remain in use: %s", found)
            return
        self._error = ""
        if versions == self._seen:
            return
        self._seen, self._keys = versions, {}
        for name in versions:
            try:
                self._keys[name] = self._read(name)
            except (OperatorError, OSError) as error:
                _log.warning("a file of the key directory is left out: %s", error)
        if self.signing_keys:
            self._ring = self._ring_now()
        else:
            _log.warning("the former keys remain in use: %s has no key that signs", self._folder)

    async def look(self, changed: Callable[[], None]) -> None:
        """Look at the folder; call `changed` if the keys differ from those of the last look."""
        self.reload()
        former, self._followed = self._followed, self.ring
        if self._followed is not former:
            changed()

    def add_signing_key(self, starts_at: datetime) -> SigningKey:
        """Create the key that signs from a time on, in whole seconds.

        Raises `OperatorError` if a key starts then or later: the new one would not sign.
        """
        last = self.signing_keys[-1]
        if starts_at.timestamp() <= last.starts_at:
            raise problems.KEY_STARTS_EARLIER(name=last.name, time=time_text(last.starts_at))
        path = self._folder / f"signing-key.{starts_at.astimezone(UTC):{_TIME}}.pem"
        create_signing_key(path)
        return read_signing_key(path)

    def _looked(self) -> KeyRing:
        # another process may sign already with a key that this one has not seen
        self.reload()
        return self.ring

    def _unusable(self, error: OSError) -> OperatorError:
        return problems.UNUSABLE_KEY_FOLDER(folder=self._folder, reason=error.strerror)

    def _ring_now(self) -> KeyRing:
        return ring_at(self._clock(), self.signing_keys, self.public_keys)

    def _versions(self) -> Mapping[str, _Version]:
        """The versions of the files with keys; raises `OperatorError` if others can add some."""
        refuse_open(self._folder, self._folder.stat().st_mode, 0o022, "go-w")
        with os.scandir(self._folder) as entries:
            return {each.name: _version(each) for each in entries if _KEY_FILE.fullmatch(each.name)}

    def _read(self, name: str) -> SigningKey | VerificationKey:
        path = self._folder / name
        if name.endswith(PUBLIC_KEY_SUFFIX):
            return read_public_key(path)
        return read_signing_key(path)


def load_keys(folder: Path) -> KeyRing:
    """The keys of a folder at this moment; creates and raises like `KeyFolder`."""
    return KeyFolder(folder).ring


def _starts_at(path: Path) -> float:
    """The time in the name of a signing key's file in epoch seconds, 0 without one."""
    match = _KEY_FILE.fullmatch(path.name)
    if match is None or match["time"] is None:
        return 0.0
    try:
        return datetime.strptime(match["time"], _TIME).replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise problems.UNUSABLE_FILE(path=path, expected="a time in its name") from None


def _version(entry: os.DirEntry[str]) -> _Version:
    try:
        found = entry.stat()
    except FileNotFoundError:
        # a link to nothing, which cannot be read either
        return ()
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
