"""Reading collections: a page of records at a time, streamed."""

from collections.abc import AsyncIterator, Sequence

import msgspec

from comptoir.auth import Scope, require
from comptoir.edm.primitive import Stored
from comptoir.errors import Refusal
from comptoir.plan.pages import Page, bind_count, bind_page
from comptoir.plan.read import Row, Within
from comptoir.request.headers import max_page_size, names_protocol
from comptoir.request.options import continued, parse_options
from comptoir.response.answer import Answer
from comptoir.response.collections import CollectionWriter
from comptoir.response.shape import ADDRESS
from comptoir.service.context import COUNTING, Context, Request, Runtime, allow_options, shaped
from comptoir.service.places import Places


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

    async def list(self, context: Context) -> Answer:
        """The records that the query options ask for, a page of them."""
        require(context.request.principal, Scope.RECORDS_READ)
        return await self.page(context, await self._subset(context))

    async def references(self, context: Context) -> Answer:
        """The addresses of the records that the query options ask for, a page of them."""
        require(context.request.principal, Scope.RECORDS_READ)
        records = shaped(context.records, ADDRESS)
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
            context.entity_set,
            context.company,
            options,
            keys=subset.keys,
            within=subset.within,
            limits=self._runtime.limits,
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
        wanted = max_page_size(request.headers)
        page_size = min(wanted or settings.page_size, settings.max_page_size)
        page = bind_page(
            context.entity_set,
            context.company,
            options,
            keys=subset.keys,
            within=subset.within,
            page_size=page_size,
            limits=self._runtime.limits,
        )
        count = None
        if page.count is not None:
            count = await self._runtime.store.count(page.count, request.patience)
        slices = self._runtime.store.page(page.plan, request.patience)
        first: list[Row] = await anext(slices, [])
        second = await anext(slices, None)
        writer = CollectionWriter(context.records, self._runtime.base_url, context.company)
        inline = None
        if (
            context.entity_set.single_inline
            and len(first) == 1
            and set(options.given) <= {"$filter"}
            and not names_protocol(request.headers)
        ):
            inline = first[0]
        headers = context.headers()
        if wanted:
            headers.append((b"preference-applied", b"odata.maxpagesize=%d" % page_size))
        head = writer.head(count, inline)
        following = _Following(self._runtime.base_url, request, page)
        if second is None:
            shown = following.shown(first)
            tail = writer.tail(following.link)
            return Answer(200, headers, b"".join([head, writer.slice(shown), tail]))
        return Answer(200, headers, _written(head, writer, following, (first, second), slices))


class _Following:
    """Cuts the records of a page at its size, and tells the link to the page that follows."""

    def __init__(self, base_url: str, request: Request, page: Page) -> None:
        self.link: str | None = None
        self._base_url = base_url
        self._request = request
        self._page = page
        self._shown = 0
        self._end: Row | None = None

    def shown(self, rows: list[Row]) -> list[Row]:
        """Those of some records that stand on the page; the others show that a page follows."""
        shown = rows[: self._page.size - self._shown]
        if shown:
            self._shown += len(shown)
            self._end = shown[-1]
        if len(rows) > len(shown):
            self.end_here()
        return shown

    def end_here(self) -> None:
        """Let the next page follow the records that were shown."""
        if self._end is not None:
            token = self._page.token_behind(self._end, self._shown)
            query = continued(self._request.query, token)
            self.link = f"{self._base_url}{self._request.path}?{query}"


async def _written(
    head: bytes,
    writer: CollectionWriter,
    following: _Following,
    ready: Sequence[list[Row]],
    slices: AsyncIterator[list[Row]],
) -> AsyncIterator[bytes]:
    """A page as it is written: its head, the slices that are ready, those to come, its tail."""
    yield head
    for rows in ready:
        yield writer.slice(following.shown(rows))
    try:
        async for rows in slices:
            yield writer.slice(following.shown(rows))
    except Refusal:
        # the status has gone out: a page may be short, and who follows its link is told why
        following.end_here()
    yield writer.tail(following.link)
