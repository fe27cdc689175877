"""Reading collections: a page of records at a time, streamed."""

from collections.abc import Sequence

import msgspec

from comptoir.auth import Scope, require
from comptoir.errors import INVALID_URL, Refusal
from comptoir.plan.apply.stages import PipelineCount
from comptoir.plan.deltas import Delta
from comptoir.plan.pages import (
    Bounds,
    ListPage,
    ResultPage,
    bind_count,
    bind_page,
    bind_result_count,
    bind_result_page,
)
from comptoir.plan.read import CountPlan, Row
from comptoir.request.headers import NO_PREFERENCES, Preferences, names_protocol, preferences
from comptoir.response.collections import CollectionWriter, RowWriter
from comptoir.response.records import ADDRESS
from comptoir.response.response import Response
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
from comptoir.service.expanding import Expanding
from comptoir.service.streaming import Following, Streamed, gathered
from comptoir.service.views import Views


class Listing(msgspec.Struct, frozen=True):
    """A bound page, the writer and the expander of its rows, and the delta that a client follows.

    `token` is the delta token of the page.
    """

    page: ListPage | ResultPage
    rows: RowWriter
    expander: Expanding | None
    delta: Delta | None = None
    token: str | None = None


class Collections:
    """The verbs that read a collection."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._views = Views(runtime)
        self._deltas = Deltas(runtime)

    async def list(self, context: Context) -> Response:
        """The records that the query options ask for, a page of them."""
        require(context.request.principal, Scope.RECORDS_READ)
        return await self.page(context, await self._bounds(context))

    async def references(self, context: Context) -> Response:
        """The addresses of the records that the query options ask for, a page of them."""
        require(context.request.principal, Scope.RECORDS_READ)
        allow_options(context.options, REFERRING, "references")
        records = record_writer(context.entity_set, context.records.form, ADDRESS)
        bounds = await self._bounds(context)
        return await self.page(msgspec.structs.replace(context, records=records), bounds)

    async def count(self, context: Context) -> Response:
        """The number of records that match (OData Protocol 4.01, section 11.2.10).

        Options that order, page and select records are checked, and do not affect the count.
        """
        require(context.request.principal, Scope.RECORDS_READ)
        options = context.options
        allow_options(options, COUNTING, "a count")
        bounds = await self._bounds(context)
        binding = self._runtime.binding_context(context.entity_set, options.aliases)
        plan: CountPlan | PipelineCount
        if options.apply is None:
            self._views.of(context)
            plan = bind_count(binding, options, bounds)
        else:
            plan = bind_result_count(binding, options, bounds)
            self._views.of_result(context, plan.pipeline)
        count = await context.reads.count(plan, context.request.patience)
        headers = [(b"content-type", b"text/plain;charset=utf-8"), (b"odata-version", b"4.0")]
        return Response(200, headers, b"%d" % count)

    async def _bounds(self, context: Context) -> Bounds:
        if context.target.steps:
            within = await context.within()
            if within is None:
                return Bounds(context.company, keys=())
            return Bounds(context.company, within=within)
        reached = context.request.principal.companies
        if context.entity_set.per_company or reached is None:
            return Bounds(context.company)
        return Bounds(context.company, keys=tuple(sorted(reached)))

    async def page(self, context: Context, bounds: Bounds) -> Response:
        """A page of the set's records within some bounds, or of what `$apply` makes of them."""
        request, settings, options = context.request, self._runtime.settings, context.options
        allow_options(options, COLLECTING, "a collection")
        wished = preferences(request.headers)
        page_size = min(wished.max_page_size or settings.page_size, settings.max_page_size)
        if options.apply is not None:
            listing = self._result(context, bounds, page_size)
        else:
            found = await self._listing(context, bounds, page_size, wished)
            if isinstance(found, Response):
                return found
            listing = found
        page, expander, delta = listing.page, listing.expander, listing.delta
        count = None
        if page.count is not None:
            count = await context.reads.count(page.count, request.patience)
        slices = context.reads.page(page.plan, request.patience)
        blocks = slices if expander is None else gathered(slices, expander.block)
        first: Sequence[Row] = await anext(blocks, [])
        writer = CollectionWriter(listing.rows, self._runtime.base_url, context.company)
        headers = context.headers()
        if wished is not NO_PREFERENCES:
            applied = wished.applied(page_size=page_size, track_changes=delta is not None)
            if applied:
                headers.append((b"preference-applied", applied))
        address = f"{self._runtime.base_url}{request.path}"
        following = Following(address, request.query, page, delta, listing.token)
        streamed = Streamed(writer, expander, following)
        head = writer.head(count, _inline(context, first))
        return await streamed.answer(headers, head, first, blocks)

    async def _listing(
        self, context: Context, bounds: Bounds, page_size: int, wished: Preferences
    ) -> Listing | Response:
        """The page of records to read; the answer for a delta link, which reads changes."""
        options = context.options
        computed = self._views.computed(context)
        binding = self._runtime.binding_context(context.entity_set, options.aliases, computed)
        page = bind_page(binding, options, bounds, page_size)
        view = self._views.of(context, computed)
        delta, token = None, None
        if options.deltatoken is not None:
            delta = await self._deltas.given(context, options.deltatoken, page)
            if options.skiptoken is None:
                return await self._deltas.changes(context, view.records, page, delta)
        elif wished.track_changes:
            delta = await self._deltas.begin(context, page)
        if delta is not None:
            token = self._deltas.token(context, page, delta)
        return Listing(page, view.records, view.expander, delta, token)

    def _result(self, context: Context, bounds: Bounds, page_size: int) -> Listing:
        """The page to read of the result that `$apply` makes."""
        options = context.options
        if options.deltatoken is not None:
            raise Refusal(
                INVALID_URL,
                "$deltatoken does not apply to the result of $apply. Leave it out.",
                target="$deltatoken",
            )
        binding = self._runtime.binding_context(context.entity_set, options.aliases)
        page = bind_result_page(binding, options, bounds, page_size)
        rows, expander = self._views.of_result(context, page.plan.pipeline)
        return Listing(page, rows, expander)


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
