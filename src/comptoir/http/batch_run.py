"""Runs the requests of a batch, each as if it had been sent separately."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from time import perf_counter
from typing import TypeVar

import msgspec

from comptoir.config import Settings
from comptoir.errors import BAD_REQUEST, FAILED_DEPENDENCY, GroupRefusal, Refusal
from comptoir.http.exchange import ClientDisconnectedError, Exchange, check_body_coding, check_url
from comptoir.http.refusals import body_too_large, failed, stopping
from comptoir.request.batch.tree import Batch, Group, Part, holds, referenced_tag
from comptoir.request.headers import (
    ACCESS,
    Headers,
    Preferences,
    access,
    check_isolation,
    check_versions,
)
from comptoir.response.batch import GroupReply, Replies, Reply
from comptoir.response.response import Response, error_response
from comptoir.service import Request, Service

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


class Mode(msgspec.Struct, frozen=True):
    """What happens after an error, and whether independent writes may run at the same time.

    `answers_rest`: the requests after the error have responses too.
    """

    stops_at_errors: bool
    answers_rest: bool
    in_order: bool

    @classmethod
    def of_json(cls, wishes: Preferences) -> "Mode":
        """The mode of a batch in JSON (OData JSON Format 4.01, 19.4)."""
        stops = wishes.continue_on_error is False
        return cls(stops, answers_rest=True, in_order=stops)

    @classmethod
    def of_multipart(cls, wishes: Preferences) -> "Mode":
        """The mode of a batch in multipart/mixed (OData Protocol 4.01, 11.7.7.5)."""
        return cls(not wishes.continue_on_error, answers_rest=False, in_order=True)


class Outcome(msgspec.Struct, frozen=True):
    """Whether a request succeeded; the path of its record below the base path, and its ETag."""

    succeeded: bool
    path: str | None = None
    tag: bytes | None = None


class Outcomes:
    """The outcomes so far: of requests by id, of groups by name."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url
        self._by_name: dict[str, Outcome] = {}

    def add(self, part: Part, path: str | None, response: Response) -> None:
        """Add the response to a request that was sent to a path."""
        headers = dict(response.headers)
        location = headers.get(b"location") or headers.get(b"odata-entityid")
        if location is not None:
            path = location.decode("latin-1").removeprefix(self._base_url)
        # dependencies require a 2xx (OData JSON Format 4.01, 19.1)
        succeeded = 200 <= response.status < 300
        self.set(part.id, Outcome(succeeded, path, headers.get(b"etag")))

    def set(self, name: str | None, outcome: Outcome) -> None:
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
                raise not_processed("its condition (if) is false")
        for name in (*needed, *_references(part)):
            if name in self._by_name and not self._by_name[name].succeeded:
                raise not_processed(f"it depends on {name}, which failed")

    def path_of(self, part: Part) -> str:
        """The path of a request below the base path; raises `Refusal` for an unknown one."""
        address = part.address
        if address.reference is None:
            return address.path
        path = self._by_name[address.reference].path
        if path is None:
            raise Refusal(
                BAD_REQUEST,
                f"The key of {address.reference} is not known before its atomic group is committed",
                "Use the key of the record, or refer to it after the group.",
            )
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
                raise Refusal(
                    BAD_REQUEST,
                    f"The response to {referenced} has no ETag",
                    "Refer to a response that has one, such as that of a single record.",
                    target=name.decode().title(),
                )
            tags[name] = tag
        return {**headers, **tags} if tags else headers


class Run:
    """One run of a batch."""

    def __init__(
        self,
        service: Service,
        settings: Settings,
        outer: Request,
        exchange: Exchange,
        mode: Mode,
    ) -> None:
        self._service = service
        self._settings = settings
        self._outer = outer
        self._exchange = exchange
        self._mode = mode
        self._outcomes = Outcomes(settings.base_url)
        self._inherited = {
            name: outer.headers[name] for name in _INHERITED if name in outer.headers
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

    def _concurrent(self, batch: Batch, position: int) -> Sequence[Part | Group]:
        """The item at a position, with the writes after it that may run at the same time."""
        end = position
        for item in batch.items[position : position + MAX_CONCURRENT_WRITES]:
            if (
                self._mode.in_order
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
            self._outcomes.check_dependencies(part)
            request = self._request(part)
            response = await self._awaited(partial(self._service.handle, request))
            path = request.path
        except Refusal as refusal:
            response, path = error_response(refusal), ""
        self._outcomes.add(part, path, response)
        return Reply(part.id, response)

    async def _group(self, group: Group) -> GroupReply:
        atomic = self._service.atomic()
        paths: list[str | None] = []
        try:
            for part in group.parts:
                self._outcomes.check_dependencies(part)
                request = self._request(part)
                paths.append(await self._awaited(partial(atomic.add, request)))
                # later requests of the group may refer to it
                self._outcomes.set(part.id, Outcome(succeeded=True, path=paths[-1]))
        except Refusal as refusal:
            return self._refused(group, len(paths), refusal)
        try:
            responses = await self._awaited(atomic.commit)
        except GroupRefusal as fault:
            return self._refused(group, fault.index, fault.refusal)
        except Refusal as refusal:
            # it concerns all requests of the group
            return self._failed(group, [error_response(refusal) for _ in group.parts], 0)
        for part, path, response in zip(group.parts, paths, responses, strict=True):
            self._outcomes.add(part, path, response)
        self._outcomes.set(group.name, Outcome(succeeded=True))
        return GroupReply(group.name, _replies(group, responses))

    def _refused(self, group: Group, index: int, refusal: Refusal) -> GroupReply:
        part = group.parts[index]
        name = part.place if part.id is None else part.id
        rest = not_processed(f"{name} of the same atomic group was refused")
        responses = [
            error_response(refusal if number == index else rest)
            for number in range(len(group.parts))
        ]
        return self._failed(group, responses, index)

    def _failed(self, group: Group, responses: Sequence[Response], refused_at: int) -> GroupReply:
        for name in (*(part.id for part in group.parts), group.name):
            self._outcomes.set(name, Outcome(succeeded=False))
        return GroupReply(group.name, _replies(group, responses), refused_at)

    def _omitted(self, item: Part | Group) -> Reply | GroupReply:
        refusal = not_processed("an earlier request failed, and the batch stops at errors")
        if isinstance(item, Part):
            return Reply(item.id, error_response(refusal))
        return self._failed(item, [error_response(refusal) for _ in item.parts], 0)

    async def _awaited(self, work: Callable[[], Awaitable[T]]) -> T:
        """Await the service; raises `Refusal` for any failure, which concerns one request only."""
        try:
            if self._is_stopping or _is_cancelled():
                raise stopping()
            return await work()
        except (Refusal, GroupRefusal, ClientDisconnectedError):
            raise
        except asyncio.CancelledError:
            self._is_stopping = True
            raise stopping() from None
        except Exception:  # noqa: BLE001 - earlier requests have succeeded, and need responses
            _log.exception("request %s failed", self._exchange.id)
            raise failed(self._exchange.id) from None

    def _request(self, part: Part) -> Request:
        path = self._outcomes.path_of(part)
        length = len(self._settings.base_path) + len(path)
        check_url(length, part.address.query, self._settings.url_bytes)
        headers = self._headers(part)
        check_versions(headers)
        check_isolation(headers)
        wish = access(headers)
        if part.method != "GET":
            self._has_written = True
        elif self._has_written and wish is not None:
            # the read sees the batch's writes, whose tokens the client does not know yet
            wish = msgspec.structs.replace(wish, intent="readwrite")
        body, limit = part.body, self._settings.body_bytes

        async def read_body() -> bytes:
            check_body_coding(headers)
            if len(body) > limit:
                raise body_too_large(limit)
            return body

        return Request(
            method=part.method,
            path=path,
            query=part.address.query,
            headers=headers,
            principal=self._outer.principal,
            read_body=read_body,
            while_connected=self._outer.while_connected,
            access=wish,
        )

    def _headers(self, part: Part) -> Headers:
        outer = self._outer.headers
        headers = {**self._inherited, **self._outcomes.with_tags(part.headers)}
        if part.method != "GET" and _REQUEST_ID in outer and _REQUEST_ID not in headers:
            headers[_REQUEST_ID] = b"%s.%d" % (outer[_REQUEST_ID].strip(), part.number)
            headers.update({name: outer[name] for name in _WITH_REQUEST_ID if name in outer})
        return headers


def not_processed(reason: str) -> Refusal:
    """424 for a request that was not processed."""
    return Refusal(
        FAILED_DEPENDENCY,
        f"The request was not processed because {reason}",
        "Nothing was changed. Correct the cause and send the request again.",
    )


def _is_independent(part: Part) -> bool:
    return not part.depends_on and part.condition is None and not _references(part)


def _references(part: Part) -> list[str]:
    tags = [referenced_tag(part.headers, name) for name in _TAG_HEADERS]
    return [name for name in (part.address.reference, *tags) if name is not None]


def _replies(group: Group, responses: Sequence[Response]) -> list[Reply]:
    return [Reply(part.id, each) for part, each in zip(group.parts, responses, strict=True)]


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _is_refused(reply: Reply | GroupReply) -> bool:
    if isinstance(reply, GroupReply):
        return reply.refused_at is not None
    return reply.response.status >= 400
