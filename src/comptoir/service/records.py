"""Reading one record, or a part of it."""

import asyncio
from collections.abc import Iterable
from itertools import chain

from comptoir.edm.record_json import version_of
from comptoir.edm.types import NO_GUID, Stored
from comptoir.plan.pages import computed_now
from comptoir.plan.read import Bounds, Computed, RecordPlan, Row
from comptoir.plan.target import RecordPath, record_not_found
from comptoir.request.headers import names_protocol
from comptoir.request.options import NO_OPTIONS
from comptoir.response.records import opaque_tag
from comptoir.response.response import ODATA_VERSION, Header, Pieces, Response
from comptoir.service.collections import Collections
from comptoir.service.context import FORMAT_OPTIONS, RECORD_OPTIONS, Context, Runtime, allow_options
from comptoir.service.views import Views


class RecordReads:
    """The verbs that read a record."""

    def __init__(self, runtime: Runtime, collections: Collections) -> None:
        self._collections = collections
        self._views = Views(runtime)

    async def read(self, context: Context) -> Response:
        """The record; 304 if the client has its current version."""
        if context.options is not NO_OPTIONS:
            return await self._viewed(context)
        if context.records.fits_json and not isinstance(context.address, RecordPath):
            return await self._spliced(context, context.address)
        found = await _found(context)
        if isinstance(found, Response):
            return found
        body = context.records.record(context.company, found)
        return _response(context, found[0], context.headers(), body)

    async def _spliced(self, context: Context, key: Stored) -> Response:
        """The record with its stored JSON."""
        known = context.records.tags(context.request.headers, b"if-none-match")
        json = await context.reads.record_json(RecordPlan(context.entity_set, context.company, key))
        if json is None:
            raise record_not_found(context.entity_set, key, context.target.segment)
        version = version_of(json)
        if known is not None and known.contain(opaque_tag(context.company, version)):
            return _not_modified(context, version)
        body = context.records.spliced(context.company, json)
        return _response(context, version, context.headers(), body)

    async def _viewed(self, context: Context) -> Response:
        """The record with `$select`, `$compute` and `$expand`."""
        allow_options(context.options, RECORD_OPTIONS, context.target.resource)
        computed = computed_now(self._views.computed(context))
        records, expander = self._views.view(context, computed)
        found = await _found(context, computed)
        if isinstance(found, Response):
            return found
        extras = () if expander is None else (await expander.extras([found]))[0]
        body = records.record(context.company, found, extras)
        return _response(context, found[0], context.headers(), body)

    async def narrowed(self, context: Context) -> Response:
        """The collection, narrowed to the record unless the key is all zeros (operation 9)."""
        # some libraries that do not name the protocol use OData's form, a key with its name
        if names_protocol(context.request.headers) or context.target.named:
            return await self.read(context)
        if context.target.key == NO_GUID:
            return await self._collections.page(context, Bounds(context.company))
        row = await context.row()
        keys = () if row is None else (context.records.key(row),)
        return await self._collections.page(context, Bounds(context.company, keys))

    async def reference(self, context: Context) -> Response:
        """The address of the record (OData JSON Format 4.01, section 14)."""
        allow_options(context.options, FORMAT_OPTIONS, context.target.resource)
        row = await context.row()
        if row is None:
            return _nothing()
        body = context.records.reference(context.company, row)
        return Response(200, context.headers(), body)

    async def property(self, context: Context) -> Response:
        """One property of the record (OData JSON Format 4.01, section 11)."""
        return await self._property(context, raw=False)

    async def value(self, context: Context) -> Response:
        """The text of one property (OData Protocol 4.01, section 11.2.4.1)."""
        return await self._property(context, raw=True)

    async def stream(self, context: Context) -> Response:
        """The bytes of a stream; 204 if there are none (OData Protocol 4.01, section 11.2.4)."""
        allow_options(context.options, frozenset(), context.target.resource)
        found = await _found(context)
        if isinstance(found, Response):
            return found
        name, stream = context.stream()
        slices = stream.to_bytes(found[context.entity_set.type.column_of[name]])
        first, second = next(slices, b""), next(slices, b"")
        if not first:
            return Response(204, [ODATA_VERSION, _etag(context, found[0])])
        headers = [(b"content-type", stream.media_type.encode()), ODATA_VERSION]
        body = _sliced((first, second), slices) if second else first
        return _response(context, found[0], headers, body)

    async def _property(self, context: Context, *, raw: bool) -> Response:
        resource, declared = context.target.resource, context.target.property
        allow_options(context.options, frozenset() if raw else FORMAT_OPTIONS, resource)
        found = await _found(context)
        if isinstance(found, Response):
            return found
        if declared is None:
            raise LookupError(f"{resource} without a property")
        if raw:
            stored = found[context.entity_set.type.column_of[declared.name]]
            headers: list[Header] = [(b"content-type", b"text/plain;charset=utf-8"), ODATA_VERSION]
            return _response(context, found[0], headers, declared.type.to_text(stored).encode())
        body = context.records.property(context.company, found, declared)
        return _response(context, found[0], context.headers(), body)


async def _found(context: Context, computed: Computed = ()) -> Row | Response:
    """The record, or the response without it: 204 if there is none, 304 if the client has it."""
    known = context.records.tags(context.request.headers, b"if-none-match")
    row = await context.row(computed)
    if row is None:
        return _nothing()
    if known is not None and known.contain(opaque_tag(context.company, row[0])):
        return _not_modified(context, row[0])
    return row


async def _sliced(begun: Iterable[bytes], slices: Iterable[bytes]) -> Pieces:
    """The body of a long stream; other requests are served between two slices."""
    for each in chain(begun, slices):
        yield each
        await asyncio.sleep(0)


def _nothing() -> Response:
    """The response if navigation leads to no record (OData Protocol 4.01, section 11.2.8)."""
    return Response(204, [ODATA_VERSION])


def _not_modified(context: Context, version: str | int) -> Response:
    headers: list[Header] = [ODATA_VERSION, _etag(context, version)]
    return Response(304, headers, is_revalidated=_is_covered(context))


def _response(
    context: Context, version: str | int, headers: list[Header], body: bytes | Pieces
) -> Response:
    context.spend(1)
    headers.append(_etag(context, version))
    return Response(200, headers, body, _is_covered(context))


def _is_covered(context: Context) -> bool:
    """Whether the ETag covers the response; it does not cover computed and related values."""
    return not context.request.query and context.entity_set.view is None


def _etag(context: Context, version: str | int) -> Header:
    return (b"etag", context.records.tag(context.company, version).encode())
