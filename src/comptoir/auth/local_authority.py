"""A certificate authority for this machine alone, and its certificate for localhost."""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address, ip_network
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from comptoir.auth.keys import (
    create_private,
    drafted,
    private_pem,
    read,
    read_private_key,
    refuse_open,
)
from comptoir.errors import operator_rows as problems

_NAME = "localhost"
_ADDRESSES = "127.0.0.1", "::1"

_AUTHORITY_LIVES = timedelta(days=3_650)
_CERTIFICATE_LIVES = timedelta(days=397)
"""The longest that browsers accept."""
_RENEWED_BEFORE = timedelta(days=30)
_CLOCK_SKEW = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Pair:
    """The files of a certificate and of its private key."""

    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True)
class LocalCertificate:
    """The certificate for localhost, and the authority that clients must trust."""

    localhost: Pair
    authority: Pair


@dataclass(frozen=True, slots=True)
class _Held:
    certificate: x509.Certificate
    key: EllipticCurvePrivateKey


def local_certificate(folder: Path) -> LocalCertificate:
    """A certificate for localhost in a folder; creates it and its authority if missing.

    Renews what expires within 30 days. Processes that start at the same time use the same files.
    The authority can certify localhost only, so that its key is of little use to a thief. Raises
    `OperatorError` for a folder or a file that cannot be used.
    """
    local = LocalCertificate(
        Pair(folder / "localhost.pem", folder / "localhost.key"),
        Pair(folder / "authority.pem", folder / "authority.key"),
    )
    try:
        create_private(folder.parent)
        folder.mkdir(mode=0o755, exist_ok=True)
        refuse_open(folder, folder.stat().st_mode, 0o022, "go-w")
        with _locked(folder):
            now = datetime.now(UTC)
            authority = _held(local.authority, now)
            if authority is None:
                authority = _store(local.authority, _new_authority(now))
            localhost = _held(local.localhost, now)
            if localhost is None or not _is_issued_by(localhost, authority):
                _store(local.localhost, _new_certificate(authority, now))
    except OSError as error:
        raise problems.UNUSABLE_FOLDER(folder=folder, reason=error.strerror) from error
    return local


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        # the end of the process releases it too
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _held(pair: Pair, now: datetime) -> _Held | None:
    """The certificate and key in their files; None before they are created, and to renew them."""
    if not pair.certificate.exists():
        return None
    try:
        certificate = x509.load_pem_x509_certificate(read(pair.certificate, 0o022, "go-w"))
    except ValueError as error:
        raise problems.UNUSABLE_FILE(path=pair.certificate, expected="a PEM certificate") from error
    key = read_private_key(pair.key)
    if certificate.public_key() != key.public_key():
        raise problems.UNUSABLE_FILE(path=pair.key, expected=f"the key of {pair.certificate}")
    is_ending = now > certificate.not_valid_after_utc - _RENEWED_BEFORE
    return None if is_ending else _Held(certificate, key)


def _store(pair: Pair, held: _Held) -> _Held:
    # the key first, because an interrupted start leaves no certificate without its key
    pair.certificate.unlink(missing_ok=True)
    with drafted(pair.key, private_pem(held.key)) as draft:
        draft.replace(pair.key)
    with drafted(pair.certificate, held.certificate.public_bytes(Encoding.PEM), 0o644) as draft:
        draft.replace(pair.certificate)
    return held


def _is_issued_by(held: _Held, authority: _Held) -> bool:
    try:
        held.certificate.verify_directly_issued_by(authority.certificate)
    except (ValueError, InvalidSignature):
        return False
    return True


def _new_authority(now: datetime) -> _Held:
    networks = [x509.IPAddress(ip_network(address)) for address in _ADDRESSES]
    permitted = x509.NameConstraints([x509.DNSName(_NAME), *networks], None)
    critical = x509.BasicConstraints(ca=True, path_length=0), _usage(certifies=True), permitted
    name = f"Comptoir on this machine, {now:%Y-%m-%d %H:%M:%S}"
    return _certified(name, None, now, _AUTHORITY_LIVES, critical)


def _new_certificate(authority: _Held, now: datetime) -> _Held:
    addresses = [x509.IPAddress(ip_address(address)) for address in _ADDRESSES]
    critical = x509.BasicConstraints(ca=False, path_length=None), _usage(certifies=False)
    identifier = authority.certificate.extensions.get_extension_for_class(
        x509.SubjectKeyIdentifier
    ).value
    others = (
        x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]),
        x509.SubjectAlternativeName([x509.DNSName(_NAME), *addresses]),
        x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier),
    )
    return _certified(_NAME, authority, now, _CERTIFICATE_LIVES, critical, others)


def _certified(
    name: str,
    authority: _Held | None,
    now: datetime,
    lives: timedelta,
    critical: Sequence[x509.ExtensionType],
    others: Sequence[x509.ExtensionType] = (),
) -> _Held:
    """A new key with its certificate, which an authority signs, or the key itself."""
    key = generate_private_key(SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(authority.certificate.subject if authority else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now - _CLOCK_SKEW + lives)
    )
    for each in (x509.SubjectKeyIdentifier.from_public_key(key.public_key()), *critical, *others):
        builder = builder.add_extension(each, critical=each in critical)
    return _Held(builder.sign(authority.key if authority else key, SHA256()), key)


def _usage(*, certifies: bool) -> x509.KeyUsage:
    # in the order of RFC 5280, 4.2.1.3: to sign, then to sign certificates
    before, after = (False,) * 4, (False,) * 3
    return x509.KeyUsage(not certifies, *before, certifies, *after)
