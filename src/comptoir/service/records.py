"""Reading one record, or a part of it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from itertools import chain

from comptoir.edm.model import Property
from comptoir.edm.record_json import opaque_tag, version_of
from comptoir.edm.types import NO_GUID, Stored
from comptoir.plan.pages import computed_now
from comptoir.plan.read import Bounds, Computed, RecordPlan, Row
from comptoir.plan.target import record_not_found
from comptoir.request.headers import EntityTags, names_protocol
from comptoir.request.options import NO_OPTIONS
from comptoir.response.response import ODATA_VERSION, Header, Pieces, Response
from comptoir.service.collections import Collections
from comptoir.service.context import (
    FORMAT_OPTIONS,
    RECORD_OPTIONS,
    Context,
    Respond,
    Run,
    Runtime,
    allow_options,
)
from comptoir.service.views import Views


class RecordReads:
    """The verbs that read a record."""

    def __init__(self, runtime: Runtime, collections: Collections) -> None:
        self._collections = collections
        self._views = Views(runtime)

    async def read(self, context: Context) -> Run:
        """The record; 304 if the client has its current version."""
        if context.options is not NO_OPTIONS:
            return self._viewed(context)
        records, key = context.records, context.target.key
        if records.fits_json and key is not None and not context.target.steps:
            known = records.tags(context.request.headers, b"if-none-match")
            return partial(_read_json, context, key, known)
        return _read(context, _whole)

    def _viewed(self, context: Context) -> Run:
        """The record with `$select`, `$compute` and `$expand`."""
        allow_options(context.options, RECORD_OPTIONS, context.target.resource)
        computed = computed_now(self._views.computed(context))
        records, expander = self._views.view(context, computed)

        async def viewed(context: Context, row: Row) -> Response:
            extras = () if expander is None else (await expander.extras([row]))[0]
            return _response(context, row[0], records.record(context.company, row, extras))

        return _read(context, viewed, computed)

    async def narrowed(self, context: Context) -> Run:
        """The collection, narrowed to the record unless the key is all zeros (operation 9)."""
        # some libraries that do not name the protocol use OData's form, a key with its name
        if names_protocol(context.request.headers) or context.target.named:
            return await self.read(context)
        if context.target.key == NO_GUID:
            return await self._collections.page(context, Bounds(context.company))
        row = await context.row()
        keys = () if row is None else (context.records.key(row),)
        return await self._collections.page(context, Bounds(context.company, keys))

    async def reference(self, context: Context) -> Run:
        """The address of the record (OData JSON Format 4.01, section 14)."""
        allow_options(context.options, FORMAT_OPTIONS, context.target.resource)
        return partial(_read_row, context, None, _reference)

    async def property(self, context: Context) -> Run:
        """One property of the record (OData JSON Format 4.01, section 11)."""
        allow_options(context.options, FORMAT_OPTIONS, context.target.resource)
        return _read(context, _property)

    async def value(self, context: Context) -> Run:
        """The text of one property (OData Protocol 4.01, section 11.2.4.1)."""
        allow_options(context.options, frozenset(), context.target.resource)
        return _read(context, _value)

    async def stream(self, context: Context) -> Run:
        """The bytes of a stream; 204 if there are none (OData Protocol 4.01, section 11.2.4)."""
        allow_options(context.options, frozenset(), context.target.resource)
        return _read(context, _stream)


_Write = Callable[[Context, Row], Awaitable[Response]]
"""Makes the response with a record, or a part of it."""


async def _read_json(context: Context, key: Stored, known: EntityTags | None) -> Respond:
    """Read the stored JSON of a record."""
    entity_set, company = context.entity_set, context.company
    json = await context.reads.record_json(RecordPlan(entity_set, company, key))
    if json is None:
        raise record_not_found(entity_set, key, context.target.segment)
    version = version_of(json)
    if known is not None and known.contain(opaque_tag(company, version)):
        return partial(_not_modified, context, version)
    return partial(_spliced, context, version, json)


async def _spliced(context: Context, version: str, json: bytes) -> Response:
    return _response(context, version, context.records.spliced(context.company, json))


def _read(context: Context, write: _Write, computed: Computed = ()) -> Run:
    """Read a record unless the client has it."""
    known = context.records.tags(context.request.headers, b"if-none-match")
    return partial(_read_row, context, known, write, computed)


async def _read_row(
    context: Context, known: EntityTags | None, write: _Write, computed: Computed = ()
) -> Respond:
    row = await context.row(computed)
    if row is None:
        return _nothing
    if known is not None and known.contain(opaque_tag(context.company, row[0])):
        return partial(_not_modified, context, row[0])
    return partial(write, context, row)


async def _whole(context: Context, row: Row) -> Response:
    return _response(context, row[0], context.records.record(context.company, row))


async def _reference(context: Context, row: Row) -> Response:
    records = context.records
    return Response(200, context.headers(), records.reference(context.company, row))


async def _property(context: Context, row: Row) -> Response:
    body = context.records.property(context.company, row, _declared(context))
    return _response(context, row[0], body)


async def _value(context: Context, row: Row) -> Response:
    declared = _declared(context)
    stored = row[context.entity_set.type.column_of[declared.name]]
    body = declared.type.to_text(stored).encode()
    return _response(context, row[0], body, b"text/plain;charset=utf-8")


def _declared(context: Context) -> Property:
    if context.target.property is None:
        raise LookupError(f"{context.target.resource} without a property")
    return context.target.property


async def _stream(context: Context, row: Row) -> Response:
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
    account = context.request.principal.account
    if account is not None:
        account.spend(1)
    content_type = (b"content-type", media_type or context.records.media_type)
    headers = [content_type, ODATA_VERSION, context.etag(context.company, version)]
    return Response(200, headers, body, _is_covered(context))


def _is_covered(context: Context) -> bool:
    """Whether the ETag covers the response; it does not cover computed and related values."""
    return not context.request.query and context.entity_set.view is None
