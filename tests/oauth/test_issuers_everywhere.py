"""Every worker accepts the tokens of an issuer, while its keys change, and until it is removed."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import pytest

from comptoir.catalog import MODEL
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
def server(fresh_database: FreshDatabase, tmp_path: Path, issuer: OtherIssuer) -> Iterator[Server]:
    """Two processes over a database in which the issuer is trusted."""
    options = ("--audience", AUDIENCE, "--company", "*", "--unchecked")
    command = Command(tmp_path, fresh_database(tmp_path, MODEL))
    command.done("issuer", "add", "login", issuer.url, *options)
    with Server.over(fresh_database, tmp_path, 2, outgoing_allow=LOOPBACK) as server:
        yield server


@ON_SQLITE
def test_keys_rotate_without_a_refused_request(
    server: Server, issuer: OtherIssuer, tmp_path: Path
) -> None:
    company = server.new_company()

    def statuses(token: str) -> set[int]:
        request = company.using(token).build("GET", "itemsExt")
        return {each.status_code for each in server.send_all([request] * 8)}

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

    Command(tmp_path, server.settings.database).done("issuer", "remove", "login")
    until(lambda: statuses(current) == {401} or None, "an issuer that no worker trusts")
