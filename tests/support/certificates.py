"""Certificates that a service cannot or must not present, and those of a local authority."""

import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import NameOID

from comptoir.auth.local_authority import Pair

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
ENCRYPTED = serialization.BestAvailableEncryption(b"secret")


def write_pair(
    pair: Pair,
    begins_in_days: int = -1,
    ends_in_days: int = 365,
    name: str = "localhost",
    issuer: Pair | None = None,
    encryption: serialization.KeySerializationEncryption | None = None,
    key: PrivateKey | None = None,
    further_names: Sequence[str] = (),
) -> Pair:
    """Write a certificate and its key; without an issuer, the certificate signs itself."""
    key = key or ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    signing, issued_by = key, subject
    if issuer is not None:
        loaded = serialization.load_pem_private_key(issuer.key.read_bytes(), password=None)
        assert isinstance(loaded, ec.EllipticCurvePrivateKey)
        signing = loaded
        issued_by = x509.load_pem_x509_certificate(issuer.certificate.read_bytes()).subject
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issued_by)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + timedelta(days=begins_in_days))
        .not_valid_after(now + timedelta(days=ends_in_days))
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName(each) for each in (name, *further_names)]),
            critical=False,
        )
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signing.public_key()), critical=False
        )
        .sign(signing, SHA256())
    )
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    pair.certificate.write_bytes(certificate.public_bytes(pem))
    pair.key.touch(0o600)
    protection = encryption or serialization.NoEncryption()
    pair.key.write_bytes(key.private_bytes(pem, form, protection))
    return pair


def trusting(authority: Path) -> ssl.SSLContext:
    """The context of a client that trusts one authority, and is strict."""
    context = ssl.create_default_context(cafile=authority)
    # the default of later releases of Python
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return context


@contextmanager
def trusted_folder(folder: Path) -> Iterator[Path]:
    """Let the services of a test trust the authority in a folder, which need not be there yet."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(folder / "authority.pem"))
        yield folder
