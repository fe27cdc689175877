"""Reading collections: a page of records at a time, streamed."""

from collections.abc import Sequence

import msgspec

from comptoir.auth import Scope, require
from comptoir.edm.primitive import Stored
from comptoir.plan.apply.pages import Bounds
from comptoir.plan.pages import bind_count, bind_page
from comptoir.plan.read import Row, Within
from comptoir.request.headers import names_protocol
from comptoir.request.preferences import NO_PREFERENCES, preferences
from comptoir.response.answer import Answer
from comptoir.response.collections import CollectionWriter
from comptoir.response.shape import ADDRESS
from comptoir.service.context import (
    COLLECTING,
    COUNTING,
    REFERRING,
    Context,
    Runtime,
    allow_options,
    record_writer,
)
from comptoir.service.deltas import Deltas
from comptoir.service.places import within_of
from comptoir.service.results import Results
from comptoir.service.streaming import Following, Streamed, gathered
from comptoir.service.views import Views


class Subset(msgspec.Struct, frozen=True):
    """Which records of a set a collection has: those with these keys, and with these values."""

    keys: tuple[Stored, ...] | None = None
    within: Within = ()


EVERY = Subset()
NONE = Subset(keys=())


class Collections:
    """The verbs that read a collection."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._views = Views(runtime)
        self._deltas = Deltas(runtime)
        self._results = Results(runtime, self._views)

    async def list(self, context: Context) -> Answer:
        """The records that the query options ask for, a page of them."""
        require(context.request.principal, Scope.RECORDS_READ)
        return await self.page(context, await self._subset(context))

    async def references(self, context: Context) -> Answer:
        """The addresses of the records that the query options ask for, a page of them."""
        require(context.request.principal, Scope.RECORDS_READ)
        allow_options(context.options, REFERRING, "references")
        records = record_writer(context.entity_set, context.records.form, ADDRESS)
        subset = await self._subset(context)
        return await self.page(msgspec.structs.replace(context, records=records), subset)

    async def count(self, context: Context) -> Answer:
        """How many records match (OData Protocol 4.01, section 11.2.10).

        Options that order, cut and show records are checked, and do not affect the count.
        """
        request = context.request
        require(request.principal, Scope.RECORDS_READ)
        options = context.options
        allow_options(options, COUNTING, "a count")
        subset = await self._subset(context)
        if options.apply is not None:
            count = await self._results.count(context, _bounds(context, subset))
        else:
            self._views.of(context)
            plan = bind_count(
                self._runtime.grounds(context.entity_set, options.aliases),
                context.company,
                options,
                keys=subset.keys,
                within=subset.within,
            )
            count = await context.reads.count(plan, request.patience)
        headers = [(b"content-type", b"text/plain;charset=utf-8"), (b"odata-version", b"4.0")]
        return Answer(200, headers, b"%d" % count)

    async def _subset(self, context: Context) -> Subset:
        if context.target.hops:
            within = await within_of(context)
            return NONE if within is None else Subset(within=within)
        reached = context.request.principal.companies
        if context.entity_set.per_company or reached is None:
            return EVERY
        return Subset(keys=tuple(sorted(reached)))

    async def page(self, context: Context, subset: Subset) -> Answer:
        """A page of a subset of the set's records."""
        request, settings = context.request, self._runtime.settings
        options = context.options
        allow_options(options, COLLECTING, "a collection")
        wished = preferences(request.headers)
        if options.apply is not None:
            return await self._results.page(context, _bounds(context, subset), wished)
        page_size = min(wished.max_page_size or settings.page_size, settings.max_page_size)
        computed = self._views.computed(context)
        page = bind_page(
            self._runtime.grounds(context.entity_set, options.aliases, computed),
            context.company,
            options,
            keys=subset.keys,
            within=subset.within,
            page_size=page_size,
        )
        view = self._views.of(context, computed)
        delta = None
        if options.deltatoken is not None:
            delta = await self._deltas.given(context, options.deltatoken, page)
            if options.skiptoken is None:
                return await self._deltas.changes(context, view.records, page, delta)
        elif wished.track_changes:
            delta = await self._deltas.begin(context, page)
        count = None
        if page.count is not None:
            count = await context.reads.count(page.count, request.patience)
        slices = context.reads.page(page.plan, request.patience)
        blocks = slices if view.expander is None else gathered(slices, view.expander.block)
        first: Sequence[Row] = await anext(blocks, [])
        writer = CollectionWriter(view.records, self._runtime.base_url, context.company)
        inline = None
        if (
            context.entity_set.single_inline
            and len(first) == 1
            and set(options.given) <= {"$filter"}
            and not names_protocol(request.headers)
        ):
            inline = first[0]
        headers = context.headers()
        if wished is not NO_PREFERENCES:
            applied = wished.applied(page_size=page_size, track_changes=delta is not None)
            if applied:
                headers.append((b"preference-applied", applied))
        token = None if delta is None else self._deltas.token(context, page, delta)
        address = f"{self._runtime.base_url}{request.path}"
        following = Following(address, request.query, page, delta, token)
        streamed = Streamed(writer, view.expander, following)
        return await streamed.answer(headers, writer.head(count, inline), first, blocks)


def _bounds(context: Context, subset: Subset) -> Bounds:
    return Bounds(context.company, subset.keys, subset.within)
