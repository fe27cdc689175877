"""The resource `$batch` (OData Protocol 4.01, 11.7).

A malformed batch is refused as a whole, and nothing of it is processed. Otherwise each of its
requests has its own response.
"""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from urllib.parse import unquote

from comptoir.errors import refusal_rows as rows
from comptoir.http.batch_run import BatchMode, Run
from comptoir.http.exchange import Exchange
from comptoir.http.feature import Answer, Kernel
from comptoir.request.batch.documents import parse_documents
from comptoir.request.batch.multipart import MULTIPART, boundary_of, parse_multipart
from comptoir.request.batch.tree import Batch, BatchLimits, Roots, origin, refuse_part
from comptoir.request.headers import (
    JSON,
    Headers,
    asks_for_snapshot,
    elements,
    preferences,
    preferred_media_type,
)
from comptoir.request.options import system_name
from comptoir.request.path import company_id_of, parse_path
from comptoir.request.payload import LONGEST_ID, REQUEST_ID, RESULT, repeatability, require_json
from comptoir.response.batch import MULTIPART as MULTIPART_TYPE
from comptoir.response.batch import coalesced, json_body, multipart_body, new_boundary
from comptoir.response.errors import ErrorWriter
from comptoir.response.response import ODATA_VERSION, Header, Pieces, Response
from comptoir.service import Request

PIECE_BYTES = 64 << 10
"""Bytes of a response that are joined before they are sent."""

_BATCH = "$batch"
_ONLY_IN_PARTS = (b"if-match", b"if-none-match")


def is_batch(path: str) -> bool:
    """Whether a path below the base path is that of a batch, of the service or of a company.

    Raises `Refusal` (400) for a malformed path.
    """
    root, _, last = path.rpartition("/")
    if unquote(last) != _BATCH or "/" in root.removeprefix("/"):
        return False
    return not root or company_id_of(parse_path(path)) is not None


class Batches:
    """Processes batches; `answer` returns the response to each of their requests."""

    def __init__(self, kernel: Kernel, answer: Answer, errors: ErrorWriter) -> None:
        settings = kernel.settings
        self._kernel = kernel
        self._answer = answer
        self._errors = errors
        self._json_type = settings.behaviour.envelope.media.encode()
        self._rules = rules = settings.behaviour.batches
        self._limits = BatchLimits(
            requests=settings.batch_requests,
            header_bytes=settings.header_bytes,
            change_set=rules.change_set or settings.batch_requests,
            ids=rules.ids,
            merge=rules.merge,
        )
        urls = {settings.base_url, settings.listening_url}
        self._origins = frozenset(map(origin, urls))

    async def response(self, request: Request, exchange: Exchange) -> Response:
        """Process a batch; raises `Refusal` if none of its requests is processed.

        The checks come in this order: company, method, media type, Accept, headers, size, body,
        rate.
        """
        root = request.path.rpartition("/")[0]
        company_id = company_id_of(parse_path(request.path)) if root else None
        if company_id is not None:
            # each request of the batch checks its company again
            await self._kernel.service.company(request, company_id, may_lag=True)
        if request.method != "POST":
            raise rows.METHOD(method=request.method, resource=_BATCH, allowed="POST")
        request_type = _request_type(request.headers)
        response_type = _response_type(request, request_type)
        _check_headers(request.headers)
        repeatable = _is_repeatable(request.headers, self._limits.requests)
        batch = await self._batch(request, root, request_type)
        _check_authorization(request.headers, batch)
        account = request.principal.account
        if account is not None:
            # the batch itself has counted as one of its requests
            account.take(max(sum(1 for _ in batch.parts) - 1, 0))
        wishes = preferences(request.headers)
        # JSON goes on by default (OData JSON Format 4.01, 19.4), other batches stop (Protocol 4.01,
        # 11.7.7.5)
        goes_on = request_type == JSON and not self._rules.json_stops
        wish = wishes.continue_on_error
        stops = not (goes_on if wish is None else wish)
        mode = BatchMode(stops, goes_on, self._rules.snapshot)
        run = Run(self._kernel, self._answer, self._errors, request, exchange, mode)
        headers: list[Header] = [ODATA_VERSION]
        applied = wishes.applied(continue_on_error=True)
        if applied:
            headers.append((b"preference-applied", applied))
        if repeatable:
            headers.append((RESULT.lower().encode(), b"accepted"))
        is_snapshot = self._rules.snapshot and asks_for_snapshot(request.headers)
        replies = run.snapshot(batch) if is_snapshot else run.replies(batch)
        for each in exchange.observers:
            replies = each.noting(batch, replies)
        if response_type == JSON:
            headers.append((b"content-type", self._json_type))
            body = json_body(replies, null_ids=not self._rules.ids)
        else:
            boundary = new_boundary("batchresponse")
            headers.append((b"content-type", MULTIPART_TYPE + boundary))
            body = multipart_body(replies, boundary, nested=request_type == MULTIPART)
        return await _response(coalesced(body, PIECE_BYTES), headers)

    async def _batch(self, request: Request, root: str, request_type: str) -> Batch:
        body = await request.read_body()
        roots = self._roots(request, root)
        if request_type == JSON:
            return parse_documents(body, self._limits, roots)
        boundary = boundary_of(request.headers[b"content-type"].decode("latin-1"))
        return parse_multipart(body, boundary, self._limits, roots)

    def _roots(self, request: Request, root: str) -> Roots:
        origins = self._origins
        # the Host header is not trusted: it serves to recognize URLs, but not to create links
        host = request.headers.get(b"host", b"").decode("latin-1")
        if host:
            origins |= {origin(f"{scheme}://{host}") for scheme in ("http", "https")}
        return Roots(origins, self._kernel.routes.paths, root)


async def _response(pieces: Pieces, headers: list[Header]) -> Response:
    """The response with a body in pieces, or as a whole if it is short."""
    try:
        first = await anext(pieces)
        second = await anext(pieces, None)
    except asyncio.CancelledError:
        # cancelled within a page: the error for a stop would say that nothing was changed
        return Response(200, headers, _broken_off())
    if second is None:
        return Response(200, headers, first)
    return Response(200, headers, _joined((first, second), pieces))


async def _broken_off() -> Pieces:
    yield b""
    raise asyncio.CancelledError


async def _joined(begun: Sequence[bytes], pieces: Pieces) -> Pieces:
    async with aclosing(pieces):
        for piece in begun:
            yield piece
        async for piece in pieces:
            yield piece


def _request_type(headers: Headers) -> str:
    declared = headers.get(b"content-type", b"").decode("latin-1")
    media = elements(declared)
    if media and media[0].name == JSON:
        require_json(headers)
        return JSON
    boundary_of(declared)
    return MULTIPART


def _response_type(request: Request, request_type: str) -> str:
    """The media type of the response: by `$format`, else by `Accept`, else that of the request."""
    requested: str | None = None
    for option in filter(None, request.query.split("&")):
        name, _, value = option.partition("=")
        system_option = system_name(unquote(name))
        if system_option == "$format":
            requested = unquote(value)
        elif system_option is not None:
            raise rows.NOT_APPLICABLE(system_option, option=system_option, resource="a batch")
    other = JSON if request_type == MULTIPART else MULTIPART
    return preferred_media_type(request.headers, (request_type, other), requested)


def _check_headers(headers: Headers) -> None:
    """Raise `Refusal` for headers that are not allowed on a batch (OData Protocol 4.01, 8.2).

    Preferences for single requests are ignored instead (RFC 7240, 2).
    """
    for name in _ONLY_IN_PARTS:
        if name in headers:
            shown = name.decode().title()
            raise rows.SINGLE_ONLY(shown, header=shown)


def _is_repeatable(headers: Headers, requests: int) -> bool:
    """Whether the writes in a batch are repeatable, with ids that are derived from the batch's."""
    sent = repeatability(headers)
    if sent is None:
        return False
    longest = LONGEST_ID - len(f".{requests}")
    if len(sent.request_id) > longest:
        raise rows.LONG_BATCH_ID(REQUEST_ID, limit=longest)
    return True


def _check_authorization(headers: Headers, batch: Batch) -> None:
    for part in batch.parts:
        own = part.headers.get(b"authorization")
        if own is not None and own != headers.get(b"authorization"):
            raise refuse_part(rows.OTHER_AUTHORIZATION, part.place)
