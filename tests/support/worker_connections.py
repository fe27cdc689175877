"""Connections to every process of a service, so that each gets a part of the requests."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, cycle
from typing import Self

import httpx

from support.server import Server
from support.sockets import http_client
from support.waiting import PATIENCE_SECONDS


class WorkerConnections:
    """A `Carrier` with some connections to each process, used in rotation."""

    def __init__(self, server: Server, connections: int) -> None:
        by_process: dict[str, list[httpx.Client]] = {}
        deadline = time.monotonic() + PATIENCE_SECONDS
        while sum(map(len, by_process.values())) < server.settings.workers * connections:
            assert time.monotonic() < deadline, f"only {list(by_process)} take connections"
            client = http_client(connections=1)
            answer = client.get(server.origin.root + "/healthz")
            mine = by_process.setdefault(process_of(answer), [])
            if len(mine) < connections:
                mine.append(client)
            else:
                client.close()
        self._clients: list[httpx.Client] = [*chain(*zip(*by_process.values(), strict=True))]
        self._turns = cycle(self._clients)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._clients:
            client.close()

    def send(self, request: httpx.Request) -> httpx.Response:
        """Send by the next connection."""
        return next(self._turns).send(request)

    def send_all(self, requests: Sequence[httpx.Request]) -> list[httpx.Response]:
        count = len(self._clients)
        shares = [requests[first::count] for first in range(count)]
        with ThreadPoolExecutor(count) as threads:
            given = list(threads.map(_send_share, self._clients, shares))
        answers = [given[at % count][at // count] for at in range(len(requests))]
        assert len({process_of(answer) for answer in answers}) > 1
        return answers


def _send_share(client: httpx.Client, requests: Sequence[httpx.Request]) -> list[httpx.Response]:
    """Send one after the other: a client that threads share may close a connection in use."""
    return [client.send(request) for request in requests]


def process_of(answer: httpx.Response) -> str:
    """The process that responded; its name is the beginning of request ids."""
    request_id: str = answer.headers["x-request-id"]
    return request_id.partition("-")[0]
