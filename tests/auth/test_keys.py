import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Barrier

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from joserfc import jws
from joserfc.jwk import ECKey, OKPKey, RSAKey

from auth.token_forger import AUDIENCE, ISSUER
from comptoir.auth.keys import SIGNING_KEY_FILE, load_keys
from comptoir.auth.tokens import Scope, TokenIssuer
from comptoir.auth.verification import PresentedToken, TokenVerifier
from comptoir.errors.refusal import OperatorError
from support.command import Command
from support.processes import read_lines
from support.together import together


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def refusal_of(directory: Path) -> str:
    with pytest.raises(OperatorError) as caught:
        load_keys(directory)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_first_use_creates_a_private_key_that_only_its_owner_can_read(directory: Path) -> None:
    directory = directory / "data" / "keys"
    before = os.umask(0)
    try:
        first = load_keys(directory)
    finally:
        os.umask(before)
    assert [file.name for file in directory.iterdir()] == [SIGNING_KEY_FILE]
    assert mode(directory) == mode(directory.parent) == 0o700
    assert mode(directory / SIGNING_KEY_FILE) == 0o600
    again = load_keys(directory)
    assert again.trusted.keys() == first.trusted.keys() == {first.signing.thumbprint()}
    assert not any(key.is_private for key in again.trusted.values())


def test_threads_that_start_at_the_same_time_share_one_key(tmp_path: Path) -> None:
    workers = 6
    gate = Barrier(workers)

    def start(directory: Path) -> str:
        gate.wait()
        return load_keys(directory).signing.thumbprint()

    with ThreadPoolExecutor(workers) as pool:
        for attempt in range(20):
            directory = tmp_path / str(attempt)
            assert len(set(pool.map(start, [directory] * workers))) == 1
            assert [file.name for file in directory.iterdir()] == [SIGNING_KEY_FILE]


def test_processes_that_start_at_the_same_time_share_one_key(tmp_path: Path) -> None:
    command = Command.without_database(tmp_path)
    with ExitStack() as processes:
        started = [processes.enter_context(command.started("token")) for _ in range(4)]
        tokens = [read_lines(each, 1)[0].decode() for each in started]
    keys = {jws.extract_compact(each.strip().encode()).headers()["kid"] for each in tokens}
    assert keys == {load_keys(tmp_path / "keys").signing.thumbprint()}


@together(
    ("name", "bits", "remedy"),
    [
        *((SIGNING_KEY_FILE, bits, "chmod go-rwx") for bits in (0o640, 0o604, 0o660)),
        *(("", bits, "chmod go-w") for bits in (0o770, 0o702)),
        ("other.pub.pem", 0o664, "chmod go-w"),
    ],
)
def test_what_is_open_to_others_is_refused(
    tmp_path: Path, name: str, bits: int, remedy: str
) -> None:
    directory = tmp_path / f"{name}{bits}"
    load_keys(directory)
    path = directory / name
    if name == "other.pub.pem":
        path.write_bytes(ECKey.generate_key("P-256").as_pem())
    path.chmod(bits)
    assert f"{remedy} {path}" in refusal_of(directory)


def test_a_directory_that_cannot_be_created_is_refused(tmp_path: Path) -> None:
    obstacle = tmp_path / "file"
    obstacle.touch()
    assert f"the key directory {obstacle / 'keys'} cannot be used:" in refusal_of(obstacle / "keys")
    assert f"the key directory {obstacle} cannot be used:" in refusal_of(obstacle)


@contextmanager
def as_nobody() -> Iterator[None]:
    """Run without the rights of root, who can write to every directory."""
    own = os.geteuid()
    if own == 0:
        os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(own)


def test_an_unwritable_directory_is_refused() -> None:
    with as_nobody(), TemporaryDirectory() as own:
        directory = Path(own) / "keys"
        directory.mkdir(mode=0o500)
        assert f"the key directory {directory} cannot be used:" in refusal_of(directory)


@together(
    "content",
    [
        b"",
        b"-----BEGIN PRIVATE KEY-----\nMIGH\n-----END PRIVATE KEY-----\n",
        ECKey.generate_key("P-256").as_pem(),
        ECKey.generate_key("P-256").as_pem(private=True, password="secret"),
        ECKey.generate_key("P-384").as_pem(private=True),
        OKPKey.generate_key("Ed25519").as_pem(private=True),
    ],
)
def test_a_broken_private_key_is_refused_and_left_alone(directory: Path, content: bytes) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / SIGNING_KEY_FILE
    path.touch(mode=0o600)
    path.write_bytes(content)
    assert f"{path} does not contain" in refusal_of(directory)
    assert path.read_bytes() == content


def test_an_unusable_public_key_is_refused(directory: Path) -> None:
    load_keys(directory)
    path = directory / "other.pub.pem"
    with pytest.warns(match="2048"):
        weak = RSAKey.generate_key(1024)
    not_for_signing = X25519PrivateKey.generate().public_key()
    for content in (
        b"",
        ECKey.generate_key("P-256").as_pem(private=True),
        ECKey.generate_key("secp256k1").as_pem(),
        not_for_signing.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        weak.as_pem(),
    ):
        path.write_bytes(content)
        path.chmod(0o644)
        assert f"{path} does not contain" in refusal_of(directory)


def test_a_rotated_key_is_trusted_by_its_public_half(directory: Path) -> None:
    old = load_keys(directory).signing
    (directory / SIGNING_KEY_FILE).unlink()
    (directory / "2026.pub.pem").write_bytes(old.as_pem())
    keys = load_keys(directory)
    assert keys.signing.thumbprint() != old.thumbprint()
    verifier = TokenVerifier(keys.trusted.get, ISSUER, AUDIENCE)
    for signing in (lambda: old, lambda: keys.signing):
        token = TokenIssuer(signing, ISSUER, AUDIENCE).issue(
            "tests", [Scope.RECORDS_READ], None, timedelta(hours=1)
        )
        assert verifier.verify(PresentedToken(token)).sub == "tests"


@together(
    "key", [RSAKey.generate_key(2048), ECKey.generate_key("P-521"), OKPKey.generate_key("Ed25519")]
)
def test_a_public_key_is_found_by_its_thumbprint_and_its_file_name(
    directory: Path, key: RSAKey | ECKey | OKPKey
) -> None:
    load_keys(directory)
    (directory / "issuer-2.pub.pem").write_bytes(key.as_pem())
    trusted = load_keys(directory).trusted
    assert trusted["issuer-2"].as_pem() == trusted[key.thumbprint()].as_pem() == key.as_pem()


def test_a_file_name_cannot_take_the_thumbprint_of_another_key(directory: Path) -> None:
    signing = load_keys(directory).signing
    impostor = ECKey.generate_key("P-256")
    (directory / f"{signing.thumbprint()}.pub.pem").write_bytes(impostor.as_pem())
    assert load_keys(directory).trusted[signing.thumbprint()].as_pem() == signing.as_pem()
