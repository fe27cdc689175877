"""What has changed in a collection since a client read it (OData Protocol 4.01, section 11.3).

The change log is the truth: it is read in the order of commits, and never skips a change. A record
is told of at its last change alone, and one that changes while the log is read is left to the next
link. So each change is told once, whatever is written at the same time.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import groupby
from time import time_ns

import msgspec

from comptoir.edm.model import EntitySet
from comptoir.edm.types import Stored
from comptoir.plan.deltas import Delta, decode_delta, encode_delta, expired, no_delta
from comptoir.plan.expressions.nodes import padded
from comptoir.plan.pages import ListPage
from comptoir.plan.read import EVERYTHING, PagePlan, Row, default_order
from comptoir.request.options import continued
from comptoir.response.collections import ChangesWriter, Removed
from comptoir.response.records import RecordWriter
from comptoir.response.response import Response
from comptoir.service.context import Context, Runtime
from comptoir.store.ledger import DELETE, Change

CHANGES = 200
"""The most changes on a page: they are looked up and written in one turn."""

_TRACKED = frozenset({"$count", "$deltatoken", "$filter", "$format", "$select", "$skiptoken"})


class Deltas:
    """Tracks the changes of collections."""

    def __init__(self, runtime: Runtime) -> None:
        self._settings = runtime.settings
        self._base_url = runtime.base_url

    async def begin(self, context: Context, page: ListPage) -> Delta | None:
        """The delta of a client that reads the collection now, None where it cannot be tracked.

        The change log of one set does not say when other records change the result.
        """
        given = context.options.given
        tracked = _is_logged(context.entity_set)
        if not tracked or page.reads_other_records or not _TRACKED.issuperset(given):
            return None
        position = await context.reads.position(context.required_company())
        return Delta(position, None, time_ns())

    async def given(self, context: Context, token: str, page: ListPage) -> Delta:
        """The delta that a link carries; raises `Refusal` for one that cannot be followed."""
        if not _is_logged(context.entity_set):
            raise no_delta()
        company = context.required_company()
        oldest = time_ns() - int(self._settings.delta_seconds * 1e9)
        delta = decode_delta(token, _query(page), company, oldest=oldest)
        position = await context.reads.position(company, at_least=delta.reached)
        if delta.reached > position:
            raise expired()
        return delta

    def token(self, context: Context, page: ListPage, delta: Delta) -> str:
        """The token with which a client follows a delta."""
        return encode_delta(_query(page), context.required_company(), delta)

    async def changes(
        self, context: Context, records: RecordWriter, page: ListPage, delta: Delta
    ) -> Response:
        """The records that have changed, and those that are no longer in the collection."""
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
            request.patience,
        )
        follows = len(changes) > limit
        told = [each async for each in self._told(context, page, changes[:limit])]
        writer = ChangesWriter(records, self._base_url, context.company)
        body = [writer.head(None), *_written(writer, told)]
        if follows:
            rest = Delta(changes[limit - 1].number, until, delta.issued)
            body.append(writer.tail(next_link=self._link(context, page, rest)))
        else:
            rest = Delta(until, None, time_ns())
            body.append(writer.tail(delta_link=self._link(context, page, rest)))
        return Response(200, context.headers(), b"".join(body))

    def _link(self, context: Context, page: ListPage, delta: Delta) -> str:
        request = context.request
        query = continued(request.query, ("$deltatoken", self.token(context, page, delta)))
        return f"{self._base_url}{request.path}?{query}"

    async def _told(
        self, context: Context, page: ListPage, changes: Sequence[Change]
    ) -> AsyncIterator[Row | Removed]:
        """What each change that is its record's last has made of the record."""
        kind = context.entity_set.type
        last = {kind.key_property.type.from_text(each.record): each for each in changes}
        if not last:
            return
        found = await self._found(context, page.plan, list(last))
        lost = [key for key in last if key not in found]
        everything = msgspec.structs.replace(page.plan, where=EVERYTHING, within=())
        elsewhere = await self._found(context, everything, lost)
        for key, change in sorted(last.items(), key=lambda item: item[1].number):
            row = found.get(key) or elsewhere.get(key)
            if row is None:
                # one that was deleted behind this change is told of there
                if change.verb == DELETE:
                    yield Removed(key, "deleted")
            elif row[0] == change.number:
                yield row if key in found else Removed(key, "changed")

    async def _found(
        self, context: Context, plan: PagePlan, keys: Sequence[Stored]
    ) -> dict[Stored, Row]:
        """Those of the records with some keys that a plan finds."""
        if not keys:
            return {}
        order = default_order(context.entity_set)
        wanted = msgspec.structs.replace(
            plan, keys=tuple(padded(keys)), order=order, seek=None, limit=len(keys), skip=0
        )
        slices = context.reads.page(wanted, context.request.patience)
        return {context.records.key(row): row async for rows in slices for row in rows}


def _is_logged(entity_set: EntitySet) -> bool:
    """Whether the change log of a company tells all that changes in a set."""
    return entity_set.per_company and entity_set.view is None


def _query(page: ListPage) -> tuple[str, ...]:
    return ("delta", *page.query)


def _written(writer: ChangesWriter, told: Sequence[Row | Removed]) -> Iterator[bytes]:
    for is_removed, group in groupby(told, key=lambda each: isinstance(each, Removed)):
        if is_removed:
            yield writer.removed([each for each in group if isinstance(each, Removed)])
        else:
            yield writer.slice([each for each in group if not isinstance(each, Removed)])
