"""Has the requests of a batch done, each by the service as if it was sent alone."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from time import perf_counter
from typing import TypeVar

import msgspec

from comptoir.config import Settings
from comptoir.errors import BODY_TOO_LARGE, GroupRefusal, Refusal
from comptoir.http.batch.outcomes import Outcomes, not_done, stands_alone
from comptoir.http.body import ClientLeft, check_coding
from comptoir.http.exchange import Exchange
from comptoir.http.failures import failed, stopping
from comptoir.http.url import check_url
from comptoir.request.batch import Batch, Group, Part
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

TURN_SECONDS = 0.002
"""How long the requests of a batch hold the event loop before others have their turn."""

SIDE_BY_SIDE = 25
"""How many writes that do not depend on one another are under way at once, to share a commit."""

_INHERITED = (b"odata-version", b"odata-maxversion", *ACCESS)
_REQUEST_ID = b"repeatability-request-id"
_OF_REPEATS = (b"repeatability-first-sent", b"repeatability-client-id")

T = TypeVar("T")


class Course(msgspec.Struct, frozen=True):
    """How a batch goes on.

    Whether it stops when a request is refused, whether those behind it are answered then, and
    whether writes that do not depend on one another wait for one another.
    """

    stops: bool
    answers_rest: bool
    in_order: bool

    @classmethod
    def of_documents(cls, wishes: Preferences) -> "Course":
        """That of a batch in JSON (OData JSON Format 4.01, 19.4)."""
        stops = wishes.continue_on_error is False
        return cls(stops, answers_rest=True, in_order=stops)

    @classmethod
    def of_multipart(cls, wishes: Preferences) -> "Course":
        """That of a batch in multipart/mixed (OData Protocol 4.01, 11.7.7.5)."""
        return cls(not wishes.continue_on_error, answers_rest=False, in_order=True)


class Run:
    """Does one batch."""

    def __init__(
        self,
        service: Service,
        settings: Settings,
        outer: Request,
        exchange: Exchange,
        course: Course,
    ) -> None:
        self._service = service
        self._settings = settings
        self._outer = outer
        self._exchange = exchange
        self._course = course
        self._outcomes = Outcomes(settings.base_url)
        self._inherited = {
            name: outer.headers[name] for name in _INHERITED if name in outer.headers
        }
        self._is_over = False
        self._is_stopping = False
        self._writes = False

    async def replies(self, batch: Batch) -> Replies:
        """Do the requests and give their answers, each when it is known."""
        began, position = perf_counter(), 0
        while position < len(batch.items):
            items = self._side_by_side(batch, position)
            position += len(items)
            if self._is_over:
                if not self._course.answers_rest:
                    return
                yield self._left_out(items[0])
                continue
            for reply in await self._done(items):
                self._is_over |= self._course.stops and _is_refused(reply)
                yield reply
            if perf_counter() - began > TURN_SECONDS:
                with suppress(asyncio.CancelledError):
                    # what is left is then given up one by one, and answered
                    await asyncio.sleep(0)
                began = perf_counter()

    def _side_by_side(self, batch: Batch, position: int) -> Sequence[Part | Group]:
        """The item at a position, with the writes behind it that need not wait for one another."""
        end = position
        for item in batch.items[position : position + SIDE_BY_SIDE]:
            if (
                self._course.in_order
                or isinstance(item, Group)
                or item.method == "GET"
                or not stands_alone(item)
            ):
                break
            end += 1
        return batch.items[position : max(end, position + 1)]

    async def _done(self, items: Sequence[Part | Group]) -> Sequence[Reply | GroupReply]:
        if len(items) == 1:
            item = items[0]
            return [await (self._group(item) if isinstance(item, Group) else self._single(item))]
        return await self._all([item for item in items if isinstance(item, Part)])

    async def _all(self, parts: Sequence[Part]) -> list[Reply]:
        tasks = [asyncio.ensure_future(self._single(part)) for part in parts]
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError:
            # writes are not taken back, so the client is told what became of them all the same
            self._is_stopping = True
            await asyncio.wait(tasks)
        return [task.result() for task in tasks]

    async def _single(self, part: Part) -> Reply:
        try:
            refusal = self._outcomes.hindrance(part)
            if refusal is not None:
                raise refusal
            request = self._request(part)
            answer = await self._awaited(partial(self._service.handle, request))
            path = request.path
        except Refusal as refused:
            answer, path = error_response(refused), ""
        self._outcomes.note(part, path, answer)
        return Reply(part.id, answer)

    async def _group(self, group: Group) -> GroupReply:
        atomic = self._service.atomic()
        paths: list[str | None] = []
        try:
            for part in group.parts:
                refusal = self._outcomes.hindrance(part)
                if refusal is not None:
                    raise refusal
                request = self._request(part)
                paths.append(await self._awaited(partial(atomic.add, request)))
                self._outcomes.expect(part, paths[-1])
        except Refusal as refused:
            return self._undone(group, len(paths), refused)
        try:
            answers = await self._awaited(atomic.commit)
        except GroupRefusal as refused:
            return self._undone(group, refused.index, refused.refusal)
        except Refusal as refused:
            # it concerns them all alike
            return self._answered(group, [error_response(refused) for _ in group.parts], 0)
        for part, path, answer in zip(group.parts, paths, answers, strict=True):
            self._outcomes.note(part, path, answer)
        self._outcomes.note_success(group.name)
        return self._answered(group, answers)

    def _undone(self, group: Group, index: int, refusal: Refusal) -> GroupReply:
        at_fault = group.parts[index]
        which = at_fault.place if at_fault.id is None else at_fault.id
        rest = not_done(f"{which} of the same atomic group was refused")
        answers = [
            error_response(refusal if number == index else rest)
            for number in range(len(group.parts))
        ]
        return self._answered(group, answers, index)

    def _answered(
        self, group: Group, answers: Sequence[Response], refused_at: int | None = None
    ) -> GroupReply:
        if refused_at is not None:
            for part in group.parts:
                self._outcomes.note_failure(part.id)
            self._outcomes.note_failure(group.name)
        replies = [
            Reply(part.id, answer) for part, answer in zip(group.parts, answers, strict=True)
        ]
        return GroupReply(group.name, replies, refused_at)

    def _left_out(self, item: Part | Group) -> Reply | GroupReply:
        refusal = not_done("an earlier request was refused, and the batch was to stop at that")
        if isinstance(item, Part):
            return Reply(item.id, error_response(refusal))
        return self._answered(item, [error_response(refusal) for _ in item.parts], 0)

    async def _awaited(self, work: Callable[[], Awaitable[T]]) -> T:
        """Await what the service does; whatever fails is a `Refusal` of this one request."""
        try:
            if self._is_stopping or _is_cancelled():
                raise stopping()
            return await work()
        except (Refusal, GroupRefusal, ClientLeft):
            raise
        except asyncio.CancelledError:
            self._is_stopping = True
            raise stopping() from None
        except Exception:  # noqa: BLE001 - the requests before this one have been done
            raise failed(self._exchange) from None

    def _request(self, part: Part) -> Request:
        path = self._outcomes.path_of(part)
        check_url(
            len(self._settings.base_path) + len(path),
            part.address.query,
            self._settings.url_bytes,
        )
        headers = self._headers(part)
        check_versions(headers)
        check_isolation(headers)
        wish = access(headers)
        if part.method != "GET":
            self._writes = True
        elif self._writes and wish is not None:
            # it sees what the batch has written, of which the client knows no token yet
            wish = msgspec.structs.replace(wish, intent="readwrite")
        body, limit = part.body, self._settings.body_bytes

        async def read_body() -> bytes:
            check_coding(headers)
            if len(body) > limit:
                raise Refusal(
                    BODY_TOO_LARGE, f"The body is larger than {limit} bytes. Send less at a time."
                )
            return body

        return Request(
            method=part.method,
            path=path,
            query=part.address.query,
            headers=headers,
            principal=self._outer.principal,
            read_body=read_body,
            patience=self._outer.patience,
            access=wish,
        )

    def _headers(self, part: Part) -> Headers:
        outer = self._outer.headers
        headers = {**self._inherited, **self._outcomes.with_tags(part.headers)}
        if part.method != "GET" and _REQUEST_ID in outer and _REQUEST_ID not in headers:
            headers[_REQUEST_ID] = b"%s.%d" % (outer[_REQUEST_ID].strip(), part.number)
            headers.update({name: outer[name] for name in _OF_REPEATS if name in outer})
        return headers


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _is_refused(reply: Reply | GroupReply) -> bool:
    if isinstance(reply, GroupReply):
        return reply.refused_at is not None
    return reply.response.status >= 400
