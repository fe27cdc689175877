"""One HTTP exchange: its identity, its request's URL and body, and headers of its response."""

import itertools
import re
import secrets
from time import perf_counter, time

from starlette.types import Receive, Scope

from comptoir.errors import UNSUPPORTED_MEDIA_TYPE, URI_TOO_LONG, Refusal
from comptoir.http.compression import IDENTITY
from comptoir.http.refusals import body_too_large
from comptoir.messages import quoted
from comptoir.refusals import limit_exceeded
from comptoir.request.headers import Headers
from comptoir.response.response import Header

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

_process = secrets.token_hex(6)
_numbers = itertools.count(1)
_PAGING_TOKEN = re.compile(r"(?:^|&)(?:\$|%24)?(?:skip|delta)token=[^&]*", re.IGNORECASE)


def next_id() -> str:
    """An id that no other request of any process has."""
    return f"{_process}-{next(_numbers):x}"


class Exchange:
    """A request and its response, as the log and the metrics record them.

    `coding` is the content coding of the response. `seconds` is the duration of the exchange, and
    `ended_at` its end in seconds since 1970; both are set by `end`.
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
        """Record the end of the exchange."""
        self.seconds += perf_counter()
        self.ended_at = time()


class ClientDisconnectedError(Exception):
    """The client closed the connection before it received the response."""


async def disconnection(receive: Receive) -> None:
    """Wait until the client disconnects; drops what remains of the body."""
    while (await receive())["type"] != "http.disconnect":
        pass


def check_url(path_bytes: int, query: str, limit: int) -> None:
    """Raise `Refusal` (414) for a URL longer than the limit."""
    if path_bytes + len(query) <= limit:
        return
    # a skip or delta token of the service does not count: it contains values of a record
    tokens = sum(len(each[0]) for each in _PAGING_TOKEN.finditer(query))
    if path_bytes + len(query) - tokens > limit:
        raise limit_exceeded(
            "The URL",
            limit,
            "bytes",
            "Shorten the filter, or split it over several requests.",
            error=URI_TOO_LONG,
        )


def check_body_coding(headers: Headers) -> None:
    """Raise `Refusal` (415) for a body with a content coding."""
    coding = headers.get(b"content-encoding", b"identity")
    if coding.strip().lower() not in (b"identity", b""):
        raise Refusal(
            UNSUPPORTED_MEDIA_TYPE,
            f"Content-Encoding {quoted(coding.decode('latin-1'))} is not supported for request "
            "bodies",
            "Send the body without Content-Encoding.",
            target="Content-Encoding",
            # the supported codings (RFC 9110, 15.5.16)
            headers={"Accept-Encoding": "identity"},
        )


async def read_body(receive: Receive, headers: Headers, limit: int) -> bytes:
    """Read the body; raises `Refusal` (415, 413) without reading beyond the limit."""
    check_body_coding(headers)
    declared = headers.get(b"content-length", b"0")
    if declared.isdigit() and int(declared[:18]) > limit:
        raise body_too_large(limit, is_unread=True)
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnectedError
        body += message.get("body", b"")
        if len(body) > limit:
            raise body_too_large(limit, is_unread=True)
        if not message.get("more_body", False):
            return bytes(body)
