"""Changes of a collection since a client read it (OData Protocol 4.01, section 11.3).

The change log is read in the order of commits, and has no gaps. A response reports a record at its
last change. A record that changes meanwhile is left to the next link. Thus concurrent writes never
make a response skip a change or report it twice.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial
from itertools import groupby
from time import time_ns

import msgspec

from comptoir.edm.types import Stored
from comptoir.plan.expressions.nodes import padded
from comptoir.plan.pages import Page
from comptoir.plan.read import PagePlan, Row, all_records
from comptoir.plan.tokens import Delta, decode_delta, encode_delta, expired_delta, invalid_delta
from comptoir.request.options import continued
from comptoir.response.collections import ChangesWriter, Removed, RowWriter
from comptoir.response.response import Response
from comptoir.service.context import Context, Respond, Runtime
from comptoir.store.ledger import DELETE, Change

CHANGES = 200
"""The most changes on a page: they are read and written without yielding to the event loop."""

_TRACKED = frozenset({"$count", "$deltatoken", "$filter", "$format", "$select", "$skiptoken"})


class Deltas:
    """Tracks the changes of collections."""

    def __init__(self, runtime: Runtime) -> None:
        self._settings = runtime.settings

    async def start(self, context: Context, page: Page) -> Delta | None:
        """The delta of a client that starts reading now; None if the result cannot be tracked.

        The change log of one set does not show when other records change the result.
        """
        tracked = context.entity_set.tracks_changes and not page.reads_other_records
        if not tracked or not _TRACKED.issuperset(context.options.given):
            return None
        position = await context.reads.position(context.required_company())
        return Delta(position, None, time_ns())

    async def resume(self, context: Context, token: str, page: Page) -> Delta:
        """The delta of a link; raises `Refusal` (400, 410) if the service cannot follow it."""
        if not context.entity_set.tracks_changes:
            raise invalid_delta()
        company = context.required_company()
        oldest = time_ns() - int(self._settings.delta_seconds * 1e9)
        delta = decode_delta(token, _query(page), company, oldest=oldest)
        position = await context.reads.position(company, at_least=delta.known)
        if delta.known > position:
            raise expired_delta()
        return delta

    def token(self, context: Context, page: Page, delta: Delta) -> str:
        """The token with which a client follows a delta."""
        return encode_delta(_query(page), context.required_company(), delta)

    async def changes(self, context: Context, rows: RowWriter, page: Page, delta: Delta) -> Respond:
        """Read the records that have changed, and those that have left the collection."""
        request, until = context.request, delta.until
        if until is None:
            until = await context.reads.position(context.required_company())
        limit = min(page.size, CHANGES)
        changes = await context.reads.changes_of(
            context.required_company(),
            context.entity_set,
            delta.since,
            until,
            limit + 1,
            request.while_connected,
        )
        entries = [each async for each in self._entries(context, page.plan, changes[:limit])]
        context.spend(len(entries))
        rest = Delta(until, None, time_ns())
        if len(changes) > limit:
            rest = Delta(changes[limit - 1].number, until, delta.issued)
        return partial(self._respond, context, rows, page, entries, rest)

    async def _respond(
        self,
        context: Context,
        rows: RowWriter,
        page: Page,
        entries: Sequence[Row | Removed],
        rest: Delta,
    ) -> Response:
        writer = ChangesWriter(rows, context.company, context.records)
        link = self._link(context, page, rest)
        is_last = rest.until is None
        tail = writer.tail(delta_link=link) if is_last else writer.tail(next_link=link)
        body = [writer.head(None), *_written(writer, entries), tail]
        return Response(200, context.headers(), b"".join(body))

    def _link(self, context: Context, page: Page, delta: Delta) -> str:
        request = context.request
        query = continued(request.query, ("$deltatoken", self.token(context, page, delta)))
        return f"{request.root.address(request.path)}?{query}"

    async def _entries(
        self, context: Context, plan: PagePlan, changes: Sequence[Change]
    ) -> AsyncIterator[Row | Removed]:
        """The current state of each record whose last change is among the changes."""
        key_type = context.entity_set.type.key_property.type
        last = {key_type.from_text(each.record): each for each in changes}
        if not last:
            return
        found = await self._read(context, plan, list(last))
        missing = [key for key in last if key not in found]
        everything = PagePlan(
            all_records(context.entity_set),
            msgspec.structs.replace(plan.bounds, within=()),
            plan.limit,
        )
        outside = await self._read(context, everything, missing)
        for key, change in sorted(last.items(), key=lambda item: item[1].number):
            row = found.get(key) or outside.get(key)
            if row is None:
                # a later delta reports a record that was deleted after this change
                if change.verb == DELETE:
                    yield Removed(key, "deleted")
            elif row[0] == change.number:
                yield row if key in found else Removed(key, "changed")

    async def _read(
        self, context: Context, plan: PagePlan, keys: Sequence[Stored]
    ) -> dict[Stored, Row]:
        """The records of a plan with these keys, by key."""
        if not keys:
            return {}
        bounds = msgspec.structs.replace(plan.bounds, keys=tuple(padded(keys)))
        wanted = PagePlan(plan.pipeline, bounds, len(keys), plan.values)
        slices = context.reads.page(wanted, context.request.while_connected)
        return {context.records.key(row): row async for rows in slices for row in rows}


def _query(page: Page) -> tuple[str, ...]:
    return ("delta", *page.query)


def _written(writer: ChangesWriter, entries: Sequence[Row | Removed]) -> Iterator[bytes]:
    for is_removed, group in groupby(entries, key=lambda each: isinstance(each, Removed)):
        if is_removed:
            yield writer.removed([each for each in group if isinstance(each, Removed)])
        else:
            yield writer.slice([each for each in group if not isinstance(each, Removed)])
