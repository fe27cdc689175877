"""The keys of a folder while the service runs: which signs, which are trusted, unusable files."""

import asyncio
import logging
from datetime import UTC, datetime
from pathlib import Path

import pytest
from joserfc.jwk import ECKey

from auth.token_forger import AUDIENCE, ISSUER, NOW
from comptoir.auth.authentication import Authenticator
from comptoir.auth.keys import SIGNING_KEY_FILE, TRUSTED_SECONDS, KeyFolder
from comptoir.auth.tokens import TokenIssuer
from comptoir.auth.verification import TokenVerifier
from comptoir.errors.refusal import OperatorError, Refusal
from support.clients import NO_CLIENTS, NO_LIMITS, no_issuers
from support.clocks import SetClock
from support.tokens import BOTH, HOUR


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


@pytest.fixture
def clock() -> SetClock:
    return SetClock(NOW)


@pytest.fixture
def folder(directory: Path, clock: SetClock) -> KeyFolder:
    return KeyFolder(directory, clock)


def kid_of(folder: KeyFolder) -> str:
    return folder.ring.signing.thumbprint()


def test_a_key_signs_from_its_time_on(folder: KeyFolder, directory: Path, clock: SetClock) -> None:
    first = kid_of(folder)
    added = KeyFolder(directory, clock).add_signing_key(at(NOW + 900))
    assert added.name == "signing-key.20270115T081500Z.pem"
    folder.reload()
    assert set(folder.ring.own) == {first, added.kid}
    clock.now = NOW + 899.9
    assert kid_of(folder) == first
    clock.now = NOW + 900
    assert kid_of(folder) == added.kid


def test_the_former_key_is_trusted_for_a_day_more(
    folder: KeyFolder, directory: Path, clock: SetClock
) -> None:
    first = kid_of(folder)
    added = folder.add_signing_key(at(NOW + 900))
    folder.reload()
    clock.now = NOW + 900 + TRUSTED_SECONDS - 1
    assert folder.own(first) is not None
    assert folder.trusted(first) is not None
    clock.now += 1
    assert folder.own(first) is None
    assert folder.trusted(first) is None
    assert set(folder.ring.trusted) == {added.kid}
    # also in a process that starts then
    assert set(KeyFolder(directory, clock).ring.trusted) == {added.kid}


def test_a_key_that_has_not_begun_signs_if_it_is_the_only_one(
    folder: KeyFolder, directory: Path
) -> None:
    added = folder.add_signing_key(at(NOW + 900))
    (directory / SIGNING_KEY_FILE).unlink()
    folder.reload()
    assert kid_of(folder) == added.kid


def test_an_unusable_file_is_logged_once_and_left_out(
    folder: KeyFolder, directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = directory / "issuer.pub.pem"
    path.write_bytes(b"half of a key")
    with caplog.at_level(logging.WARNING):
        folder.reload()
        folder.reload()
    assert [str(path) in record.getMessage() for record in caplog.records] == [True]
    assert folder.trusted("issuer") is None
    path.write_bytes(ECKey.generate_key("P-256").as_pem(private=False))
    path.chmod(0o644)
    assert folder.trusted("issuer") is not None


@pytest.mark.parametrize("name", ["signing-key.20279999T081500Z.pem", "issuer.pub.pem"])
def test_an_unusable_file_is_refused_at_the_start(
    folder: KeyFolder, directory: Path, clock: SetClock, name: str
) -> None:
    kid = kid_of(folder)
    (directory / name).symlink_to("nowhere")
    folder.reload()
    assert kid_of(folder) == kid
    with pytest.raises(OperatorError):
        KeyFolder(directory, clock)


@pytest.mark.parametrize("lost", ["key", "folder", "safety"])
def test_the_former_keys_remain_without_a_folder_that_can_be_used(
    folder: KeyFolder, directory: Path, caplog: pytest.LogCaptureFixture, lost: str
) -> None:
    kid = kid_of(folder)
    if lost == "key":
        (directory / SIGNING_KEY_FILE).unlink()
    elif lost == "folder":
        directory.rename(directory.with_name("away"))
    else:
        directory.chmod(0o777)
        (directory / "foreign.pub.pem").write_bytes(
            ECKey.generate_key("P-256").as_pem(private=False)
        )
    with caplog.at_level(logging.WARNING):
        folder.reload()
        folder.reload()
    assert len(caplog.records) == 1
    assert "the former keys remain in use" in caplog.text
    assert kid_of(folder) == kid
    assert folder.trusted("foreign") is None


def test_cached_tokens_of_a_forgotten_key_are_verified_again(
    folder: KeyFolder, clock: SetClock
) -> None:
    verifier = TokenVerifier(folder.trusted, ISSUER, AUDIENCE, clock=clock)
    authenticator = Authenticator(verifier, NO_CLIENTS, NO_LIMITS, no_issuers())
    issuer = TokenIssuer(lambda: folder.ring.signing, ISSUER, AUDIENCE, clock)

    def bearer() -> bytes:
        return f"Bearer {issuer.issue('tests', BOTH, None, 48 * HOUR)}".encode()

    old = bearer()
    folder.add_signing_key(at(NOW))
    folder.reload()
    new = bearer()
    for each in (old, new):
        asyncio.run(authenticator.authenticate(each))
    clock.now = NOW + TRUSTED_SECONDS
    asyncio.run(folder.look(authenticator.forget))
    asyncio.run(authenticator.authenticate(new))
    with pytest.raises(Refusal, match="signing key"):
        asyncio.run(authenticator.authenticate(old))
