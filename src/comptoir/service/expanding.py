"""Related records within records: a statement for each expansion of a whole block of records."""

from collections.abc import Mapping, Sequence
from itertools import groupby, islice
from operator import itemgetter
from typing import Protocol

import msgspec

from comptoir.edm.types import Stored
from comptoir.plan.expand import RelatedExpansion
from comptoir.plan.read import RelatedPlan, Row
from comptoir.request.headers import Format
from comptoir.request.options import continued, query_string
from comptoir.response.records import Extra, Extras, Nested, RecordWriter
from comptoir.service.context import Context, Runtime, record_writer

BLOCK = 100
"""How many records are expanded at once."""

ROWS = 20_000
"""The most related records that one statement fetches; the rest is behind links."""


class Expanding(Protocol):
    """Gives the fields of records within records, as a record's writer takes them.

    `block` is how many records are expanded at once.
    """

    block: int

    @property
    def is_spent(self) -> bool:
        """Whether so much was given that the page had better end."""

    async def extras(self, rows: Sequence[Row]) -> list[Extras]:
        """The fields of each of some records."""


class Expander:
    """Gives the fields of related records, as a record's writer takes them."""

    block = BLOCK
    is_spent = False

    def __init__(
        self,
        runtime: Runtime,
        context: Context,
        records: RecordWriter,
        expansions: Sequence[RelatedExpansion],
    ) -> None:
        self._settings = runtime.settings
        self._base_url = runtime.base_url
        self._context = context
        self._records = records
        self._expansions = expansions

    async def extras(self, rows: Sequence[Row]) -> list[Extras]:
        """The fields of each of some records."""
        return await self._extras(self._records, self._expansions, rows)

    async def _extras(
        self, records: RecordWriter, expansions: Sequence[RelatedExpansion], rows: Sequence[Row]
    ) -> list[Extras]:
        fields = [
            await self._fields(records, each, nested, rows)
            for each, nested in zip(expansions, records.shape.nested, strict=True)
        ]
        return [[value for field in fields for value in field[at]] for at in range(len(rows))]

    async def _fields(
        self,
        records: RecordWriter,
        expansion: RelatedExpansion,
        nested: Nested,
        rows: Sequence[Row],
    ) -> list[Extras]:
        """The fields that one expansion adds to each of some records."""
        own = records.entity_set.type.column_of[expansion.navigation.on[0]]
        # a blank value relates to nothing
        values = tuple(sorted({row[own] for row in rows} - {""}, key=str))
        counts: Mapping[Stored, int] = {}
        if values and (nested.counted or nested.kind == "count"):
            plan = RelatedPlan(expansion.navigation, expansion.page.plan, values, 0)
            counts = await self._context.reads.related_counts(plan, self._context.request.patience)
        related: Mapping[Stored, _Related] = {}
        if values and nested.kind != "count":
            related = await self._related(records.form, expansion, nested, values)
        fields: list[Extras] = []
        for row in rows:
            extra: list[Extra] = []
            if nested.counted or nested.kind == "count":
                extra.append(records.count(counts.get(row[own], 0)))
            if nested.kind != "count":
                found = related.get(row[own], _NOTHING)
                if nested.collection:
                    extra.append(self._link(records, expansion, row, found))
                    extra.append(found.records)
                else:
                    extra.append(found.records[0] if found.records else None)
            fields.append(extra)
        return fields

    async def _related(
        self, form: Format, expansion: RelatedExpansion, nested: Nested, values: tuple[Stored, ...]
    ) -> Mapping[Stored, "_Related"]:
        """The related records of each value, ready to be encoded."""
        most = max(1, min(ROWS // len(values), self._settings.page_size))
        top = expansion.options.top if nested.collection else 1
        wanted = most if top is None else min(top, most)
        is_last = top is not None and top <= most
        plan = RelatedPlan(
            expansion.navigation, expansion.page.plan, values, wanted if is_last else wanted + 1
        )
        rows = await self._context.reads.related(plan, self._context.request.patience)
        joined = nested.entity_set.type.column_of[expansion.navigation.on[1]]
        groups = {value: list(group) for value, group in groupby(rows, key=itemgetter(joined))}
        shown = [row for group in groups.values() for row in group[:wanted]]
        writer = record_writer(nested.entity_set, form, nested.shape)
        extras = await self._extras(writer, expansion.inner, shown) if expansion.inner else ()
        built = iter(writer.built(self._base_url, self._context.company, shown, extras))
        return {
            value: _Related(
                list(islice(built, min(len(group), wanted))),
                group[wanted - 1] if len(group) > wanted else None,
            )
            for value, group in groups.items()
        }

    def _link(
        self, records: RecordWriter, expansion: RelatedExpansion, row: Row, found: "_Related"
    ) -> str | msgspec.UnsetType:
        """Where the related records go on that do not stand here."""
        if found.end is None:
            return msgspec.UNSET
        own, other = expansion.navigation.on
        value = row[records.entity_set.type.column_of[own]]
        page = expansion.page.narrowed(((other, value), *expansion.navigation.only.items()))
        token = page.token_behind(found.end, len(found.records))
        address = records.link(self._base_url, self._context.company, row)
        query = continued(query_string(expansion.options), ("$skiptoken", token))
        return f"{address}/{expansion.segments}?{query}"


class _Related(msgspec.Struct, frozen=True):
    """Related records of one value, and the last of them when more follow."""

    records: list[msgspec.Struct]
    end: Row | None


_NOTHING = _Related([], None)
