"""The fields of the records in a response: `$select`, `$compute` and `$expand`."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from itertools import groupby, islice
from operator import itemgetter

import msgspec

from comptoir.edm.model import Company, EntitySet
from comptoir.edm.types import Stored
from comptoir.errors import refusal_rows
from comptoir.plan.expressions.options import bind_compute
from comptoir.plan.fields import (
    ExpandBinder,
    Expansion,
    RelatedExpansion,
    bind_result_select,
    bind_select,
)
from comptoir.plan.read import Bounds, Column, Computed, CountPlan, Pipeline, RelatedPlan, Row
from comptoir.request.fields import parse_expand
from comptoir.request.options import query_string
from comptoir.response.collections import PageWriter, ResultWriter, RowWriter
from comptoir.response.records import (
    ComputedField,
    Extra,
    Extras,
    Nested,
    RecordShape,
    RecordWriter,
)
from comptoir.response.response import Pieces
from comptoir.service.context import Context, record_writer
from comptoir.store.store import Slices

BLOCK = 100
"""The number of records that are expanded at once."""

ROWS = 20_000
"""The most related records that one statement fetches; links lead to the rest."""

BYTES = 4_000_000
"""Bytes of the lists of one company together; links lead to the rest."""

PIECE = 25
"""Expanded records that are encoded before the task yields to the event loop."""


def computed_properties(context: Context) -> Computed:
    """The properties that `$compute` adds to records, unless it adds them to a result.

    Raises `Refusal` as `bind_compute` does.
    """
    options = context.options
    if options.compute is None or options.apply is not None:
        return ()
    return bind_compute(context.binding(), options.compute)


def view_of_records(
    context: Context, columns: Sequence[Column] = ()
) -> tuple[RecordWriter, "Expander | None"]:
    """The writer of records whose rows end in these columns, and the expander within them.

    Raises `Refusal` for `$select` and `$expand` that do not fit the entity type.
    """
    options, entity_set = context.options, context.entity_set
    if options.select is None and options.expand is None and not columns:
        return context.records, None
    names: frozenset[str] | None = None
    if options.select is not None:
        binding = context.binding()
        names = bind_select(
            entity_set.type,
            options.select,
            [each.name for each in columns],
            binding.model.contained(entity_set),
            any_case=binding.dialect.any_case_names,
        )
    related: Sequence[RelatedExpansion] = ()
    contents: Sequence[Expansion] = ()
    if options.expand is not None:
        runtime = context.runtime
        items = parse_expand(options.expand, runtime.expand_limits, options.aliases)
        binder = ExpandBinder(
            context.binding(),
            context.company,
            runtime.expand_limits,
            runtime.settings.page_size,
            by_record=runtime.links_by_record,
        )
        if entity_set.per_company:
            related = binder.related(entity_set, items)
        else:
            contents = binder.contained(entity_set, items, ROWS)
    shape = _shape(entity_set, names, (*related, *contents), columns)
    records = record_writer(context.request.root, entity_set, context.records.form, shape)
    if related:
        return records, RelatedExpander(context, records, related)
    return records, CompanyExpander(context, records, contents) if contents else None


def view_of_page(context: Context, pipeline: Pipeline) -> tuple[RowWriter, "Expander | None"]:
    """The writer of the rows of a pipeline, and the expander of their related records.

    Raises `Refusal` for `$select` and `$expand` that do not fit the rows.
    """
    if not pipeline.is_aggregated:
        return view_of_records(context, pipeline.columns)
    options = context.options
    if options.expand is not None:
        raise refusal_rows.EXPAND_AGGREGATED("$expand")
    names = None
    if options.select is not None:
        names = bind_result_select(pipeline.columns, options.select)
    root, form = context.request.root, context.records.form
    return ResultWriter(root, context.entity_set, form, pipeline.columns, names), None


class RelatedExpander(msgspec.Struct):
    """Reads the related records of a block of records: one statement for each expansion."""

    block = BLOCK
    """The number of records that are expanded at once."""
    is_spent = False
    """Whether the page ends early, because it has read enough related records."""

    context: Context
    records: RecordWriter
    expansions: Sequence[RelatedExpansion]

    async def extras(self, rows: Sequence[Row]) -> Sequence[Extras]:
        """The fields of the related records of each record."""
        records, extras = self.records, [list[Extra]() for _ in rows]
        for expansion, nested in zip(self.expansions, records.shape.nested, strict=True):
            own = records.entity_set.type.column_of[expansion.navigation.on[0]]
            # an empty value relates no records
            values = tuple(sorted({row[own] for row in rows} - {""}, key=str))
            shows_records = nested.result != "count"
            shows_count = nested.counted or not shows_records
            counts: Mapping[Stored, int] = {}
            if values and shows_count:
                plan = RelatedPlan(expansion.navigation, expansion.page.plan, values, 0)
                counts = await self.context.reads.related_counts(plan)
            related: Mapping[Stored, _Related] = {}
            if values and shows_records:
                related = await self._related(expansion, nested, values)
            for row, extra in zip(rows, extras, strict=True):
                if shows_count:
                    extra.append(records.form.int64(counts.get(row[own], 0)))
                found = related.get(row[own], _NOTHING)
                if shows_records and nested.collection:
                    extra.extend((self._link(expansion, row, found), found.records))
                elif shows_records:
                    extra.append(found.records[0] if found.records else None)
        return extras

    async def _related(
        self, expansion: RelatedExpansion, nested: Nested, values: tuple[Stored, ...]
    ) -> Mapping[Stored, "_Related"]:
        """The related records of each value, ready to be encoded."""
        context, navigation = self.context, expansion.navigation
        most = max(1, min(ROWS // len(values), context.runtime.settings.page_size))
        top = expansion.options.top if nested.collection else 1
        wanted = most if top is None else min(top, most)
        is_last = top is not None and top <= most
        limit = wanted if is_last else wanted + 1
        rows = await context.reads.related(
            RelatedPlan(navigation, expansion.page.plan, values, limit)
        )
        joined = nested.entity_set.type.column_of[navigation.on[1]]
        groups = {value: list(group) for value, group in groupby(rows, key=itemgetter(joined))}
        shown = [row for group in groups.values() for row in group[:wanted]]
        context.spend(len(shown))
        form = self.records.form
        records = record_writer(self.records.root, nested.entity_set, form, nested.shape)
        extras: Sequence[Extras] = ()
        if expansion.inner:
            extras = await RelatedExpander(context, records, expansion.inner).extras(shown)
        structs = iter(records.structs(context.company, shown, extras))
        return {
            value: _Related(
                list(islice(structs, min(len(group), wanted))),
                group[wanted - 1] if len(group) > wanted else None,
            )
            for value, group in groups.items()
        }

    def _link(
        self, expansion: RelatedExpansion, row: Row, found: "_Related"
    ) -> str | msgspec.UnsetType:
        """The link to the related records that the response does not have."""
        if found.last is None:
            return msgspec.UNSET
        records, (own, other) = self.records, expansion.navigation.on
        value = row[records.entity_set.type.column_of[own]]
        within = ((other, value), *expansion.navigation.only.items())
        path = records.path(self.context.company, records.key(row))
        query = expansion.page.query_after(
            query_string(expansion.options), found.last, len(found.records), within=within
        )
        return records.root.link(f"{path}/{expansion.segments}", query)


class _Related(msgspec.Struct, frozen=True):
    """Related records of one value, and the last of them if more follow."""

    records: list[msgspec.Struct]
    last: Row | None


_NOTHING = _Related([], None)


class CompanyExpander(msgspec.Struct):
    """Reads the records that companies contain, as a list of each entity set of each company.

    Every statement reads the records of one company. A company is written before the next one is
    read, and a page of companies ends once it has `ROWS` records and lists.
    """

    block = 1

    context: Context
    records: RecordWriter
    expansions: Sequence[Expansion]
    read: int = 0
    """The records and lists that were read."""

    @property
    def is_spent(self) -> bool:
        """Whether the page of companies ends here."""
        return self.read >= ROWS

    async def extras(self, rows: Sequence[Row]) -> list[Extras]:
        """The fields of the lists within each company."""
        return [await self._fields(row) for row in rows]

    async def _fields(self, row: Row) -> Extras:
        incarnation, _, _ = str(row[0]).partition(".")
        company = Company(str(self.records.key(row)), incarnation)
        request, reads = self.context.request, self.context.reads
        if request.access is not None and request.access.seen is None:
            # a replica serves only reads that may lag to any extent
            reads = self.context.runtime.reads(request.method, request.access, company)
        context = msgspec.structs.replace(self.context, company=company, reads=reads)
        fields: list[Extra] = []
        room, left = BYTES, len(self.expansions)
        for each, nested in zip(self.expansions, self.records.shape.nested, strict=True):
            expansion = each.of_company(company)
            self.read += 1
            if nested.counted or nested.result == "count":
                page = expansion.page.plan
                plan = CountPlan(page.pipeline, Bounds(company), page.values)
                count = await context.reads.count(plan)
                fields.append(self.records.form.int64(count))
            if nested.result != "count":
                link, records = await self._list(context, expansion, nested, max(room // left, 1))
                room -= len(records)
                fields += (msgspec.UNSET if link is None else link, msgspec.Raw(records))
            left -= 1
        return fields

    async def _list(
        self, context: Context, expansion: Expansion, nested: Nested, room: int
    ) -> tuple[str | None, bytes]:
        """The link to the next page of a company's records, and this page as a JSON array."""
        root, page = context.request.root, expansion.page
        records = record_writer(root, nested.entity_set, self.records.form, nested.shape)
        expander = None
        if expansion.inner:
            expander = RelatedExpander(context, records, expansion.inner)
        path = f"/companies({context.required_company().id})/{expansion.segments}"
        query = query_string(expansion.options)
        writer = PageWriter(records, context.company, page, root, path, query)
        blocks = context.page(page.plan)
        if expander is not None:
            blocks = regrouped(blocks, expander.block)
        written: list[bytes] = []
        size = 0
        async with aclosing(blocks):
            async for rows in blocks:
                if size >= room:
                    writer.end_page()
                    break
                async for piece in pieces_of(writer, expander, rows):
                    size += len(piece)
                    written.append(piece)
        self.read += writer.row_count
        return writer.next_link, b"".join((b"[", *written, b"]"))


Expander = RelatedExpander | CompanyExpander


async def regrouped(slices: Slices, size: int) -> Slices:
    """The same rows in slices of a size."""
    block: list[Row] = []
    async with aclosing(slices):
        async for rows in slices:
            block += rows
            while len(block) >= size:
                yield block[:size]
                del block[:size]
    if block:
        yield block


async def pieces_of(writer: PageWriter, expander: Expander | None, rows: Sequence[Row]) -> Pieces:
    """The next rows of a page as bytes, in pieces of a length that suits the event loop."""
    if expander is None:
        yield writer.next_slice(rows)
        return
    shown = writer.visible(rows)
    extras = await expander.extras(shown)
    for start in range(0, len(shown), PIECE):
        end = start + PIECE
        yield writer.slice(shown[start:end], extras[start:end])
        await asyncio.sleep(0)
    writer.advance(rows)


def _shape(
    entity_set: EntitySet,
    names: frozenset[str] | None,
    expansions: Sequence[Expansion],
    columns: Sequence[Column] = (),
) -> RecordShape:
    shown = None
    if names is not None:
        shown = tuple([name for name in entity_set.type.by_name if name in names])
    computed_fields = [
        ComputedField(each.name, index, each.type)
        for index, each in enumerate(columns)
        if names is None or each.name in names
    ]
    return RecordShape(shown, tuple(computed_fields), tuple([_nested(each) for each in expansions]))


def _nested(expansion: Expansion) -> Nested:
    entity_set = expansion.entity_set
    shape = _shape(entity_set, expansion.names, expansion.inner)
    if expansion.result == "ref":
        shape = RecordShape((), address=True)
    return Nested(
        expansion.name,
        entity_set,
        expansion.collection,
        expansion.result,
        bool(expansion.options.count),
        shape,
    )
