"""`comptoir serve --https`, and the certificates that `serve` refuses."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from comptoir.auth.local_authority import Pair
from support.certificates import ENCRYPTED, trusting, write_pair
from support.command import Command
from support.databases import ON_SQLITE
from support.greeting import greeting_of
from support.processes import Process
from support.sockets import http_client

TRUSTING = ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"]


def greeted(process: Process) -> tuple[Path, str]:
    """The authority that clients must trust, and the base URL of a service that has started."""
    greeting = greeting_of(process)
    assert list(greeting.variables) == TRUSTING
    (path,) = set(greeting.variables.values())
    assert greeting.base_url.startswith("https://127.0.0.1:")
    return Path(path), greeting.base_url


def check_health(authority: Path, base_url: str) -> None:
    with http_client(trust=trusting(authority)) as client:
        address = base_url.removesuffix("/api")
        for each in (address, address.replace("127.0.0.1", "localhost")):
            assert client.get(f"{each}/healthz").text == "ok\n"


def test_a_service_for_localhost(command: Command) -> None:
    """The authority is created once, in the folder beside the keys."""
    trusted = []
    for _ in range(2):
        with command.started("serve", "--port", "0", "--https") as process:
            authority, base_url = greeted(process)
            check_health(authority, base_url)
            trusted.append((authority, authority.read_bytes()))
    assert trusted[0] == trusted[1]
    assert trusted[0][0] == command.folder / "tls" / "authority.pem"


@ON_SQLITE
def test_services_that_start_at_the_same_time_have_one_authority(ready: Command) -> None:
    with ExitStack() as services:
        processes = [
            services.enter_context(ready.started("serve", "--port", "0", "--https"))
            for _ in range(3)
        ]
        for process in processes:
            check_health(*greeted(process))


def change_key(pair: Pair) -> None:
    other = Pair(pair.certificate.with_name("other.pem"), pair.key)
    write_pair(other)


REFUSED: Mapping[str, tuple[Callable[[Pair], object], str]] = {
    "without its file": (
        lambda pair: pair.certificate.unlink(),
        "certificate.pem cannot be read: No such file or directory",
    ),
    "without the file of its key": (
        lambda pair: pair.key.unlink(),
        "certificate.key cannot be read: No such file or directory",
    ),
    "that is not PEM": (
        lambda pair: pair.certificate.write_text("nonsense"),
        "certificate.pem does not contain a PEM certificate",
    ),
    "with a key that is not PEM": (
        lambda pair: pair.key.write_text("nonsense"),
        "cannot be used with the key",
    ),
    "with the key of another one": (change_key, "key values mismatch"),
    "with an encrypted key": (
        lambda pair: write_pair(pair, encryption=ENCRYPTED),
        "its unencrypted private key",
    ),
    "with a key that all can read": (lambda pair: pair.key.chmod(0o644), "chmod g-w,o-rwx"),
    "that has expired": (
        lambda pair: write_pair(pair, begins_in_days=-9, ends_in_days=-1),
        "certificate.pem expired at ",
    ),
    "that is not yet valid": (
        lambda pair: write_pair(pair, begins_in_days=1),
        "certificate.pem is not valid before ",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_unusable_certificate(case: str, command: Command) -> None:
    """It is refused before the service listens or creates a database."""
    spoil, expected = REFUSED[case]
    pair = Pair(command.folder / "certificate.pem", command.folder / "certificate.key")
    spoil(write_pair(pair))
    config = f"tls_certificate = '{pair.certificate}'\ntls_key = '{pair.key}'\n"
    assert expected in command.refused(config)
    assert not command.database.exists()


def test_a_certificate_and_its_key_are_set_together(command: Command) -> None:
    for given, missing in (("tls_certificate", "tls_key"), ("tls_key", "tls_certificate")):
        assert f"invalid setting {missing} ''" in command.refused(f"{given} = 'file.pem'\n")


def test_there_is_one_certificate(command: Command) -> None:
    error = command.refused("tls_certificate = 'a.pem'\ntls_key = 'a.key'\n", "--https")
    assert "--https creates a certificate, but tls_certificate is a.pem" in error
    assert not (command.folder / "tls").exists()
