"""Files of keys and certificates: written whole, and refused if others may use or change them."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from comptoir import operator_rows as problems


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
