"""Restarts with a new release, host by host, under the documented nginx: no request fails."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from threading import Event
from typing import Literal

import pytest

from comptoir.catalog import MODEL
from comptoir.config import Settings
from conftest import stock
from deploy.compose import FOLDER, of_page
from support.databases import ON_SQLITE, FreshDatabase
from support.nginx import proxied
from support.ports import free_port
from support.samples import PATHS
from support.server import Server
from support.sockets import http_client
from support.waiting import until

PAGE = "several-hosts.md"
COMPOSE = (FOLDER / "proxy" / "nginx.conf").read_text()
CLIENTS = 2
ANSWERS = 30
"""The least number of responses to each client before, between and after the restarts."""

ASKED = PATHS["shippingAgentsExt"]


def of_compose() -> str:
    """The content of the block `http` of the compose file's proxy."""
    found = re.search(r"^http \{\n(.*)^\}$", COMPOSE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def hosts(fresh_database: FreshDatabase, tmp_path: Path) -> Iterator[list[Server]]:
    """Two hosts of the service over one database, with the same keys and different ports."""
    settings = Settings(database=fresh_database(tmp_path, MODEL), keys=str(tmp_path / "keys"))
    with ExitStack() as stack:
        made = []
        for name in ("one", "two"):
            folder = tmp_path / name
            folder.mkdir()
            made.append(stack.enter_context(Server(settings, folder, port=free_port())))
        yield made


@ON_SQLITE
@pytest.mark.parametrize(
    ("http", "names"),
    [
        (of_page(PAGE), ("one.internal:8080", "two.internal:8080")),
        (of_compose(), ("one:8080", "two:8080")),
    ],
    ids=["page", "compose"],
)
def test_hosts_that_are_restarted_one_by_one_lose_no_request(
    http: str, names: tuple[str, str], hosts: list[Server], tmp_path: Path
) -> None:
    """The proxy behaves the same with any database."""
    request = stock(hosts[0].new_company()).build("GET", ASKED)
    ports = [host.address[1] for host in hosts]
    over, statuses = Event(), [list[int]() for _ in range(CLIENTS)]

    def read(url: str, received: list[int]) -> None:
        """Read a record repeatedly over a persistent connection."""
        headers = {"Authorization": request.headers["authorization"]}
        with http_client() as client:
            while not over.is_set():
                received.append(client.get(f"{url}{request.url.path}", headers=headers).status_code)

    def go_on() -> None:
        """Return when each client has received some more responses."""
        before = [len(each) for each in statuses]

        def have() -> bool | None:
            pairs = zip(statuses, before, strict=True)
            return all(len(now) >= then + ANSWERS for now, then in pairs) or None

        until(have, "answers to all readers")

    with (
        proxied(http, dict(zip(names, ports, strict=True)), tmp_path) as url,
        ThreadPoolExecutor(CLIENTS) as threads,
    ):
        reading = [threads.submit(read, url, each) for each in statuses]
        try:
            go_on()
            for host in hosts:
                host.ask_to_stop()
                host.wait()
                host.start()
                until(partial(ready, host), "a host that is ready")
            go_on()
        finally:
            over.set()
        for ended in reading:
            ended.result()

    assert {status for each in statuses for status in each} == {200}


def ready(host: Server) -> Literal[True] | None:
    return True if host.origin.get("readyz").status_code == 200 else None
