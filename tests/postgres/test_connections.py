"""Connections to a server over TLS, over a Unix socket, and to several hosts."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from comptoir.catalog import MODEL
from comptoir.config import Settings
from comptoir.errors.refusal import OperatorError
from comptoir.store.migration import make_ready
from postgres.conftest import Served
from support.client import record
from support.databases import migrated
from support.effort import go_without
from support.ports import LOOPBACK, free_port
from support.postgres import Databases, Postgres, name_of


def certify(folder: Path, name: str) -> tuple[Path, Path]:
    """A self-signed certificate for loopback, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address(LOOPBACK))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / f"{name}.crt", folder / f"{name}.key"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    paths[1].chmod(0o600)
    return paths


def works(served: Served, url: str) -> None:
    """Write a record by a service over a database, and read it."""
    company = served(url).new_company()
    created = record(company.post("campaignsExt", {"number": "C-1"}), 201)
    assert company.record(f"campaignsExt({created['id']})")["number"] == "C-1"


def test_a_url_can_name_a_unix_socket(postgres_server: Databases, served: Served) -> None:
    name = name_of(migrated(postgres_server))
    works(served, postgres_server.url(name, over_socket=True))


def test_the_first_reachable_host_of_a_url_is_used(
    postgres_server: Databases, served: Served
) -> None:
    parts = urlsplit(migrated(postgres_server))
    who, _, place = parts.netloc.rpartition("@")
    url = urlunsplit(parts._replace(netloc=f"{who}@{LOOPBACK}:{free_port()},{place}"))
    works(served, f"{url}?target_session_attrs=read-write")


@pytest.fixture
def own_server() -> Iterator[Postgres]:
    """A server whose settings a test may change."""
    with Postgres() as server:
        yield server


def test_tls_is_used_and_certificates_are_verified(
    own_server: Postgres, served: Served, tmp_path: Path
) -> None:
    if own_server.asked("SHOW ssl_library") == [("",)]:
        go_without("this PostgreSQL is built without TLS: install the package postgresql")
    certificate, key = certify(tmp_path, "server")
    other, _ = certify(tmp_path, "other")
    for path in (certificate, key):
        copy = own_server.data / path.name
        copy.write_bytes(path.read_bytes())
        copy.chmod(0o600)
        own_server.programs.own(copy)
    own_server.configure({"ssl": True, "ssl_cert_file": "server.crt", "ssl_key_file": "server.key"})
    hba = own_server.data / "pg_hba.conf"
    hba.write_text(hba.read_text().replace("host ", "hostssl "))
    own_server.restart()
    url = migrated(own_server)

    for options in ("sslmode=require", f"sslmode=verify-full&sslrootcert={certificate}"):
        works(served, f"{url}?{options}")
    with pytest.raises(OperatorError, match="no encryption"):
        make_ready(Settings(database=f"{url}?sslmode=disable"), MODEL)
    with pytest.raises(OperatorError, match="certificate"):
        make_ready(Settings(database=f"{url}?sslmode=verify-full&sslrootcert={other}"), MODEL)
