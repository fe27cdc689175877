"""Reading a record, a part of it, a collection or its changes: a page at a time, streamed."""

import asyncio
from codecs import BOM_UTF8
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from functools import partial
from itertools import chain
from time import time_ns

import msgspec

from comptoir.edm.model import Property
from comptoir.edm.record_json import opaque_tag, version_of
from comptoir.edm.types import NO_GUID, Stored
from comptoir.errors import refusal_rows
from comptoir.errors.refusal import Refusal
from comptoir.plan.expressions.nodes import padded
from comptoir.plan.pages import (
    Delta,
    Page,
    bind_count,
    bind_page,
    computed_now,
    decode_delta,
    encode_delta,
)
from comptoir.plan.read import Bounds, Computed, CountPlan, PagePlan, RecordPlan, Row, all_records
from comptoir.plan.target import Resource, record_not_found
from comptoir.request.headers import NO_PREFERENCES, EntityTags, Preferences, names_protocol
from comptoir.request.options import NO_OPTIONS, continued
from comptoir.response.collections import ChangesWriter, PageWriter, Removed, RowWriter
from comptoir.response.records import ADDRESS, JsonWriter, RecordWriter
from comptoir.response.response import ODATA_VERSION, Header, Pieces, Response
from comptoir.service.context import (
    COLLECTION_OPTIONS,
    COUNT_OPTIONS,
    FORMAT_OPTIONS,
    RECORD_OPTIONS,
    REFERENCE_OPTIONS,
    Context,
    Respond,
    Run,
    Verb,
    allow_options,
    record_writer,
)
from comptoir.service.views import (
    Expander,
    computed_properties,
    pieces_of,
    regrouped,
    view_of_page,
    view_of_records,
)
from comptoir.store.ledger import DELETE, Change
from comptoir.store.store import Slices

CHANGES = 200
"""The most changes on a page: they are read and written without yielding to the event loop."""

_TRACKED = frozenset({"$count", "$deltatoken", "$filter", "$format", "$select", "$skiptoken"})


async def _begun_delta(context: Context, page: Page) -> Delta | None:
    """The delta of a client that starts reading now; None if the result cannot be tracked.

    The change log of one set does not show when other records change the result.
    """
    tracked = context.entity_set.tracks_changes and not page.reads_other_records
    if not tracked or not _TRACKED.issuperset(context.options.given):
        return None
    position = await context.reads.position(context.required_company())
    return Delta(position, None, time_ns())


async def _resumed_delta(context: Context, token: str, page: Page) -> Delta:
    """The delta of a link; raises `Refusal` (400, 410) if it is not one, or too old."""
    if not context.entity_set.tracks_changes:
        raise refusal_rows.DELTA_TOKEN("$deltatoken")
    company = context.required_company()
    oldest = time_ns() - int(context.runtime.settings.delta_seconds * 1e9)
    delta = decode_delta(token, ("delta", *page.query), company, oldest=oldest)
    position = await context.reads.position(company, at_least=delta.known)
    if delta.known > position:
        raise refusal_rows.DELTA_EXPIRED("$deltatoken")
    return delta


def _delta_token(context: Context, page: Page, delta: Delta) -> str:
    """The token with which a client follows a delta."""
    return encode_delta(("delta", *page.query), context.required_company(), delta)


async def _changes(context: Context, rows: RowWriter, page: Page, delta: Delta) -> Respond:
    """Read the records that have changed, and those that have left the collection."""
    company, until = context.required_company(), delta.until
    if until is None:
        until = await context.reads.position(company)
    limit = min(page.size, CHANGES)
    changes = await context.reads.changes_of(
        company, context.entity_set, delta.since, until, limit + 1
    )
    if await context.reads.trimmed_after(company, delta.since):
        raise refusal_rows.DELTA_EXPIRED("$deltatoken")
    entries = [each async for each in _entries(context, page.plan, changes[:limit])]
    context.spend(len(entries))
    rest = Delta(until, None, time_ns())
    if len(changes) > limit:
        rest = Delta(changes[limit - 1].number, until, delta.issued)
    return partial(_changed, context, rows, page, entries, rest)


async def _changed(
    context: Context, rows: RowWriter, page: Page, entries: Sequence[Row | Removed], rest: Delta
) -> Response:
    request, writer = context.request, ChangesWriter(rows, context.company, context.records)
    query = continued(request.query, ("$deltatoken", _delta_token(context, page, rest)))
    link = f"{request.root.address(request.path)}?{query}"
    is_last = rest.until is None
    tail = writer.tail(delta_link=link) if is_last else writer.tail(next_link=link)
    written = [
        writer.removed(each) if isinstance(each, Removed) else writer.slice((each,))
        for each in entries
    ]
    return Response(200, context.headers(), b"".join([writer.head(None), *written, tail]))


async def _entries(
    context: Context, plan: PagePlan, changes: Sequence[Change]
) -> AsyncGenerator[Row | Removed, None]:
    """The current state of each record whose last change is among the changes."""
    key_type = context.entity_set.type.key_property.type
    last = {key_type.from_text(each.record): each for each in changes}
    if not last:
        return
    found = await _records(context, plan, list(last))
    missing = [key for key in last if key not in found]
    everything = PagePlan(
        all_records(context.entity_set), msgspec.structs.replace(plan.bounds, within=()), plan.limit
    )
    outside = await _records(context, everything, missing)
    for key, change in sorted(last.items(), key=lambda item: item[1].number):
        row = found.get(key) or outside.get(key)
        if row is None:
            # a later delta reports a record that was deleted after this change
            if change.verb == DELETE:
                yield Removed(key, "deleted")
        elif row[0] == change.number:
            yield row if key in found else Removed(key, "changed")


async def _records(context: Context, plan: PagePlan, keys: Sequence[Stored]) -> dict[Stored, Row]:
    """The records of a plan with these keys, by key."""
    if not keys:
        return {}
    bounds = msgspec.structs.replace(plan.bounds, keys=tuple(padded(keys)))
    wanted = PagePlan(plan.pipeline, bounds, len(keys), plan.values)
    return {context.records.key(row): row for row in await context.rows(wanted)}


async def _list(context: Context) -> Run:
    """A page of the records that the query options select."""
    return await _page(context, await _bounds(context))


async def _references(context: Context) -> Run:
    """A page of the addresses of the records that the query options select."""
    allow_options(context.options, REFERENCE_OPTIONS, "references")
    request, form = context.request, context.records.form
    records = record_writer(request.root, context.entity_set, form, ADDRESS)
    bounds = await _bounds(context)
    return await _page(msgspec.structs.replace(context, records=records), bounds)


async def _count(context: Context) -> Run:
    """The number of records that match (OData Protocol 4.01, section 11.2.10).

    Options that sort, page and select records are checked, and do not affect the count.
    """
    options = context.options
    allow_options(options, COUNT_OPTIONS, "a count")
    bounds = await _bounds(context)
    if options.apply is None:
        view_of_records(context)
    plan = bind_count(context.binding(), options, bounds)
    if options.apply is not None:
        view_of_page(context, plan.pipeline)
    return partial(_read_count, context, plan)


async def _read_count(context: Context, plan: CountPlan) -> Respond:
    return partial(_counted, context, await context.reads.count(plan))


async def _counted(context: Context, count: int) -> Response:
    mark = BOM_UTF8 if context.runtime.behaviour.queries.count_mark else b""
    headers = [(b"content-type", b"text/plain;charset=utf-8"), ODATA_VERSION]
    return Response(200, headers, b"%b%d" % (mark, count))


async def _bounds(context: Context) -> Bounds:
    if context.target.steps:
        within = await context.within()
        if within is None:
            return Bounds(context.company, keys=())
        return Bounds(context.company, within=within)
    reached = context.request.principal.companies
    if context.entity_set.per_company or reached is None:
        return Bounds(context.company)
    return Bounds(context.company, keys=tuple(sorted(reached)))


async def _page(context: Context, bounds: Bounds) -> Run:
    """A page of the set's records within bounds, or of the result of `$apply` on them."""
    options, settings = context.options, context.runtime.settings
    allow_options(options, COLLECTION_OPTIONS, "a collection")
    preferred = context.preferences
    page_size = min(preferred.max_page_size or settings.page_size, settings.max_page_size)
    if options.apply is not None and options.deltatoken is not None:
        raise refusal_rows.NOT_APPLICABLE(
            "$deltatoken", option="$deltatoken", resource="the result of $apply"
        )
    # most lists have none of these
    is_whole = not (options.select or options.expand or options.compute or options.apply)
    computed = () if is_whole else computed_properties(context)
    page = await _bound(context, bounds, page_size, computed)
    rows: RowWriter = context.records
    expander = None
    if not is_whole:
        rows, expander = view_of_page(context, page.plan.pipeline)
    return partial(_read_page, context, page, rows, expander, preferred, page_size)


async def _bound(context: Context, bounds: Bounds, page_size: int, computed: Computed = ()) -> Page:
    """The page that the options ask for."""
    options, by_record = context.options, context.runtime.links_by_record
    page = bind_page(context.binding(computed), options, bounds, page_size, by_record=by_record)
    if page.by_record and options.skiptoken is not None:
        lookup = page.lookup()
        page = page.after(lookup, await context.rows(lookup))
    return page


class Table(msgspec.Struct):
    """A page of records as rows of stored values, for another part of this process.

    A row has the record's version, then the properties of the table. `count` is the number of
    records on all pages, if the request asks for it.
    """

    count: int | None
    first: Sequence[Row]
    blocks: Slices
    writer: PageWriter

    @property
    def next_link(self) -> str:
        """The link to the next page after `rows` has ended; blank on the last page."""
        return self.writer.next_link or ""

    async def rows(self) -> AsyncGenerator[Sequence[Row], None]:
        """The rows of the page; it ends early, with a link to the rest, where a read fails."""
        async with aclosing(self.blocks):
            yield self._next(self.first)
            try:
                async for rows in self.blocks:
                    yield self._next(rows)
            except Refusal:
                self.writer.end_page()

    def _next(self, rows: Sequence[Row]) -> Sequence[Row]:
        visible = self.writer.visible(rows)
        self.writer.advance(rows)
        return visible


async def read_table(context: Context, names: tuple[str, ...], page_size: int) -> Table:
    """A page of the set's records with these properties; the options are those of a list."""
    request = context.request
    page = (await _bound(context, await _bounds(context), page_size)).read_as(names=names)
    page = await _counted_page(context, page)
    blocks = context.page(page.plan)
    first: Sequence[Row] = await anext(blocks, [])
    writer = PageWriter(
        context.records, context.company, page, request.root, request.path, request.query
    )
    return Table(page.found if page.count else None, first, blocks, writer)


async def _counted_page(context: Context, page: Page) -> Page:
    """The page with the number of records on all pages, if that is asked for."""
    if page.count is None or page.found is not None:
        return page
    return msgspec.structs.replace(page, found=await context.reads.count(page.count))


async def _read_page(
    context: Context,
    page: Page,
    rows: RowWriter,
    expander: Expander | None,
    preferred: Preferences,
    page_size: int,
) -> Respond:
    request, options, delta = context.request, context.options, None
    if options.deltatoken is not None:
        delta = await _resumed_delta(context, options.deltatoken, page)
        if options.skiptoken is None:
            return await _changes(context, rows, page, delta)
    elif preferred.track_changes and context.runtime.behaviour.queries.tracks_changes:
        delta = await _begun_delta(context, page)
    if delta is None and expander is None and isinstance(rows, RecordWriter):
        page, rows = _narrowed(page, rows)
    page = await _counted_page(context, page)
    blocks = context.page(page.plan)
    if expander is not None:
        blocks = regrouped(blocks, expander.block)
    first: Sequence[Row] = await anext(blocks, [])
    headers, inline = context.headers(), _inline(context, first)
    if preferred is not NO_PREFERENCES:
        applied = preferred.applied(page_size=page_size, track_changes=delta is not None)
        if applied:
            headers.append((b"preference-applied", applied))
    writer = PageWriter(
        rows,
        context.company,
        page,
        request.root,
        request.path,
        request.query,
        None if delta is None else delta.since,
        "" if delta is None else _delta_token(context, page, delta),
    )
    count = None if page.count is None else page.found
    head = writer.head(count, inline)
    second = await anext(blocks, None)
    return partial(_PageBody(writer, expander, blocks).respond, headers, head, first, second)


class _PageBody(msgspec.Struct):
    """The body of a page, written block by block while the client receives it."""

    writer: PageWriter
    expander: Expander | None
    blocks: Slices

    async def respond(
        self, headers: list[Header], head: bytes, first: Sequence[Row], second: Sequence[Row] | None
    ) -> Response:
        """The response with the page: whole if `first` has all rows, streamed otherwise."""
        if second is None:
            body = [head, *await self._pieces(first), self.writer.finish()]
            return Response(200, headers, b"".join(body))
        async with AsyncExitStack() as opened:
            await opened.enter_async_context(aclosing(self.blocks))
            begun = [head, *await self._pieces(first)]
            # from here on the stream closes the blocks
            opened.pop_all()
        return Response(200, headers, self._stream(begun, second))

    async def _pieces(self, rows: Sequence[Row]) -> Sequence[bytes]:
        if self.expander is None:
            # an asynchronous generator costs as much as writing a few rows
            return [self.writer.next_slice(rows)]
        return [piece async for piece in pieces_of(self.writer, self.expander, rows)]

    async def _stream(self, begun: Sequence[bytes], second: Sequence[Row]) -> Pieces:
        async with aclosing(self.blocks):
            for piece in begun:
                yield piece
            try:
                rows: Sequence[Row] | None = second
                while rows is not None:
                    if self.expander is not None and self.expander.is_spent:
                        self.writer.end_page()
                        break
                    for piece in await self._pieces(rows):
                        yield piece
                    rows = await anext(self.blocks, None)
            except Refusal:
                # the status has been sent: the page ends here, and its link leads to the error
                self.writer.end_page()
        yield self.writer.finish()


def _narrowed(page: Page, records: RecordWriter) -> tuple[Page, RowWriter]:
    """The page with stored JSON or the selected properties alone, if it can be, and its writer."""
    pipeline = page.plan.pipeline
    if (records.fits_json or records.selects_json) and pipeline.fits_json:
        return page.read_as(json=True), JsonWriter(records)
    names = records.shape.names
    if not names or not records.narrows or pipeline.columns or pipeline.is_applied:
        return page, records
    writer = record_writer(
        records.root, records.entity_set, records.form, records.shape, narrowed=True
    )
    return page.read_as(names=names), writer


def _inline(context: Context, rows: Sequence[Row]) -> Row | None:
    """The one record that a filter found, for a set whose list repeats it at the top."""
    if (
        context.entity_set.single_inline
        and len(rows) == 1
        and set(context.options.given) <= {"$filter"}
        and not names_protocol(context.request.headers)
    ):
        return rows[0]
    return None


async def _read_record(context: Context) -> Run:
    """The record; 304 if the client has its current version."""
    records, key = context.records, context.target.key
    is_whole = context.options is NO_OPTIONS and records.fits_json
    if is_whole and key is not None and not context.target.steps:
        return partial(_read_json, context, key, context.tags(b"if-none-match"))
    allow_options(context.options, RECORD_OPTIONS, context.target.resource)
    computed = computed_now(computed_properties(context))
    records, expander = view_of_records(context, computed)

    async def viewed(context: Context, row: Row) -> Response:
        extras = () if expander is None else (await expander.extras([row]))[0]
        return _response(context, row[0], records.record(context.company, row, extras))

    return partial(_read_row, context, viewed, computed)


async def read_narrowed(context: Context) -> Run:
    """The collection, narrowed to the record unless the key is all zeros (operation 9)."""
    # some libraries that do not name the protocol use OData's form, a key with its name
    if names_protocol(context.request.headers) or context.target.named:
        return await _read_record(context)
    if context.target.key == NO_GUID:
        return await _page(context, Bounds(context.company))
    row = await context.row()
    keys = () if row is None else (context.records.key(row),)
    return await _page(context, Bounds(context.company, keys))


_Write = Callable[[Context, Row], Awaitable[Response]]
"""Makes the response with a record, or a part of it."""


async def _read_json(context: Context, key: Stored, known: EntityTags | None) -> Respond:
    """Read the stored JSON of a record."""
    entity_set, company = context.entity_set, context.company
    plan = RecordPlan(entity_set, company.id if company else "", key)
    json = await context.reads.record_json(plan)
    if json is None:
        raise record_not_found(entity_set, key, context.target.segment)
    if known is not None and known.contain(opaque_tag(company, version_of(json))):
        return partial(_not_modified, context, version_of(json))
    context.spend(1)
    is_covered = _is_covered(context)
    return partial(context.records.respond, company, json, is_revalidated=is_covered)


async def _read_row(context: Context, write: _Write, computed: Computed = ()) -> Respond:
    """Read a record unless the client has it."""
    known = None
    # a reference has no ETag
    if write is not _reference:
        known = context.tags(b"if-none-match")
    row = await context.row(computed)
    if row is None:
        return _nothing
    if known is not None and known.contain(opaque_tag(context.company, row[0])):
        return partial(_not_modified, context, row[0])
    return partial(write, context, row)


async def _reference(context: Context, row: Row) -> Response:
    """The address of the record (OData JSON Format 4.01, section 14)."""
    records = context.records
    return Response(200, context.headers(), records.reference(context.company, row))


async def _property(context: Context, row: Row) -> Response:
    """One property of the record (OData JSON Format 4.01, section 11)."""
    body = context.records.property(context.company, row, _declared(context))
    return _response(context, row[0], body)


async def _value(context: Context, row: Row) -> Response:
    """The text of one property (OData Protocol 4.01, section 11.2.4.1)."""
    declared = _declared(context)
    stored = row[context.entity_set.type.column_of[declared.name]]
    body = declared.type.to_text(stored).encode()
    return _response(context, row[0], body, b"text/plain;charset=utf-8")


def _declared(context: Context) -> Property:
    if context.target.property is None:
        raise LookupError(f"{context.target.resource} without a property")
    return context.target.property


async def _stream(context: Context, row: Row) -> Response:
    """The bytes of a stream; 204 if there are none (OData Protocol 4.01, section 11.2.4)."""
    name, stream = context.stream()
    slices = stream.to_bytes(row[context.entity_set.type.column_of[name]])
    first, second = next(slices, b""), next(slices, b"")
    if not first:
        return Response(204, [ODATA_VERSION, context.etag(context.company, row[0])])
    body = _sliced((first, second), slices) if second else first
    return _response(context, row[0], body, stream.media_type.encode())


async def _sliced(begun: Iterable[bytes], slices: Iterable[bytes]) -> Pieces:
    """The body of a long stream; other requests are served between two slices."""
    for each in chain(begun, slices):
        yield each
        await asyncio.sleep(0)


async def _nothing() -> Response:
    """The response if navigation leads to no record (OData Protocol 4.01, section 11.2.8)."""
    return Response(204, [ODATA_VERSION])


async def _not_modified(context: Context, version: str | int) -> Response:
    headers: list[Header] = [ODATA_VERSION, context.etag(context.company, version)]
    return Response(304, headers, is_revalidated=_is_covered(context))


def _response(
    context: Context, version: str | int, body: bytes | Pieces, media_type: bytes = b""
) -> Response:
    """The response with a record, or with a part of it of another media type."""
    context.spend(1)
    content_type = (b"content-type", media_type or context.records.media_type)
    headers = [content_type, ODATA_VERSION, context.etag(context.company, version)]
    return Response(200, headers, body, _is_covered(context))


def _is_covered(context: Context) -> bool:
    """Whether the ETag covers the response; it does not cover computed and related values."""
    return not context.request.query and context.entity_set.view is None


def _part(write: _Write, options: frozenset[str] = frozenset()) -> Verb:
    """The verb that reads a part of a record."""

    async def bind(context: Context) -> Run:
        allow_options(context.options, options, context.target.resource)
        return partial(_read_row, context, write)

    return bind


READS: Mapping[Resource, Verb] = {
    Resource.COLLECTION: _list,
    Resource.COUNT: _count,
    Resource.REFERENCES: _references,
    Resource.RECORD: _read_record,
    Resource.REFERENCE: _part(_reference, FORMAT_OPTIONS),
    Resource.PROPERTY: _part(_property, FORMAT_OPTIONS),
    Resource.VALUE: _part(_value),
    Resource.STREAM: _part(_stream),
}
"""The verbs that read records, or a part of one."""
