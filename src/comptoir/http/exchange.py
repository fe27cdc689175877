"""One request and its answer, as the log and the metrics know it."""

import itertools
import secrets
from time import perf_counter, time

from starlette.types import Scope

from comptoir.http.coding import IDENTITY

_process = secrets.token_hex(6)
_numbers = itertools.count(1)


def next_id() -> str:
    """An id that no other request of any process has."""
    return f"{_process}-{next(_numbers):x}"


class Exchange:
    """What is known of an exchange; its id is in the log and in the answer's `X-Request-Id`.

    `coding` is how the answer's body is coded; `seconds` is how long the exchange took and
    `ended_at` when it ended (epoch seconds), once it has.
    """

    __slots__ = (
        "client",
        "coding",
        "ended_at",
        "id",
        "method",
        "path",
        "seconds",
        "size",
        "status",
        "subject",
    )

    def __init__(self, scope: Scope) -> None:
        self.id = next_id()
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.status = 0
        self.size = 0
        self.subject = ""
        self.coding = IDENTITY
        client = scope.get("client")
        self.client: str = client[0] if client else ""
        self.seconds = -perf_counter()
        self.ended_at = 0.0

    def end(self) -> None:
        """Note that the exchange has ended."""
        self.seconds += perf_counter()
        self.ended_at = time()
