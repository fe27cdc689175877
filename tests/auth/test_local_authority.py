"""The certificate for localhost, as strict clients judge it."""

import os
import ssl
import stat
from pathlib import Path

import pytest

from comptoir.auth.local_authority import LocalCertificate, Pair, local_certificate
from comptoir.errors.refusal import OperatorError
from support.certificates import trusting, write_pair
from support.together import together


@pytest.fixture
def local(tmp_path: Path) -> LocalCertificate:
    return local_certificate(tmp_path / "tls")


def shake_hands(presented: Pair, authority: Path, name: str) -> None:
    """A handshake in memory; raises `SSLError` if the client refuses the certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(presented.certificate, presented.key)
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = context.wrap_bio(to_server, to_client, server_side=True)
    client = trusting(authority).wrap_bio(to_client, to_server, server_hostname=name)
    for side in (client, server, client):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue


def files(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir()}


@together("name", ["localhost", "127.0.0.1", "::1"])
def test_a_strict_client_accepts_the_certificate(name: str, local: LocalCertificate) -> None:
    shake_hands(local.localhost, local.authority.certificate, name)


@together("name", ["example.com", "192.0.2.1"])
def test_the_certificate_is_for_no_other_name(name: str, local: LocalCertificate) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="mismatch"):
        shake_hands(local.localhost, local.authority.certificate, name)


def test_the_authority_cannot_certify_another_name(local: LocalCertificate, tmp_path: Path) -> None:
    """Whatever a thief of its key signs, clients refuse."""
    forged = Pair(tmp_path / "forged.pem", tmp_path / "forged.key")
    write_pair(forged, name="example.com", issuer=local.authority)
    with pytest.raises(ssl.SSLCertVerificationError, match="permitted subtree violation"):
        shake_hands(forged, local.authority.certificate, "example.com")


def test_first_use_creates_files_and_parents_that_later_uses_find(tmp_path: Path) -> None:
    """For their owner only: the parents may become the folders of the database and of the keys."""
    folder = tmp_path / "srv" / "data" / "tls"
    before = os.umask(0)
    try:
        local = local_certificate(folder)
    finally:
        os.umask(before)
    for each in (folder.parent, folder.parent.parent):
        assert stat.S_IMODE(each.stat().st_mode) == 0o700
    for pair in (local.localhost, local.authority):
        assert stat.S_IMODE(pair.key.stat().st_mode) == 0o600
        assert stat.S_IMODE(pair.certificate.stat().st_mode) == 0o644
    created = files(folder)
    assert local_certificate(folder) == local
    assert files(folder) == created


def test_a_certificate_is_renewed_by_the_same_authority(local: LocalCertificate) -> None:
    """Clients need not trust another one."""
    trusted = local.authority.certificate.read_bytes()
    ending = write_pair(local.localhost, ends_in_days=29, issuer=local.authority)
    before = ending.certificate.read_bytes()

    assert local_certificate(local.localhost.key.parent) == local
    assert local.localhost.certificate.read_bytes() != before
    assert local.authority.certificate.read_bytes() == trusted
    shake_hands(local.localhost, local.authority.certificate, "localhost")


def test_a_certificate_with_time_left_is_kept(local: LocalCertificate) -> None:
    write_pair(local.localhost, ends_in_days=31, issuer=local.authority)
    before = files(local.localhost.key.parent)
    local_certificate(local.localhost.key.parent)
    assert files(local.localhost.key.parent) == before


def test_a_removed_authority_is_replaced_with_its_certificate(local: LocalCertificate) -> None:
    local.authority.certificate.unlink()
    local_certificate(local.localhost.key.parent)
    shake_hands(local.localhost, local.authority.certificate, "localhost")


def test_a_key_that_others_can_read_is_refused(local: LocalCertificate) -> None:
    local.authority.key.chmod(0o644)
    with pytest.raises(OperatorError, match=f"chmod go-rwx {local.authority.key}"):
        local_certificate(local.authority.key.parent)


def test_a_broken_file_is_refused_and_left_alone(local: LocalCertificate) -> None:
    for path in (local.localhost.key, local.authority.certificate):
        for content in (b"", b"nonsense"):
            path.write_bytes(content)
            with pytest.raises(OperatorError, match=f"{path} does not contain"):
                local_certificate(path.parent)
            assert path.read_bytes() == content


def test_the_key_of_another_certificate_is_refused(local: LocalCertificate) -> None:
    local.authority.key.write_bytes(local.localhost.key.read_bytes())
    with pytest.raises(OperatorError, match=r"does not contain the key of .*authority\.pem"):
        local_certificate(local.authority.key.parent)
