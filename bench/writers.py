"""Writers beside a long operation: how long their updates take."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from random import Random
from secrets import token_hex
from threading import Event
from time import monotonic
from urllib.parse import urlsplit

from company import token_for
from filling import Filled
from processes import Server
from wrk import LoadError

WRITERS = 4


@contextmanager
def writing(filled: Filled, server: Server) -> Iterator[list[float]]:
    """Update records until the block ends; the list then has the seconds of each write, sorted."""
    is_over, seconds = Event(), list[float]()
    with ThreadPoolExecutor(WRITERS) as pool:
        writers = [pool.submit(_write, filled, server, each, is_over) for each in range(WRITERS)]
        try:
            yield seconds
        finally:
            is_over.set()
        seconds += sorted(second for each in writers for second in each.result())


def _write(filled: Filled, server: Server, seed: int, is_over: Event) -> list[float]:
    random, seconds = Random(seed), list[float]()
    headers = {
        "Authorization": f"Bearer {token_for(filled.settings)}",
        "Content-Type": "application/json",
        "If-Match": "*",
    }
    with closing(HTTPConnection(urlsplit(server.url).netloc, timeout=60)) as connection:
        while not is_over.is_set():
            key = filled.key(random.randrange(filled.count))
            body, began = f'{{"description2":"{token_hex(8)}"}}', monotonic()
            connection.request("PATCH", f"{filled.path}({key})", body, headers)
            with connection.getresponse() as answer:
                answer.read()
            seconds.append(monotonic() - began)
            if answer.status != 200:
                raise LoadError(f"a write was answered by {answer.status}")
    return seconds
