"""`comptoir client key`: the public keys of clients."""

import base64
import hashlib
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448, rsa, x25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from joserfc.jwk import ECKey, OKPKey, RSAKey

from comptoir.auth.client_keys import LARGEST_FILE
from comptoir.auth.local_authority import Pair
from support.certificates import write_pair
from support.clocks import days_ahead
from support.command import Command
from support.databases import ON_SQLITE, run_sql

READS = ("--scope", "records.read")


@pytest.fixture
def with_shop(ready: Command) -> Command:
    """The command, with a client that has no secret."""
    added = ready.done("client", "add", "webshop", *READS, "--no-secret")
    assert len(added.out.splitlines()) == 1
    return ready


def write(folder: Path, content: bytes) -> Path:
    path = folder / "key.pem"
    path.write_bytes(content)
    return path


def public(folder: Path) -> Path:
    return write(folder, ECKey.generate_key("P-256").as_pem(private=False))


def test_a_public_key_is_added_listed_and_removed(with_shop: Command, tmp_path: Path) -> None:
    keys: tuple[ECKey | OKPKey | RSAKey, ...] = (
        ECKey.generate_key("P-256"),
        OKPKey.generate_key("Ed25519"),
        RSAKey.generate_key(2048),
    )
    for key in keys:
        began = datetime.now(UTC)
        path = write(tmp_path, key.as_pem(private=False))
        kid = with_shop.done("client", "key", "add", "webshop", path).out.strip()
        assert kid == key.thumbprint()
        listed, _, end = with_shop.done("client", "list").last.rpartition(":")
        assert listed.endswith(f" active records.read key={kid}")
        assert end in days_ahead(180, began)
        again = with_shop.error("client", "key", "add", "webshop", path)
        assert f"the client webshop has the key {kid} already" in again
        removed = with_shop.done("client", "key", "remove", "webshop", "--", kid)
        assert removed.out == f"webshop: key {kid} removed\n"
        assert "key=" not in with_shop.done("client", "list").out
    log = with_shop.done("audit").out.splitlines()
    for act in ("client.key.add", "client.key.remove"):
        lines = [each for each in log if f'"{act}"' in each]
        assert all(key.thumbprint() in line for key, line in zip(keys, lines, strict=True))


@ON_SQLITE
def test_the_key_of_a_certificate_ends_with_it(with_shop: Command, tmp_path: Path) -> None:
    began = datetime.now(UTC)
    pair = Pair(tmp_path / "certificate.pem", tmp_path / "private.pem")
    for days, end in (("30", 30), ("3650", 365)):
        write_pair(pair)
        kid = with_shop.done(
            "client", "key", "add", "webshop", pair.certificate, "--days", days
        ).last
        listed = with_shop.done("client", "list").last
        assert listed.rpartition(":")[2] in days_ahead(end, began)
        der = base64.b64decode("".join(pair.certificate.read_text().splitlines()[1:-1]))
        ((x5t, x5t_s256),) = run_sql(with_shop.url, "SELECT x5t, x5t_s256 FROM client_keys")
        for found, name in ((x5t, "sha1"), (x5t_s256, "sha256")):
            digest = hashlib.new(name, der).digest()
            assert base64.urlsafe_b64decode(f"{found}=") == digest
        with_shop.done("client", "key", "remove", "webshop", "--", kid)


def test_only_the_public_key_is_stored(with_shop: Command, tmp_path: Path) -> None:
    with_shop.done("client", "key", "add", "webshop", public(tmp_path))
    ((jwk,),) = run_sql(with_shop.url, "SELECT jwk FROM client_keys")
    assert "kty" in str(jwk)
    assert '"d"' not in str(jwk)


@ON_SQLITE
def test_a_private_key_is_refused(with_shop: Command, tmp_path: Path) -> None:
    pair = write_pair(Pair(tmp_path / "certificate.pem", tmp_path / "private.pem"))
    both = pair.certificate.read_bytes() + pair.key.read_bytes()
    private = (
        pair.key.read_bytes(),
        both,
        RSAKey.generate_key(2048).as_pem(private=True),
        b"-----BEGIN ENCRYPTED PRIVATE KEY-----\n",
        b"-----BEGIN RSA PRIVATE KEY-----\n",
    )
    for content in private:
        path = write(tmp_path, content)
        error = with_shop.error("client", "key", "add", "webshop", path)
        assert error == (
            f"comptoir: {path} contains a private key, which only the client may have. Name a file "
            "with the public key alone, as `openssl pkey -pubout` writes it, or with the "
            "certificate alone."
        )


@ON_SQLITE
def test_unsupported_keys_are_refused(with_shop: Command, tmp_path: Path) -> None:
    for key in (
        rsa.generate_private_key(65537, 1024),
        ec.generate_private_key(ec.SECP384R1()),
        ec.generate_private_key(ec.SECP256K1()),
        ed448.Ed448PrivateKey.generate(),
        x25519.X25519PrivateKey.generate(),
    ):
        public_key = key.public_key()
        content = public_key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        error = with_shop.error("client", "key", "add", "webshop", write(tmp_path, content))
        assert "is not supported. Use an RSA key of 2048 to 4096 bits, a P-256 key, or" in error


NOT_KEYS = [
    (b"", "does not contain a public key or a certificate in PEM"),
    (b"\xff", "does not contain a public key or a certificate in PEM"),
    (
        b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        "does not contain a public key or a certificate in PEM",
    ),
    (b" " * (LARGEST_FILE + 1), "has more than 64 KiB"),
]


@ON_SQLITE
def test_other_files_are_refused(with_shop: Command, tmp_path: Path) -> None:
    for content, problem in NOT_KEYS:
        assert problem in with_shop.error(
            "client", "key", "add", "webshop", write(tmp_path, content)
        )


@ON_SQLITE
def test_a_certificate_that_is_not_valid_is_refused(with_shop: Command, tmp_path: Path) -> None:
    began = datetime.now(UTC)
    pair = Pair(tmp_path / "certificate.pem", tmp_path / "private.pem")
    for begins, ends in ((-30, -1), (1, 30)):
        write_pair(pair, begins_in_days=begins, ends_in_days=ends)
        error = with_shop.error("client", "key", "add", "webshop", pair.certificate)
        days = product(days_ahead(begins, began), days_ahead(ends, began))
        assert any(f"is valid from {first} to {last} only" in error for first, last in days)


def test_a_missing_file_client_or_key_is_an_error(with_shop: Command, tmp_path: Path) -> None:
    missing = with_shop.error("client", "key", "add", "webshop", tmp_path / "none.pem")
    assert "none.pem cannot be read: No such file or directory" in missing
    path = public(tmp_path)
    assert "the client 'shop' does not exist" in with_shop.error(
        "client", "key", "add", "shop", path
    )
    unknown = with_shop.error("client", "key", "remove", "webshop", "x")
    assert unknown == (
        "comptoir: the client webshop does not have the key 'x'. "
        "List the clients with `comptoir client list`."
    )


def test_a_client_has_five_keys_at_most(with_shop: Command, tmp_path: Path) -> None:
    for _ in range(5):
        with_shop.done("client", "key", "add", "webshop", public(tmp_path))
    sixth = with_shop.error("client", "key", "add", "webshop", public(tmp_path))
    assert "the client webshop has 5 keys already" in sixth
    with_shop.done("client", "remove", "webshop")
    assert run_sql(with_shop.url, "SELECT kid FROM client_keys") == []
