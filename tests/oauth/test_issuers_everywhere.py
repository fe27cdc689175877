"""Every worker accepts the tokens of an issuer, while its keys change, and until it is removed."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import pytest

from comptoir.catalog import MODEL
from comptoir.config import Settings
from support.certificates import trusted_folder
from support.command import Command
from support.databases import ON_SQLITE, FreshDatabase
from support.issuers import AUDIENCE, LOOPBACK, OtherIssuer
from support.server import Server
from support.waiting import until


@pytest.fixture
def issuer(tmp_path: Path) -> Iterator[OtherIssuer]:
    """An issuer whose authority the machine trusts."""
    with trusted_folder(tmp_path), OtherIssuer(tmp_path) as issuer:
        yield issuer


@pytest.fixture
def command(fresh_database: FreshDatabase, tmp_path: Path, issuer: OtherIssuer) -> Command:
    """The command, with a database in which the issuer is trusted."""
    command = Command(tmp_path, fresh_database(tmp_path, MODEL))
    options = ("--audience", AUDIENCE, "--company", "*", "--unchecked")
    command.done("issuer", "add", "login", issuer.url, *options)
    return command


@pytest.fixture
def server(command: Command, tmp_path: Path) -> Iterator[Server]:
    settings = Settings(database=command.url, keys=str(tmp_path / "keys"), outgoing_allow=LOOPBACK)
    with Server(settings, tmp_path, workers=2) as server:
        yield server


@ON_SQLITE
def test_keys_rotate_without_a_refused_request(
    server: Server, issuer: OtherIssuer, command: Command
) -> None:
    company = server.new_company()

    def statuses(token: str) -> set[int]:
        client = company.using(token)
        return {
            each.status_code
            for each in client.carrier.send_all([client.build("GET", "itemsExt")] * 8)
        }

    former = issuer.token()
    assert statuses(former) == {200}
    seen: set[int] = set()
    ended = Event()

    def load() -> None:
        number = 0
        while not ended.is_set():
            number += 1
            seen.update(statuses(issuer.token({"sub": f"{number}"})))

    with ThreadPoolExecutor(2) as threads, ExitStack() as at_the_end:
        at_the_end.callback(ended.set)
        loads = [threads.submit(load) for _ in range(2)]
        until(lambda: seen or None, "a request")
        issuer.rotate(keep=True)
        current = issuer.token()
        assert statuses(current) == {200}
        assert statuses(former) == {200}
    for each in loads:
        each.result()
    assert seen == {200}

    command.done("issuer", "remove", "login")
    until(lambda: statuses(current) == {401} or None, "an issuer that no worker trusts")
