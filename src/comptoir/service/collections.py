"""Reading collections: a page of records at a time, streamed."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import msgspec

from comptoir.auth import Scope, require
from comptoir.edm.primitive import Stored
from comptoir.errors import Refusal
from comptoir.plan.deltas import Delta
from comptoir.plan.pages import Page, bind_count, bind_page
from comptoir.plan.read import Row, Within
from comptoir.request.headers import names_protocol
from comptoir.request.options import continued, parse_options
from comptoir.request.preferences import NO_PREFERENCES, preferences
from comptoir.response.answer import Answer
from comptoir.response.collections import CollectionWriter
from comptoir.response.shape import ADDRESS
from comptoir.service.context import (
    COLLECTING,
    COUNTING,
    Context,
    Request,
    Runtime,
    allow_options,
    record_writer,
)
from comptoir.service.deltas import Deltas
from comptoir.service.expanding import BLOCK, Expander
from comptoir.service.places import Places
from comptoir.service.views import View, Views

PIECE = 25
"""How many records with related ones are encoded in a turn of the event loop."""


class Subset(msgspec.Struct, frozen=True):
    """Which records of a set a collection has: those with these keys, and with these values."""

    keys: tuple[Stored, ...] | None = None
    within: Within = ()


EVERY = Subset()
NONE = Subset(keys=())


class Collections:
    """The verbs that read a collection."""

    def __init__(self, runtime: Runtime, places: Places) -> None:
        self._runtime = runtime
        self._places = places
        self._views = Views(runtime)
        self._deltas = Deltas(runtime)

    async def list(self, context: Context) -> Answer:
        """The records that the query options ask for, a page of them."""
        require(context.request.principal, Scope.RECORDS_READ)
        return await self.page(context, await self._subset(context))

    async def references(self, context: Context) -> Answer:
        """The addresses of the records that the query options ask for, a page of them."""
        require(context.request.principal, Scope.RECORDS_READ)
        records = record_writer(context.entity_set, context.records.form, ADDRESS)
        subset = await self._subset(context)
        return await self.page(msgspec.structs.replace(context, records=records), subset)

    async def count(self, context: Context) -> Answer:
        """How many records the query options ask for (OData URL Conventions 4.01, section 4.8)."""
        request = context.request
        require(request.principal, Scope.RECORDS_READ)
        options = parse_options(request.query)
        allow_options(options, COUNTING, "a count")
        subset = await self._subset(context)
        plan = bind_count(
            self._runtime.grounds(context.entity_set, options.aliases),
            context.company,
            options,
            keys=subset.keys,
            within=subset.within,
        )
        count = await self._runtime.store.count(plan, request.patience)
        headers = [(b"content-type", b"text/plain;charset=utf-8"), (b"odata-version", b"4.0")]
        return Answer(200, headers, b"%d" % count)

    async def _subset(self, context: Context) -> Subset:
        if context.target.hops:
            within = await self._places.reach(context)
            return NONE if within is None else Subset(within=within)
        reached = context.request.principal.companies
        if context.entity_set.per_company or reached is None:
            return EVERY
        return Subset(keys=tuple(sorted(reached)))

    async def page(self, context: Context, subset: Subset) -> Answer:
        """A page of a subset of the set's records."""
        request, settings = context.request, self._runtime.settings
        options = parse_options(request.query)
        allow_options(options, COLLECTING, "a collection")
        wished = preferences(request.headers)
        page_size = min(wished.max_page_size or settings.page_size, settings.max_page_size)
        computed = self._views.computed(context, options)
        page = bind_page(
            self._runtime.grounds(context.entity_set, options.aliases, computed),
            context.company,
            options,
            keys=subset.keys,
            within=subset.within,
            page_size=page_size,
        )
        view = self._views.of(context, options, computed)
        delta = None
        if options.deltatoken is not None:
            delta = await self._deltas.given(context, options.deltatoken, page)
            if options.skiptoken is None:
                return await self._deltas.changes(context, view.records, page, delta)
        elif wished.track_changes:
            delta = await self._deltas.begin(context, options, page)
        count = None
        if page.count is not None:
            count = await self._runtime.store.count(page.count, request.patience)
        slices = self._runtime.store.page(page.plan, request.patience)
        blocks = slices if view.expander is None else _gathered(slices)
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
        following = _Following(self._runtime.base_url, request, page, delta, token)
        begun = [writer.head(count, inline)]
        if view.expander is None:
            begun.append(_piece(first, writer, following))
        else:
            begun += [piece async for piece in _pieces(first, writer, view.expander, following)]
        second = await anext(blocks, None)
        if second is None:
            return Answer(200, headers, b"".join([*begun, following.tail(writer)]))
        return Answer(200, headers, _written(begun, second, blocks, writer, view, following))


async def _gathered(slices: AsyncIterator[list[Row]]) -> AsyncIterator[list[Row]]:
    """The same records in blocks that are expanded at once."""
    block: list[Row] = []
    async for rows in slices:
        block += rows
        if len(block) >= BLOCK:
            yield block
            block = []
    if block:
        yield block


class _Following:
    """Cuts the records of a page at its size, and tells the link to what follows it."""

    def __init__(
        self, base_url: str, request: Request, page: Page, delta: Delta | None, token: str | None
    ) -> None:
        self.link: str | None = None
        self._address = f"{base_url}{request.path}"
        self._query = request.query
        self._page = page
        self._delta = delta
        self._tokens = () if token is None else (("$deltatoken", token),)
        self._seen = 0
        self._end: Row | None = None

    @property
    def delta_link(self) -> str | None:
        """The link to the changes since the client began to read, if they are tracked."""
        if not self._tokens:
            return None
        return f"{self._address}?{continued(self._query, *self._tokens)}"

    def tail(self, writer: CollectionWriter) -> bytes:
        """The end of the page, with the link to what follows it."""
        return writer.tail(self.link, self.delta_link)

    def fitting(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Those of some records for which the page has room."""
        return rows[: self._page.size - self._seen]

    def shown(self, fitting: Sequence[Row]) -> Sequence[Row]:
        """Those of them that are shown: what changed meanwhile is told of by the delta link."""
        if self._delta is None:
            return fitting
        return [row for row in fitting if int(row[0]) <= self._delta.since]

    def pass_by(self, fitting: Sequence[Row], rows: Sequence[Row]) -> None:
        """Note those of some records that are written; the others show that a page follows."""
        if fitting:
            self._seen += len(fitting)
            self._end = fitting[-1]
        if len(rows) > len(fitting):
            self.end_here()

    def end_here(self) -> None:
        """Let the next page follow the records that were written."""
        if self._end is not None:
            token = self._page.token_behind(self._end, self._seen)
            query = continued(self._query, ("$skiptoken", token), *self._tokens)
            self.link = f"{self._address}?{query}"


def _piece(rows: Sequence[Row], writer: CollectionWriter, following: _Following) -> bytes:
    """Some records of a page as bytes."""
    fitting = following.fitting(rows)
    written = writer.slice(following.shown(fitting))
    following.pass_by(fitting, rows)
    return written


async def _pieces(
    rows: Sequence[Row], writer: CollectionWriter, expander: Expander, following: _Following
) -> AsyncIterator[bytes]:
    """Some records with related ones, in pieces that a turn of the event loop can write."""
    fitting = following.fitting(rows)
    shown = following.shown(fitting)
    extras = await expander.extras(shown)
    for start in range(0, len(shown), PIECE):
        end = start + PIECE
        yield writer.slice(shown[start:end], extras[start:end])
        await asyncio.sleep(0)
    following.pass_by(fitting, rows)


async def _written(
    begun: Sequence[bytes],
    second: Sequence[Row],
    blocks: AsyncIterator[list[Row]],
    writer: CollectionWriter,
    view: View,
    following: _Following,
) -> AsyncIterator[bytes]:
    """A page as it is written: what has begun, the blocks that follow, its tail."""
    for piece in begun:
        yield piece
    try:
        rows: Sequence[Row] | None = second
        while rows is not None:
            if view.expander is None:
                yield _piece(rows, writer, following)
            else:
                async for piece in _pieces(rows, writer, view.expander, following):
                    yield piece
            rows = await anext(blocks, None)
    except Refusal:
        # the status has gone out: a page may be short, and who follows its link is told why
        following.end_here()
    yield following.tail(writer)
