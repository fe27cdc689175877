"""The faults that refuse a request, or are a gateway in front of the service."""

from collections.abc import Sequence

from typing_extensions import override

from comptoir.auth.verification import invalid_token
from comptoir.errors.refusal import Refusal
from comptoir.features.rehearsal import errors
from comptoir.features.rehearsal.faults.fault import (
    AffectedRequest,
    Candidate,
    Fault,
    RetryAfter,
    Stage,
    gateway_page,
    parameter,
    retry_headers,
    retry_parameter,
    retry_seconds,
    word,
)
from comptoir.features.rehearsal.traps import Trap
from comptoir.plan.target import right_for
from comptoir.request.path import WRITE_METHODS
from comptoir.response.response import Response


class Throttle(Fault):
    """429: the client has sent too many requests."""

    trap = Trap.THROTTLING
    retry_after: RetryAfter = retry_parameter()

    @override
    def wait_seconds(self) -> float:
        return retry_seconds(self.retry_after)

    @override
    def refusal(self, affected: AffectedRequest) -> Refusal:
        return errors.THROTTLED(headers=retry_headers(self.retry_after), actual=101, limit=100)


class Away(Fault):
    """503 or 502: the service is away."""

    kind: str = word(
        "503 with a JSON body, 503 with the gateway's HTML page, or 502.", "json", "html", "502"
    )
    retry_after: RetryAfter = retry_parameter()
    window: int | None = parameter(
        "The seconds for which every request of every client gets this answer.", None, 1, 86_400
    )

    @override
    def window_seconds(self) -> float:
        return self.window or 0

    @override
    def wait_seconds(self) -> float:
        return retry_seconds(self.retry_after)

    @override
    def traps(self) -> Sequence[Trap]:
        met = [Trap.GATEWAY_PAGE] if self.kind != "json" else []
        return [*met, Trap.UPDATE_WINDOW] if self.window else met

    @override
    async def act(self, affected: AffectedRequest) -> Response:
        if self.kind == "json":
            raise self.unavailable()
        return gateway_page(502 if self.kind == "502" else 503, retry_headers(self.retry_after))

    @override
    def unavailable(self) -> Refusal:
        return errors.AWAY(headers=retry_headers(self.retry_after))


class Lock(Fault):
    """503: another session is updating records of the entity set."""

    trap = Trap.LOCK
    needs_set = True
    methods = WRITE_METHODS

    @override
    def refusal(self, affected: AffectedRequest) -> Refusal:
        entity_set = affected.target.entity_set
        return errors.LOCKED(set=entity_set.name, table=entity_set.type.caption)


class LinkExpired(Fault):
    """410: the link to a page is not valid any longer."""

    trap = Trap.EXPIRED_LINK
    methods = frozenset({"GET"})
    page: int = parameter("The number of the page.", 2, 2, 1_000_000)

    @override
    def can_meet(self, asked: Candidate) -> bool:
        return asked.page == self.page

    @override
    def refusal(self, affected: AffectedRequest) -> Refusal:
        return errors.LINK_GONE()


class TokenExpired(Fault):
    """401 until the client sends another token."""

    trap = Trap.EXPIRED_TOKEN
    ends_token = True
    by: str = word(
        "Who refuses the token: the service, or a gateway in front of it.", "service", "gateway"
    )

    @override
    def refusal(self, affected: AffectedRequest) -> Refusal:
        return invalid_token(errors.GATEWAY if self.by == "gateway" else errors.TOKEN_EXPIRED)


class RightsLost(Fault):
    """403: the client lacks a right on the entity set."""

    needs_set = True

    @override
    def refusal(self, affected: AffectedRequest) -> Refusal:
        request, entity_set = affected.request, affected.target.entity_set
        right = right_for(request.method, request.headers, upserts=False).name.capitalize()
        table = entity_set.type.table
        return errors.RIGHT_LOST(set=entity_set.name, right=right, table=table)


class Vanish(Fault):
    """404: the entity set is missing, as during an upgrade."""

    needs_set = True

    @override
    def refusal(self, affected: AffectedRequest) -> Refusal:
        root, name = affected.request.root, affected.target.entity_set.name
        url = root.address(affected.request.path)
        return errors.VANISHED(set=name).grouped(root.unknown, segment=name, url=url)


class BatchRollback(Fault):
    """A batch with a snapshot fails: its answers say 201, and nothing is stored."""

    trap = Trap.BATCH_ROLLED_BACK
    stage = Stage.BATCH
    index: int = parameter("The number of the request that fails, from 0.", 0, 0, 999)

    @override
    def failing(self) -> tuple[int, Refusal]:
        return self.index, errors.UNDONE()
