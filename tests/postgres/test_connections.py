"""Connections to a server over TLS, over a Unix socket, and to several hosts."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from comptoir.auth.local_authority import local_certificate
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
    local, other = (local_certificate(tmp_path / name) for name in ("server", "other"))
    files = {"ssl_cert_file": local.localhost.certificate, "ssl_key_file": local.localhost.key}
    for path in files.values():
        copy = own_server.data / path.name
        copy.write_bytes(path.read_bytes())
        copy.chmod(0o600)
        own_server.programs.own(copy)
    own_server.configure({"ssl": True, **{name: path.name for name, path in files.items()}})
    hba = own_server.data / "pg_hba.conf"
    hba.write_text(hba.read_text().replace("host ", "hostssl "))
    own_server.restart()
    url = migrated(own_server)
    verified = f"{url}?sslmode=verify-full&sslrootcert="

    for each in (f"{url}?sslmode=require", f"{verified}{local.authority.certificate}"):
        works(served, each)
    with pytest.raises(OperatorError, match="no encryption"):
        make_ready(Settings(database=f"{url}?sslmode=disable"), MODEL)
    with pytest.raises(OperatorError, match="certificate"):
        make_ready(Settings(database=f"{verified}{other.authority.certificate}"), MODEL)
