"""Runs the requests of a batch, each as if it had been sent separately."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from time import perf_counter
from typing import TypeVar

import msgspec

from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Refusal
from comptoir.http.exchange import ClientDisconnectedError, Exchange, check_body_coding, check_url
from comptoir.http.feature import Answer, AtomicWrites, Kernel
from comptoir.http.routes import RequestTarget
from comptoir.request.batch.documents import holds
from comptoir.request.batch.tree import Batch, Group, Part, referenced_tag
from comptoir.request.headers import ACCESS, Headers, access, check_isolation, check_versions
from comptoir.response.batch import GroupReply, Replies, Reply
from comptoir.response.errors import ErrorWriter
from comptoir.response.response import Response, whole_body
from comptoir.service import GroupRefusedError, Request
from comptoir.store.jobs import is_cancelled

SLICE_SECONDS = 0.002
"""Seconds after which a batch yields to the event loop."""

MAX_CONCURRENT_WRITES = 25
"""Independent writes that run at the same time, to share a commit."""

_INHERITED = (b"odata-version", b"odata-maxversion", *ACCESS)
_REQUEST_ID = b"repeatability-request-id"
_WITH_REQUEST_ID = (b"repeatability-first-sent", b"repeatability-client-id")
_TAG_HEADERS = (b"if-match", b"if-none-match")

_log = logging.getLogger(__name__)

T = TypeVar("T")


class BatchMode(msgspec.Struct, frozen=True):
    """The way after an error. `answers_rest`: the requests after it have responses, too.

    If a batch goes on and answers them, its independent writes may run at the same time. The
    requests of one that `takes_isolation` may ask for a snapshot.
    """

    stops_at_errors: bool
    answers_rest: bool
    takes_isolation: bool


class PartOutcome(msgspec.Struct, frozen=True):
    """Whether a request succeeded; the path of its record below the base path, and its ETag."""

    succeeded: bool
    path: str | None = None
    tag: bytes | None = None


class Outcomes:
    """The outcomes so far: of requests by id, of groups by name."""

    def __init__(self) -> None:
        self._by_name: dict[str, PartOutcome] = {}

    def add(self, part: Part, path: str | None, response: Response) -> None:
        """Add the response to a request that was sent to a path."""
        # dependencies require a 2xx (OData JSON Format 4.01, 19.1)
        succeeded = 200 <= response.status < 300
        tag = dict(response.headers).get(b"etag")
        self.set(part.id, PartOutcome(succeeded, response.path or path, tag))

    def set(self, name: str | None, outcome: PartOutcome) -> None:
        """Set the outcome of a request by its id, or of a group by its name."""
        if name is not None:
            self._by_name[name] = outcome

    def check_dependencies(self, part: Part) -> None:
        """Raise `Refusal` (424) if the outcomes so far prevent a request."""
        needed: Sequence[str] = part.depends_on
        if part.condition is not None:
            needed = ()
            succeeded = {name: each.succeeded for name, each in self._by_name.items()}
            if not holds(part.condition, succeeded):
                raise rows.CONDITION_FALSE()
        for name in (*needed, *_references(part)):
            if name in self._by_name and not self._by_name[name].succeeded:
                raise rows.DEPENDENCY_FAILED(id=name)

    def path_of(self, part: Part) -> str:
        """The path of a request below the base path; raises `Refusal` for an unknown one."""
        address = part.address
        if address.reference is None:
            return address.path
        path = self._by_name[address.reference].path
        if path is None:
            raise rows.UNKNOWN_KEY(id=address.reference)
        return path + address.path

    def with_tags(self, headers: Headers) -> Headers:
        """Headers with each `$<id>` replaced by that ETag; raises `Refusal` for a missing one."""
        tags: dict[bytes, bytes] = {}
        for name in _TAG_HEADERS:
            referenced = referenced_tag(headers, name)
            if referenced is None:
                continue
            tag = self._by_name[referenced].tag
            if tag is None:
                raise rows.NO_TAG(name.decode().title(), id=referenced)
            tags[name] = tag
        return {**headers, **tags} if tags else headers


class Run:
    """One run of a batch, whose requests get what `answer` returns for each."""

    def __init__(
        self,
        kernel: Kernel,
        answer: Answer,
        errors: ErrorWriter,
        outer: Request,
        exchange: Exchange,
        mode: BatchMode,
    ) -> None:
        self._kernel = kernel
        self._answer = answer
        self._errors = errors
        self._outer = outer
        self._exchange = exchange
        self._mode = mode
        self._outcomes = Outcomes()
        self._inherited = {
            name: outer.headers[name]
            for name in (*_INHERITED, *kernel.routes.company_headers)
            if name in outer.headers
        }
        self._is_over = False
        self._is_stopping = False
        self._has_written = False

    async def replies(self, batch: Batch) -> Replies:
        """Process the requests, and yield each response as soon as it is complete."""
        began, position = perf_counter(), 0
        while position < len(batch.items):
            items = self._concurrent(batch, position)
            position += len(items)
            if self._is_over:
                if not self._mode.answers_rest:
                    return
                yield self._omitted(items[0])
                continue
            for reply in await self._processed(items):
                self._is_over |= self._mode.stops_at_errors and _is_refused(reply)
                yield reply
            if perf_counter() - began > SLICE_SECONDS:
                with suppress(asyncio.CancelledError):
                    # the remaining requests are then refused one by one
                    await asyncio.sleep(0)
                began = perf_counter()

    async def snapshot(self, batch: Batch) -> Replies:
        """Process the requests as one transaction, up to the first that is refused.

        Its response is the last one. The responses to the writes before it are as if these had been
        stored. Reads return what was stored before.
        """
        atomic = self._atomic()
        found: list[Response | None] = []
        refusal: Refusal | None = None
        left = self._kernel.settings.batch_bytes
        failing = None
        for feature in self._kernel.features:
            failing = failing or await feature.failing(self._outer, self._exchange)
        parts = list(batch.parts)
        for number, part in enumerate(parts):
            try:
                if failing is not None and number == failing[0]:
                    raise failing[1]
                if part.method == "GET":
                    request = await self._request(part)
                    read = await self._awaited(partial(self._read, request, left))
                    left -= len(read.body) if isinstance(read.body, bytes) else 0
                    self._outcomes.add(part, request.path, read)
                    found.append(read)
                else:
                    await self._plan(atomic, part)
                    found.append(None)
            except Refusal as error:
                refusal = error
                break
        responses: Sequence[Response] = []
        try:
            responses = await self._awaited(partial(atomic.commit, refusal))
        except GroupRefusedError as error:
            responses, refusal = error.undone, error.refusal
        except Refusal as error:
            # none of the writes was done
            refusal = error
        written = iter(responses)
        answered: list[Response] = []
        for response in found:
            known = response or next(written, None)
            if known is None:
                break
            answered.append(known)
        if refusal is not None:
            self._exchange.note_refusal(refusal)
            answered.append(self._error(refusal, parts[len(answered)]))
        for reply in _grouped(batch, answered, is_refused=refusal is not None):
            yield reply

    async def _read(self, request: Request, limit: int) -> Response:
        """The whole response to a read; raises `Refusal` (413) if it is longer than the limit."""
        response = await self._answer(request, self._exchange)
        response.body = await whole_body(response, limit)
        if len(response.body) > limit:
            raise rows.LARGE_SNAPSHOT(limit=self._kernel.settings.batch_bytes)
        return response

    def _concurrent(self, batch: Batch, position: int) -> Sequence[Part | Group]:
        """The item at a position, with the writes after it that may run at the same time."""
        end = position
        for item in batch.items[position : position + MAX_CONCURRENT_WRITES]:
            if (
                self._mode.stops_at_errors
                or not self._mode.answers_rest
                or isinstance(item, Group)
                or item.method == "GET"
                or not _is_independent(item)
            ):
                break
            end += 1
        return batch.items[position : max(end, position + 1)]

    async def _processed(self, items: Sequence[Part | Group]) -> Sequence[Reply | GroupReply]:
        if len(items) == 1:
            item = items[0]
            return [await (self._group(item) if isinstance(item, Group) else self._single(item))]
        return await self._all([item for item in items if isinstance(item, Part)])

    async def _all(self, parts: Sequence[Part]) -> list[Reply]:
        tasks = [asyncio.ensure_future(self._single(part)) for part in parts]
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError:
            # writes are not undone, so the client gets their responses
            self._is_stopping = True
            await asyncio.wait(tasks)
        return [task.result() for task in tasks]

    async def _single(self, part: Part) -> Reply:
        try:
            request = await self._request(part)
            response = await self._awaited(partial(self._answer, request, self._exchange))
            path = request.path
        except Refusal as refusal:
            self._exchange.note_refusal(refusal)
            response, path = self._error(refusal, part), ""
        self._outcomes.add(part, path, response)
        return Reply(part.id, response)

    def _atomic(self) -> AtomicWrites:
        atomic: AtomicWrites = self._kernel.service.atomic()
        for feature in reversed(self._kernel.features):
            atomic = feature.around_group(atomic, self._exchange)
        return atomic

    async def _group(self, group: Group) -> GroupReply:
        atomic = self._atomic()
        paths: list[str | None] = []
        try:
            for part in group.parts:
                paths.append(await self._plan(atomic, part))
        except Refusal as refusal:
            return self._refused(group, len(paths), refusal)
        try:
            responses = await self._awaited(atomic.commit)
        except GroupRefusedError as error:
            return self._refused(group, error.index, error.refusal)
        except Refusal as refusal:
            # it concerns all requests of the group
            return self._failed(group, [refusal] * len(group.parts), 0)
        for part, path, response in zip(group.parts, paths, responses, strict=True):
            self._outcomes.add(part, path, response)
        self._outcomes.set(group.name, PartOutcome(succeeded=True))
        return GroupReply(group.name, _replies(group, responses))

    async def _plan(self, atomic: AtomicWrites, part: Part) -> str | None:
        """Plan a write, to whose record later requests of the group may refer by its path."""
        request = await self._request(part)
        path = await self._awaited(partial(atomic.add, request))
        self._outcomes.set(part.id, PartOutcome(succeeded=True, path=path))
        return path

    def _refused(self, group: Group, index: int, refusal: Refusal) -> GroupReply:
        part = group.parts[index]
        name = part.place if part.id is None else part.id
        refusals = [rows.GROUP_REFUSED(id=name)] * len(group.parts)
        refusals[index] = refusal
        return self._failed(group, refusals, index)

    def _failed(self, group: Group, refusals: Sequence[Refusal], refused_at: int) -> GroupReply:
        responses = list(map(self._error, refusals, group.parts))
        for name in (*(part.id for part in group.parts), group.name):
            self._outcomes.set(name, PartOutcome(succeeded=False))
        return GroupReply(group.name, _replies(group, responses), refused_at)

    def _omitted(self, item: Part | Group) -> Reply | GroupReply:
        refusal = rows.BATCH_ENDED()
        if isinstance(item, Part):
            return Reply(item.id, self._error(refusal, item))
        return self._failed(item, [refusal] * len(item.parts), 0)

    def _error(self, refusal: Refusal, part: Part) -> Response:
        """The response to a refused request, whose headers precede those of the batch."""
        headers = {**self._outer.headers, **part.headers}
        return self._errors.response(refusal, self._exchange.id, headers)

    async def _awaited(self, work: Callable[[], Awaitable[T]]) -> T:
        """Await the service; raises `Refusal` for any failure, which concerns one request only."""
        try:
            if self._is_stopping or is_cancelled():
                raise rows.SERVICE_STOPPED()
            return await work()
        except (Refusal, GroupRefusedError, ClientDisconnectedError):
            raise
        except asyncio.CancelledError:
            self._is_stopping = True
            raise rows.SERVICE_STOPPED() from None
        except Exception:  # noqa: BLE001 - earlier requests have succeeded, and need responses
            _log.exception("request %s failed", self._exchange.id)
            raise rows.FAILED(id=self._exchange.id) from None

    async def _request(self, part: Part) -> Request:
        """The request of a part; raises `Refusal` if it cannot be sent, or must not."""
        self._outcomes.check_dependencies(part)
        account = self._outer.principal.account
        if account is not None:
            account.check_quota()
        path = self._outcomes.path_of(part)
        query, settings = part.address.query, self._kernel.settings
        check_url(settings, len(settings.base_path) + len(path), query)
        headers = self._headers(part)
        check_versions(headers)
        if not self._mode.takes_isolation:
            check_isolation(headers)
        root, principal = self._outer.root, self._outer.principal
        place = RequestTarget(root, path, query, headers)
        root, path, query, headers = await self._kernel.routes.with_company_id(place, principal)
        wish = access(headers)
        if part.method != "GET":
            self._has_written = True
        elif self._has_written and wish is not None:
            # the read sees the batch's writes, whose tokens the client does not know yet
            wish = msgspec.structs.replace(wish, intent="readwrite")
        body, limit = part.body, settings.body_bytes

        async def read_body() -> bytes:
            check_body_coding(headers)
            if len(body) > limit:
                raise rows.LARGE_BODY(limit=limit)
            return body

        return Request(
            method=part.method,
            root=root,
            path=path,
            query=query,
            headers=headers,
            principal=principal,
            read_body=read_body,
            access=wish,
        )

    def _headers(self, part: Part) -> Headers:
        outer = self._outer.headers
        headers = {**self._inherited, **self._outcomes.with_tags(part.headers)}
        if part.method != "GET" and _REQUEST_ID in outer and _REQUEST_ID not in headers:
            headers[_REQUEST_ID] = b"%s.%d" % (outer[_REQUEST_ID].strip(), part.number)
            headers.update({name: outer[name] for name in _WITH_REQUEST_ID if name in outer})
        return headers


def _is_independent(part: Part) -> bool:
    return not part.depends_on and part.condition is None and not _references(part)


def _references(part: Part) -> list[str]:
    tags = [referenced_tag(part.headers, name) for name in _TAG_HEADERS]
    return [name for name in (part.address.reference, *tags) if name is not None]


def _replies(group: Group, responses: Sequence[Response]) -> list[Reply]:
    return [Reply(part.id, each) for part, each in zip(group.parts, responses, strict=True)]


def _grouped(
    batch: Batch, responses: Sequence[Response], *, is_refused: bool
) -> Iterator[Reply | GroupReply]:
    """The responses to the first requests of a batch; `is_refused`: the last one is an error."""
    position = 0
    for item in batch.items:
        parts = item.parts if isinstance(item, Group) else (item,)
        some = responses[position : position + len(parts)]
        replies = [Reply(part.id, each) for part, each in zip(parts, some, strict=False)]
        position += len(replies)
        if not replies:
            return
        if isinstance(item, Group):
            fails = is_refused and position == len(responses)
            yield GroupReply(item.name, replies, len(replies) - 1 if fails else None)
        else:
            yield replies[0]


def _is_refused(reply: Reply | GroupReply) -> bool:
    if isinstance(reply, GroupReply):
        return reply.refused_at is not None
    return reply.response.status >= 400
