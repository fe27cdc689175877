"""Notes of an exchange until it ends, and its record without secrets: a line of JSON."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial

import msgspec
from msgspec.structs import replace
from typing_extensions import override

from comptoir.auth.failures import unverified
from comptoir.auth.roles import Principal
from comptoir.errors.refusal import OAuthRefusal, Refusal
from comptoir.http.exchange import ClientDisconnectedError, Exchange, Observer
from comptoir.http.redaction import MASK, Redactor, Shown
from comptoir.request.batch.tree import Batch, Part
from comptoir.response.batch import Replies, Reply
from comptoir.response.response import Header, Pieces, Response
from comptoir.service import Request

_PARTS_TOGETHER = 8
"""The limit of the parts of a batch together, in limits of a body."""


class Answered:
    """A response, of whose body at most `limit` bytes are noted."""

    __slots__ = ("content", "headers", "length", "limit", "refusal", "status")

    def __init__(self, response: Response, limit: int) -> None:
        self.status = response.status
        self.headers: Sequence[Header] = response.headers
        self.refusal: Refusal | None = response.refusal
        self.content = b""
        self.length = 0
        self.limit = limit
        if isinstance(response.body, bytes):
            self._add(response.body)
        else:
            response.body = self._passing(response.body)

    def _add(self, piece: bytes) -> None:
        self.content += piece[: max(0, self.limit - len(self.content))]
        self.length += len(piece)

    async def _passing(self, pieces: Pieces) -> AsyncGenerator[bytes, None]:
        async with aclosing(pieces):
            async for piece in pieces:
                self._add(piece)
                yield piece


@dataclass(slots=True, eq=False)
class Capture(Observer):
    """Notes of an exchange, which `keep` gets at its end.

    Of each body, they have at most `limit` bytes, and 0 for none.

    `denial` is the error of the token endpoint that it got. `unread` reads the body until that was
    begun; None if it must not be read.
    """

    exchange: Exchange
    path: bytes
    headers: Sequence[Header]
    limit: int
    keep: Callable[["Capture"], None]
    principal: Principal | None = None
    body: bytes | None = None
    answered: Answered | None = None
    denial: OAuthRefusal | None = None
    unread: Callable[[], Awaitable[bytes]] | None = None
    is_batch: bool = False
    parts: list[tuple[Part, Answered]] = field(default_factory=list)

    @override
    def note_request(self, request: Request) -> None:
        self.principal = request.principal
        if self.limit:
            # the server answers the first read with 100 Continue
            self.unread = None if b"expect" in request.headers else request.read_body
            request.read_body = partial(self._reading, request.read_body)

    async def _reading(self, read: Callable[[], Awaitable[bytes]]) -> bytes:
        self.unread = None
        self.body = await read()
        return self.body

    @override
    async def note_refusal(self) -> None:
        # it does not wait for a body of which not all has arrived
        with suppress(Refusal, ClientDisconnectedError, TimeoutError):
            async with asyncio.timeout(0):
                if self.unread is not None:
                    self.body = await self.unread()

    @override
    def note_denial(self, refusal: OAuthRefusal) -> None:
        self.denial = refusal

    @override
    def note_response(self, response: Response | None) -> None:
        if response is not None:
            self.answered = Answered(response, 0 if self.is_batch else self.limit)

    @override
    def end(self) -> None:
        self.keep(self)

    @override
    def noting(self, batch: Batch, replies: Replies) -> Replies:
        # they are noted instead of the body of the batch's response
        self.is_batch = True
        return self._noting(list(batch.parts), replies)

    async def _noting(self, parts: Sequence[Part], replies: Replies) -> Replies:
        limit = min(self.limit, _PARTS_TOGETHER * self.limit // max(len(parts), 1))
        async with aclosing(replies):
            async for reply in replies:
                members: Sequence[Reply] = (reply,) if isinstance(reply, Reply) else reply.replies
                for part, member in zip(parts[len(self.parts) :], members, strict=False):
                    self.parts.append((part, Answered(member.response, limit)))
                yield reply

    @property
    def size(self) -> int:
        """About the bytes of the bodies that are noted."""
        size = len(self.body or b"") + (len(self.answered.content) if self.answered else 0)
        return size + sum(len(part.body) + len(each.content) for part, each in self.parts)


_JSON = b"application/json"
_BEARER = b"bearer "
_COMPARED = 20
"""Characters of a secret that a message may have, even if it cuts what it quotes."""

LONGEST_URL = 4_000
"""The most characters that are kept of a path, and of a query."""


# the garbage collector need not visit records, which have no cycles
class KeptBody(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A body: its text up to the limit, None if it is not shown, and its length in bytes."""

    length: int
    text: str | None = None
    is_cut: bool = False


class Message(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A request or a response."""

    headers: Sequence[tuple[str, str]]
    body: KeptBody = KeptBody(0)


class Answer(Message, frozen=True, gc=False, omit_defaults=True):
    """A response, with the check that has refused the request, and the message of its error."""

    status: int = 0
    check: str = ""
    problem: str = ""


class Token(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A bearer token, by its issuer, its key's id and its claims instead of itself.

    `digest` are the first digits of its SHA-256, and `client` is the claim `client_id`.
    """

    digest: str
    issuer: str = ""
    key: str = ""
    client: str = ""
    claims: str = ""


class PartRecord(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A request of a batch, and its response.

    `name` is its `id`, or its place in a batch where it has none. `url` is its path below the base
    path, after the `$id` of a request that it refers to.
    """

    name: str
    method: str
    url: str
    request: Message
    response: Answer


class Head(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """The head of an exchange for lists. `at` is its end in epoch seconds, `path` is encoded.

    `check` is the one that refused it; of a batch, the one that refused the first of its requests
    that was refused. `denied` is the client whose credentials or wishes were refused.
    """

    id: str
    at: float
    method: str
    path: str
    query: str = ""
    status: int
    ms: float
    by: str = ""
    denied: str = ""
    check: str = ""
    fault: str = ""


class ExchangeRecord(Head, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """The record of an exchange.

    `parts` are the requests of a batch that got a response. `error` is that of the token endpoint
    with its number, `reason` what the client does not learn of a refusal, and
    `change` the number of the change that made the version of the record then.
    """

    address: str
    scopes: Sequence[str] = ()
    token: Token | None = None
    error: str = ""
    reason: str = ""
    change: int | None = None
    request: Message
    response: Answer
    parts: Sequence[PartRecord] = ()


class _Asked(msgspec.Struct, frozen=True, gc=False):
    """A request without its secrets; `is_private`: its URL had some."""

    path: str
    query: str
    sent: Shown
    is_private: bool


class Scribe:
    """Makes records of exchanges."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._token = lru_cache(100)(_token)

    def record(self, capture: Capture) -> ExchangeRecord:
        """The record of an exchange that has ended."""
        ended = capture.exchange
        headers = dict(capture.headers)
        asked = self._asked(capture.path.decode("latin-1"), ended.query, capture.body)
        length = _number(headers.get(b"content-length", b"0"))
        body = _cut(asked.sent, len(capture.body or b"") or length, capture.limit)
        answer = Answer((), KeptBody(ended.size))
        if capture.answered is not None:
            # a fault may have changed what the service wrote
            answer = self._answer(capture.answered, asked, is_certain=not ended.fault)
        denial, error = capture.denial, ""
        refusal = None if capture.answered is None else capture.answered.refusal
        if denial is not None:
            answer = replace(answer, check=denial.error.check, problem=denial.message)
            error = f"{denial.error.error} ({denial.error.number})"
        elif refusal is not None:
            denial = refusal.denial
        parts = [self._part(*each) for each in capture.parts]
        answers = [answer, *(each.response for each in parts)]
        return ExchangeRecord(
            id=ended.id,
            at=ended.ended_at,
            method=ended.method[:20],
            path=asked.path,
            query=asked.query,
            status=ended.status,
            ms=round(ended.seconds * 1_000, 3),
            by=ended.subject,
            denied="" if denial is None else denial.client,
            check=next((each.check for each in answers if each.check), ""),
            fault=ended.fault,
            address=ended.client,
            scopes=sorted(capture.principal.scopes) if capture.principal else (),
            token=self._token(headers.get(b"authorization", b"")),
            error=error,
            reason=denial.reason if denial is not None and denial.reason != denial.problem else "",
            change=None if refusal is None else refusal.change,
            request=Message(self._headers(capture.headers), body),
            response=answer,
            parts=parts,
        )

    def answer(self, path: str, query: str, body: bytes, answered: Answered) -> Answer:
        """The response to a request without its secrets."""
        return self._answer(answered, self._asked(path, query, body or None), is_certain=True)

    def _part(self, part: Part, answered: Answered) -> PartRecord:
        address = part.address
        asked = self._asked(address.path, address.query, part.body or None)
        start = "" if address.reference is None else f"${address.reference}"
        body = _cut(asked.sent, len(part.body), answered.limit)
        return PartRecord(
            name=part.place if part.id is None else part.id,
            method=part.method[:20],
            url=f"{start}{asked.path}{asked.query and '?'}{asked.query}",
            request=Message(self._headers(part.headers.items()), body),
            response=self._answer(answered, asked, is_certain=True),
        )

    def _asked(self, path: str, query: str, body: bytes | None) -> _Asked:
        shown_path, shown_query = self._redactor.path(path), self._redactor.query(query)
        is_private = shown_path != path or shown_query != query
        sent = Shown(None) if body is None or is_private else self._redactor.sent(body)
        return _Asked(shown_path[:LONGEST_URL], shown_query[:LONGEST_URL], sent, is_private)

    def _answer(self, answered: Answered, asked: _Asked, *, is_certain: bool) -> Answer:
        """A response; not `is_certain`: the service may not have written its body as it is."""
        content, refusal = answered.content, answered.refusal
        is_whole = answered.length == len(content)
        is_json = dict(answered.headers).get(b"content-type", b"").startswith(_JSON)
        if asked.is_private or not is_json:
            shown = Shown(None)
        elif is_certain:
            shown = Shown(self._redactor.written(content.decode("utf-8", "ignore")))
        else:
            shown = self._redactor.sent(content) if is_whole else Shown(None)
        check = problem = ""
        if refusal is not None:
            check, problem = refusal.check, refusal.message
            if asked.is_private or _has(f"{refusal.message} {shown.text}", asked.sent.secrets):
                shown, problem = Shown(None), MASK
        body = _cut(shown, answered.length, answered.limit)
        return Answer(self._headers(answered.headers), body, answered.status, check, problem)

    def _headers(self, headers: Iterable[Header]) -> Sequence[tuple[str, str]]:
        return [self._redactor.header(each) for each in headers]


def _has(text: str, secrets: Iterable[str]) -> bool:
    """Whether a text has a secret, or its beginning, in any case, as it is or with escapes."""
    text = text.lower()
    for secret in secrets:
        start = secret[:_COMPARED].lower()
        escaped = msgspec.json.encode(start).decode()[1:-1]
        if start and any(each in text for each in (start, escaped, repr(start)[1:-1])):
            return True
    return False


def _cut(shown: Shown, length: int, limit: int) -> KeptBody:
    if shown.text is None or not limit:
        return KeptBody(length)
    text = shown.text.encode()
    is_cut = len(text) > limit or length > limit
    return KeptBody(length, text[:limit].decode("utf-8", "ignore"), is_cut)


def _number(text: bytes) -> int:
    return int(text) if text.isdigit() and len(text) < 19 else 0


def _token(authorization: bytes) -> Token | None:
    """The claims of a bearer token, whether or not it is valid; None for anything else."""
    if authorization[:7].lower() != _BEARER:
        return None
    token = authorization[7:].strip()
    parts = token.split(b".")
    if len(parts) != 3:
        return None
    header, claims = unverified(parts[0]), unverified(parts[1])
    if not header or not claims:
        return None
    return Token(
        hashlib.sha256(token).hexdigest()[:8],
        _text(claims.get("iss")),
        _text(header.get("kid")),
        _text(claims.get("client_id")),
        msgspec.json.format(msgspec.json.encode(claims)).decode()[:LONGEST_URL],
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
