"""Atomic groups (OData Protocol 4.01, 11.7): writes that are done together or not at all."""

from collections.abc import Awaitable, Callable

from comptoir.errors import BAD_REQUEST, Refusal
from comptoir.plan.write import Repeat, WritePlan
from comptoir.request.repeatability import REQUEST_ID, rejected
from comptoir.response.response import Response
from comptoir.service.context import Context, Request
from comptoir.service.writes import WRITING
from comptoir.store.change import Written
from comptoir.store.protocol import Store

Planner = Callable[[Request], Awaitable[tuple[Context, WritePlan]]]
Answerer = Callable[[Context, WritePlan, Written], Response]


class AtomicGroup:
    """Writes of one company that become one unit of work, in the order in which they are added.

    `add` each, then `commit`. Nothing is written before, so a group may be dropped at any time.
    """

    def __init__(self, store: Store, planner: Planner, answerer: Answerer) -> None:
        self._store = store
        self._planner = planner
        self._answerer = answerer
        self._planned: list[tuple[Context, WritePlan]] = []

    async def add(self, request: Request) -> str | None:
        """Plan a write (POST, PATCH, PUT, DELETE): all of its checks that need no record.

        Returns the path of the record that it will create or change, as `Request.path` has it:
        below the base path, percent-encoded. A record that is to be created has its key already,
        so a later request of the group can be sent to it. None when the key is missing, so that
        `commit` refuses the request, or when the path names the record by other means than its
        key, so that only `commit` finds it.

        Raises `Refusal` where the request is refused, also (400) for one that is no write, or is
        of another company than those before it.
        """
        if request.method not in WRITING:
            raise Refusal(
                BAD_REQUEST,
                f"{request.method[:20]} has no place in an atomic group, which holds "
                f"{', '.join(WRITING)} alone. Send it beside the group.",
            )
        context, plan = await self._planner(request)
        if self._planned and self._planned[0][1].company != plan.company:
            raise Refusal(
                BAD_REQUEST,
                "The requests of an atomic group must be of one company. Make a group for each.",
            )
        self._check_repeat(plan.repeat)
        self._planned.append((context, plan))
        if plan.key is None:
            return None
        return context.records.link_to("", plan.company, plan.key)

    def _check_repeat(self, repeat: Repeat | None) -> None:
        """Raise `Refusal` (400) unless the group can be known as a whole when it comes again."""
        others = [plan.repeat for _, plan in self._planned]
        if others and (repeat is None) != (others[0] is None):
            raise rejected(
                BAD_REQUEST,
                f"In an atomic group all requests have a {REQUEST_ID}, or none has. "
                "Send one with each.",
                REQUEST_ID,
            )
        if repeat is not None and any(
            other is not None
            and (other.request_id, other.client_id) == (repeat.request_id, repeat.client_id)
            for other in others
        ):
            raise rejected(
                BAD_REQUEST,
                f"Another request of the group has the same {REQUEST_ID}. Give each its own.",
                REQUEST_ID,
            )

    async def commit(self) -> list[Response]:
        """Do what was added, in one transaction, and give the answers in the same order.

        Later writes see what earlier ones did. Raises `GroupRefusal` for the first that is
        refused, and `Refusal` for what concerns them all (429, 503); nothing was changed then.
        """
        if not self._planned:
            return []
        done = await self._store.write_all([plan for _, plan in self._planned])
        return [
            self._answerer(context, plan, written)
            for (context, plan), written in zip(self._planned, done, strict=True)
        ]
