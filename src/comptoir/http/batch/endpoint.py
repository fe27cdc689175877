"""`$batch`, the resource (OData Protocol 4.01, section 11.7): reads a batch, has it done, answers.

It is malformed as a whole, and then nothing of it is done, or its requests are done and each has
an answer of its own.
"""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from urllib.parse import unquote, urlsplit

import msgspec

from comptoir.config import Settings
from comptoir.errors import (
    BAD_REQUEST,
    INVALID_URL,
    METHOD_NOT_ALLOWED,
    Refusal,
)
from comptoir.http.batch.run import Course, Run
from comptoir.http.exchange import Exchange
from comptoir.plan.target import company_id_of
from comptoir.request.batch import (
    MULTIPART,
    Batch,
    BatchLimits,
    Roots,
    boundary_of,
    malformed,
    origin,
    parse_documents,
    parse_multipart,
)
from comptoir.request.headers import JSON, Headers, elements, preferences, preferred_media_type
from comptoir.request.options import system_name
from comptoir.request.path import parse_path
from comptoir.request.payload import require_json
from comptoir.request.repeatability import (
    LONGEST_ID,
    REQUEST_ID,
    RESULT,
    rejected,
    repeatability,
)
from comptoir.response.batch import MULTIPART as MULTIPART_TYPE
from comptoir.response.batch import (
    Replies,
    coalesced,
    json_body,
    multipart_body,
    new_boundary,
)
from comptoir.response.response import Header, Pieces, Response
from comptoir.service import Request, Service

PIECE_BYTES = 64 << 10
"""How much of an answer is gathered before it is sent."""

_BATCH = "$batch"
_OF_PARTS_ALONE = (b"if-match", b"if-none-match")


class BatchRoot(msgspec.Struct, frozen=True):
    """The service root of a batch: its path below the base path, and the company's id in it."""

    path: str
    company_id: str | None


def batch_root(path: str) -> BatchRoot | None:
    """The service root of the batch that a path below the base path names; None if it names none.

    Raises `Refusal` (400) for a malformed path.
    """
    root, _, last = path.rpartition("/")
    if unquote(last) != _BATCH:
        return None
    if not root:
        return BatchRoot("", None)
    if "/" in root.removeprefix("/"):
        return None
    company_id = company_id_of(parse_path(path))
    return None if company_id is None else BatchRoot(root, company_id)


class Batches:
    """Answers batches."""

    def __init__(self, service: Service, settings: Settings) -> None:
        self._service = service
        self._settings = settings
        self._limits = BatchLimits(settings.batch_requests, settings.header_bytes)
        listening = f"http://{settings.host}:{settings.port}{settings.base_path}"
        self._own_urls = frozenset({settings.base_url, listening})

    async def answer(self, request: Request, root: BatchRoot, exchange: Exchange) -> Response:
        """Answer a batch; raises `Refusal` when none of its requests is run.

        The checks come in this order: company, method, media type, Accept, headers, size, body.
        """
        if root.company_id is not None:
            # each request of the batch checks its company again
            await self._service.company(request.principal, root.company_id, may_lag=True)
        if request.method != "POST":
            raise Refusal(
                METHOD_NOT_ALLOWED,
                f"{_BATCH} does not have {request.method[:20]}. Send it by POST.",
                headers={"Allow": "POST"},
            )
        sent_as = _sent_as(request.headers)
        answered_as = _answered_as(request, sent_as)
        _check_headers(request.headers)
        repeatable = _is_repeatable(request.headers, self._limits.requests)
        batch = await self._batch(request, root, sent_as)
        _check_authorization(request.headers, batch)
        course = Course.of_documents if sent_as == JSON else Course.of_multipart
        wishes = preferences(request.headers)
        run = Run(self._service, self._settings, request, exchange, course(wishes))
        headers: list[Header] = [(b"odata-version", b"4.0")]
        applied = wishes.applied(continue_on_error=True)
        if applied:
            headers.append((b"preference-applied", applied))
        if repeatable:
            headers.append((RESULT.lower().encode(), b"accepted"))
        return await _written(run.replies(batch), headers, answered_as, nested=sent_as == MULTIPART)

    async def _batch(self, request: Request, root: BatchRoot, sent_as: str) -> Batch:
        body = await request.read_body()
        roots = self._roots(request, root)
        if sent_as == JSON:
            return parse_documents(body, self._limits, roots)
        boundary = boundary_of(request.headers[b"content-type"].decode("latin-1"))
        return parse_multipart(body, boundary, self._limits, roots)

    def _roots(self, request: Request, root: BatchRoot) -> Roots:
        origins = {origin(url) for url in self._own_urls}
        # the name by which the client reaches the service: good enough to recognise its own URLs
        # by, while links are never made of it
        host = request.headers.get(b"host", b"").decode("latin-1")
        if host:
            origins |= {origin(f"{scheme}://{host}") for scheme in ("http", "https")}
        paths = {urlsplit(url).path.rstrip("/") for url in self._own_urls}
        base_paths = sorted({self._settings.base_path, *paths}, key=len, reverse=True)
        return Roots(frozenset(origins), tuple(base_paths), root.path)


async def _written(
    replies: Replies, headers: list[Header], preferred_media_type: str, *, nested: bool
) -> Response:
    if preferred_media_type == JSON:
        headers.append((b"content-type", b"application/json"))
        pieces = coalesced(json_body(replies), PIECE_BYTES)
    else:
        boundary = new_boundary("batchresponse")
        headers.append((b"content-type", MULTIPART_TYPE + boundary))
        pieces = coalesced(multipart_body(replies, boundary, nested=nested), PIECE_BYTES)
    try:
        first = await anext(pieces)
        second = await anext(pieces, None)
    except asyncio.CancelledError:
        # given up in the middle of a page: to be told that nothing was changed would be wrong
        return Response(200, headers, _broken_off())
    if second is None:
        return Response(200, headers, first)
    return Response(200, headers, _continued((first, second), pieces))


async def _broken_off() -> Pieces:
    yield b""
    raise asyncio.CancelledError


async def _continued(begun: Sequence[bytes], pieces: Pieces) -> Pieces:
    async with aclosing(pieces):
        for piece in begun:
            yield piece
        async for piece in pieces:
            yield piece


def _sent_as(headers: Headers) -> str:
    declared = headers.get(b"content-type", b"").decode("latin-1")
    media = elements(declared)
    if media and media[0].name == JSON:
        require_json(headers)
        return JSON
    boundary_of(declared)
    return MULTIPART


def _answered_as(request: Request, sent_as: str) -> str:
    """The format of the answer: what `$format` or `Accept` asks for, else that of the request."""
    asked: str | None = None
    for option in filter(None, request.query.split("&")):
        name, _, value = option.partition("=")
        known = system_name(unquote(name))
        if known == "$format":
            asked = unquote(value)
        elif known is not None:
            raise Refusal(
                INVALID_URL, f"{known} does not apply to a batch. Leave it out.", target=known
            )
    other = JSON if sent_as == MULTIPART else MULTIPART
    return preferred_media_type(request.headers, (sent_as, other), asked)


def _check_headers(headers: Headers) -> None:
    """Raise `Refusal` for headers that a batch must not have (OData Protocol 4.01, 8.2).

    Preferences for single requests are not among them: they are ignored (RFC 7240, 2).
    """
    for name in _OF_PARTS_ALONE:
        if name in headers:
            shown = name.decode().title()
            raise Refusal(
                BAD_REQUEST,
                f"{shown} belongs to the requests in a batch, not to the batch. Move it there.",
                target=shown,
            )


def _is_repeatable(headers: Headers, requests: int) -> bool:
    """Whether the writes in a batch are repeatable, by ids that are made of the batch's."""
    held = repeatability(headers)
    if held is None:
        return False
    longest = LONGEST_ID - len(f".{requests}")
    if len(held.request_id) > longest:
        message = f"{REQUEST_ID} of a batch must be up to {longest} characters. Send a Guid."
        raise rejected(BAD_REQUEST, message, REQUEST_ID)
    return True


def _check_authorization(headers: Headers, batch: Batch) -> None:
    for part in batch.parts:
        own = part.headers.get(b"authorization")
        if own is not None and own != headers.get(b"authorization"):
            raise malformed(
                part.place,
                "Authorization differs from that of the batch",
                "Remove it, or send the request separately.",
            )
