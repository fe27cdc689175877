"""Reading one record."""

from comptoir.auth import Scope, require
from comptoir.edm.scalar import NO_GUID
from comptoir.plan.read import RecordPlan, Row
from comptoir.request.headers import entity_tags, names_protocol
from comptoir.request.options import parse_options
from comptoir.response.answer import Answer
from comptoir.service.collections import Collections
from comptoir.service.context import Context, Runtime, refuse_options
from comptoir.store.unit import no_record


class Records:
    """The verbs that read a record by its key."""

    def __init__(self, runtime: Runtime, collections: Collections) -> None:
        self._store = runtime.store
        self._base_url = runtime.base_url
        self._collections = collections

    async def read(self, context: Context) -> Answer:
        """The record, or 304 when the client has it already."""
        request, records, company = context.request, context.records, context.company
        require(request.principal, Scope.RECORDS_READ)
        refuse_options(parse_options(request.query), "a single record")
        unchanged = entity_tags(request.headers, b"if-none-match")
        row = await self._record(context)
        tag = (b"etag", records.tag(company, row).encode())
        if unchanged is not None and unchanged.hold(records.opaque(company, row)):
            return Answer(304, [(b"odata-version", b"4.0"), tag])
        body = records.record(self._base_url, company, row)
        return Answer(200, [*context.headers(), tag], body)

    async def narrowed(self, context: Context) -> Answer:
        """Operation 9 at a key: the collection, narrowed to one record unless the key is zero."""
        if names_protocol(context.request.headers):
            return await self.read(context)
        require(context.request.principal, Scope.RECORDS_READ)
        if context.target.key == NO_GUID:
            return await self._collections.page(context, None)
        row = await self._record(context)
        return await self._collections.page(context, (context.records.key(row),))

    async def _record(self, context: Context) -> Row:
        key = context.target.key
        row = None
        if key is not None:
            plan = RecordPlan(context.entity_set, context.company, key)
            row = await self._store.record(plan, context.request.patience)
        if row is None:
            raise no_record(context.entity_set, key or "")
        return row
