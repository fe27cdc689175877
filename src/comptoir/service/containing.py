"""The records that companies contain, within the companies: the list of a set, for each company."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

import msgspec

from comptoir.edm.model import Company
from comptoir.plan.expand import Expansion
from comptoir.plan.read import CountPlan, Row
from comptoir.request.options import query_string
from comptoir.response.collections import CollectionWriter
from comptoir.response.records import Extra, Extras, Nested, RecordWriter
from comptoir.service.context import Context, Runtime, record_writer
from comptoir.service.expanding import ROWS, Expander
from comptoir.service.streaming import PIECE, Following, gathered
from comptoir.store.store import Reads

BYTES = 4_000_000
"""The size at which the lists of one company end, together; links lead to the rest."""


class Container:
    """Gives the fields of the records that companies contain, as a company's writer takes them.

    Every statement reads the records of one company. A company is written before the next one is
    read, and a page of companies ends once it holds `ROWS` records and lists.
    """

    block = 1

    def __init__(
        self,
        runtime: Runtime,
        context: Context,
        records: RecordWriter,
        expansions: Sequence[Expansion],
    ) -> None:
        self._runtime = runtime
        self._context = context
        self._records = records
        self._expansions = expansions
        self._given = 0

    @property
    def is_spent(self) -> bool:
        """Whether the page of companies ends here."""
        return self._given >= ROWS

    async def extras(self, rows: Sequence[Row]) -> list[Extras]:
        """The fields of each of some companies."""
        return [await self._fields(row) for row in rows]

    async def _fields(self, row: Row) -> Extras:
        """The fields of one company."""
        incarnation, _, _ = str(row[0]).partition(".")
        company = Company(str(self._records.key(row)), incarnation)
        context = msgspec.structs.replace(
            self._context, company=company, reads=self._reads(company)
        )
        fields: list[Extra] = []
        room, left = BYTES, len(self._expansions)
        for each, nested in zip(self._expansions, self._records.shape.nested, strict=True):
            expansion = each.under(company)
            self._given += 1
            if nested.counted or nested.kind == "count":
                plan = CountPlan(expansion.entity_set, company, expansion.page.plan.where)
                count = await context.reads.count(plan, context.request.patience)
                fields.append(self._records.count(count))
            if nested.kind != "count":
                link, listed = await self._list(context, expansion, nested, max(room // left, 1))
                room -= len(listed)
                fields += (msgspec.UNSET if link is None else link, msgspec.Raw(listed))
            left -= 1
        return fields

    def _reads(self, company: Company) -> Reads:
        """What a company's records are read from: a replica alone that may be as old as it is."""
        request = self._context.request
        if request.access is None or request.access.seen is not None:
            return self._context.reads
        return self._runtime.reads(request.method, request.access, company)

    async def _list(
        self, context: Context, expansion: Expansion, nested: Nested, room: int
    ) -> tuple[str | None, bytes]:
        """The link to what follows a page of a company's records, and the page as a JSON array."""
        records = record_writer(nested.entity_set, self._records.form, nested.shape)
        expander = Expander(self._runtime, context, records, expansion.inner)
        writer = CollectionWriter(records, self._runtime.base_url, context.company)
        page = expansion.page
        path = f"/companies({context.required_company().id})/{expansion.segments}"
        address = f"{self._runtime.base_url}{path}"
        following = Following(address, query_string(expansion.options), page)
        blocks = context.reads.page(page.plan, context.request.patience)
        if expansion.inner:
            blocks = gathered(blocks, expander.block)
        pieces: list[bytes] = []
        size = 0
        async with aclosing(blocks):
            async for rows in blocks:
                if size >= room:
                    following.end_here()
                    break
                fitting = following.fitting(rows)
                extras = await expander.extras(fitting) if expansion.inner else ()
                for start in range(0, len(fitting), PIECE):
                    end = start + PIECE
                    piece = writer.slice(fitting[start:end], extras[start:end])
                    size += len(piece)
                    pieces.append(piece)
                    await asyncio.sleep(0)
                following.pass_by(fitting, rows)
                self._given += len(fitting)
        return following.link, b"".join((b"[", *pieces, b"]"))
