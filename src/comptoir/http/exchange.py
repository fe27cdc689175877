"""One HTTP exchange: its identity, its request's URL, body and turn, headers of its response."""

import asyncio
import itertools
import re
import secrets
import sys
from collections.abc import Callable, Iterator
from time import perf_counter, time
from typing import NamedTuple, Self

import msgspec
from starlette.types import Message, Receive, Scope

from comptoir.auth.limits import Account
from comptoir.auth.origins import is_loopback
from comptoir.config import Settings
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Check, ExceededLimit, OAuthRefusal, Refusal
from comptoir.http.compression import IDENTITY, Coding
from comptoir.request.batch.tree import Batch
from comptoir.request.headers import Headers
from comptoir.response.batch import Replies
from comptoir.response.errors import as_guid
from comptoir.response.response import Header, Response
from comptoir.service import Request
from comptoir.store.fair_queue import FairSemaphore

NO_STORE: tuple[Header, ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
)
"""Headers of a response that no cache may store (RFC 9111), the default.

Responses depend on a token, and most change without notice. Without these headers, a cache may
return a 404 or a deleted record for any length of time.
"""

REVALIDATE: tuple[Header, ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"private, no-cache"),
    # a record has one tag in all of its formats
    (b"vary", b"Accept"),
)
"""Headers of a response that its client may cache, and reuse after it has checked the ETag."""

CUT = "comptoir.cut"
"""The type of the message by which the application cuts the connection."""

_FORWARDED = frozenset({b"forwarded", b"x-forwarded-for", b"x-forwarded-proto"})
_PAGING_TOKEN = re.compile(r"(?:^|&)(?:\$|%24)?(?:skip|delta)token=[^&]*", re.IGNORECASE)


def next_id() -> str:
    """An id that no other request of any process has."""
    return next(_ids)


def _all_ids() -> Iterator[str]:
    # begins with the first request: a worker is a copy of a process that serves none
    process = secrets.token_hex(6)
    for number in itertools.count(1):
        yield f"{process}-{number:x}"


_ids = _all_ids()


class ProfileHeaders:
    """The headers by which every response names its profile, and its request as this does."""

    def __init__(self, settings: Settings) -> None:
        envelope = settings.behaviour.envelope
        self._fixed = [
            (name.lower().encode(), value.encode()) for name, value in envelope.headers.items()
        ]
        self._ids = [name.encode() for name in envelope.ids]

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._fixed or self._ids)

    def of(self, request_id: str) -> list[Header]:
        """The headers of the response to a request with this id."""
        if not self._ids:
            return self._fixed
        guid = str(as_guid(request_id)).encode()
        return [*self._fixed, *((name, guid) for name in self._ids)]


class Refused(NamedTuple):
    """An error that a request gets: its code, the limit that it exceeds, and what it is about.

    `check` is the one that refused the request, and `wait` has the seconds of `Retry-After`.
    """

    code: str
    check: Check
    limit: ExceededLimit | None
    group: str
    wait: int


class Observer:
    """Observes one exchange with the API or the pages; by default, it does nothing."""

    __slots__ = ()

    def note_request(self, request: Request) -> None:
        """Note who sends a request, and its body when it is read."""

    async def note_refusal(self) -> None:
        """Note that the request is refused, maybe before its body was read."""

    def note_denial(self, refusal: OAuthRefusal) -> None:
        """Note the error that the token endpoint gives."""

    def noting(self, _: Batch, replies: Replies) -> Replies:
        """Pass the responses to the requests of a batch on, and note each with its request."""
        return replies

    def note_response(self, response: Response | None) -> None:
        """Note the response of the API before it is sent, or add headers to it.

        It is None if the connection is cut.
        """

    def end(self) -> None:
        """Note the end of the exchange, whatever it was for."""


class Exchange(msgspec.Struct, eq=False):
    """A request and its response, as the log and the metrics record them.

    `account` counts the request until its end, and `leave_queue` then frees its slot, if it has
    one. `refused` has the errors that it got, several in a batch. `coding` is the content coding of
    the response.
    `authorization` is that header, blank for a page. `fault` has the ids of the rules that have
    acted on it. `seconds` is the duration of the exchange, and
    `ended_at` its end in seconds since 1970; both are set by `end`.
    """

    id: str
    method: str
    path: str
    query_string: bytes
    client: str
    seconds: float
    ended_at: float = 0.0
    status: int = 0
    size: int = 0
    subject: str = ""
    account: Account | None = None
    leave_queue: Callable[[str], None] | None = None
    authorization: bytes = b""
    observers: tuple[Observer, ...] = ()
    refused: tuple[Refused, ...] = ()
    coding: Coding = IDENTITY
    fault: str = ""

    @classmethod
    def begun(cls, scope: Scope) -> Self:
        """The exchange of a request that has just arrived."""
        client = scope.get("client")
        return cls(
            next_id(),
            scope["method"],
            scope["path"],
            scope["query_string"],
            client[0] if client else "",
            -perf_counter(),
        )

    @property
    def query(self) -> str:
        """The query of the URL, percent-encoded."""
        return self.query_string.decode("latin-1")

    def note_refusal(self, refusal: Refusal) -> None:
        """Count an error that the exchange, or a request of its batch, gets."""
        wait = refusal.headers.get("Retry-After", "")
        seconds = int(wait) if wait.isdigit() else 0
        refused = Refused(
            refusal.error.code, refusal.check, refusal.row.limit, refusal.group, seconds
        )
        self.refused += (refused,)

    def end(self) -> None:
        """Record the end of the exchange."""
        if self.account is not None:
            self.account.leave()
        if self.leave_queue is not None:
            self.leave_queue(self.subject)
        self.seconds += perf_counter()
        self.ended_at = time()


Observe = Callable[[Exchange, Scope], Observer | None]
"""What observes an exchange that has just begun; None for nothing."""


class ClientDisconnectedError(Exception):
    """The client closed the connection before it received the response."""


class ConnectionCutError(ClientDisconnectedError):
    """The service cuts the connection before the client has received the response."""


def is_private(scope: Scope) -> bool:
    """Whether nobody else reads the request: it came by TLS, or from this machine directly.

    A trusted proxy sets the scheme. Headers of any other one show that the client is elsewhere.
    """
    if scope["scheme"] == "https":
        return True
    client = scope.get("client")
    is_forwarded = any(name in _FORWARDED for name, _ in scope["headers"])
    return client is not None and is_loopback(client[0]) and not is_forwarded


async def disconnection(receive: Receive) -> None:
    """Wait until the client disconnects; drops what remains of the body."""
    while (await receive())["type"] != "http.disconnect":
        pass


def check_url(settings: Settings, path_bytes: int, query: str) -> None:
    """Raise `Refusal` (414) for a URL longer than its limit, or than that of its query."""
    whole, longest_query = settings.url_bytes, settings.query_bytes or settings.url_bytes
    if whole >= path_bytes + len(query) <= longest_query:
        return
    # a skip or delta token of the service does not count: it contains values of a record
    size = len(query) - sum(len(each[0]) for each in _PAGING_TOKEN.finditer(query))
    for what, length, limit in (
        ("The URL", path_bytes + size, whole),
        ("The query of the URL", size, longest_query),
    ):
        if length > limit:
            raise rows.LONG_URL(what=what, limit=limit)


def check_body_coding(headers: Headers) -> None:
    """Raise `Refusal` (415) for a body with a content coding."""
    coding = headers.get(b"content-encoding", b"identity")
    if coding.strip().lower() not in (b"identity", b""):
        value = coding.decode("latin-1")
        raise rows.CONTENT_CODING("Content-Encoding", value=value)


_CLOSE = {"Connection": "close"}
"""The header of a response to a body that is not read, whose connection cannot be used again."""


async def read_body(receive: Receive, headers: Headers, limit: int) -> bytes:
    """Read the body; raises `Refusal` (415, 413) without reading beyond the limit."""
    check_body_coding(headers)
    declared = headers.get(b"content-length", b"0")
    if declared.isdigit() and int(declared[:18]) > limit:
        raise rows.LARGE_BODY(limit=limit, headers=_CLOSE)
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnectedError
        body += message.get("body", b"")
        if len(body) > limit:
            raise rows.LARGE_BODY(limit=limit, headers=_CLOSE)
        if not message.get("more_body", False):
            return bytes(body)


class RequestQueue(FairSemaphore):
    """Admits `at_once` requests of each client, in their order; for use in one event loop only."""

    def __init__(self, at_once: int, seconds: float) -> None:
        super().__init__(sys.maxsize, at_once)
        self._seconds = seconds

    async def enter(self, receive: Receive) -> Receive:
        """Wait for a slot, which `release` ends; returns what receives the body.

        Meanwhile, only one piece of a body is read, so that waiting requests need little memory,
        and until that is complete, a disconnect is not noticed. Raises `Refusal` (503) after the
        longest wait, and `ClientDisconnectedError`.
        """
        if self.is_free:
            await self.acquire()
            return receive
        begun: list[Message] = []

        async def disconnected() -> None:
            while (message := await receive())["type"] != "http.disconnect":
                begun.append(message)
                if message.get("more_body", False):
                    await asyncio.get_running_loop().create_future()

        async def receive_all() -> Message:
            return begun.pop() if begun else await receive()

        admitted = asyncio.ensure_future(self.acquire())
        leaving = asyncio.ensure_future(disconnected())
        is_admitted = False
        try:
            await asyncio.wait(
                (admitted, leaving), timeout=self._seconds, return_when=asyncio.FIRST_COMPLETED
            )
            is_admitted = admitted.done()
        finally:
            has_left = not leaving.cancel()
            if not is_admitted and not admitted.cancel():
                # it has come at the moment of a cancellation, and is for the next request
                self.release(admitted.result())
        if is_admitted:
            return receive_all
        if has_left:
            raise ClientDisconnectedError
        raise rows.QUEUED_TOO_LONG(seconds=self._seconds)
