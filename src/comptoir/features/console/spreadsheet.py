"""The records of a list as CSV (RFC 4180), for programs that open spreadsheets."""

import re
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from urllib.parse import urlsplit

from starlette.responses import StreamingResponse
from starlette.types import Send
from typing_extensions import override

from comptoir.edm.model import EntitySet, Property
from comptoir.edm.types import EnumText, Text
from comptoir.errors.refusal import Refusal
from comptoir.features.console.captions import caption
from comptoir.features.console.company_records import CompanyRecords
from comptoir.features.console.record_query import RecordQuery, shown_names
from comptoir.features.console.values import text_columns
from comptoir.http.exchange import ConnectionCutError
from comptoir.service import Table

_FORMULA = re.compile("[\\s\ufeff]*[=+@\uff1d\uff0b\uff20\u2212\uff0d-]|[\t\r\n]")
"""The beginnings of texts that a spreadsheet may calculate; some are of full width."""

_ANY_FORMULA = re.compile(f"\0(?:{_FORMULA.pattern})")
"""Finds one of them in texts after a NUL each."""

_SPECIAL = ('"', ",", "\r", "\n")
"""What cells contain only between quotes."""

_BYTE_ORDER_MARK = "\ufeff"


class Spreadsheet(StreamingResponse):
    """A response with lines, whose producer ends with it."""

    def __init__(self, name: str, lines: AsyncGenerator[str, None]) -> None:
        headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
        super().__init__(lines, headers=headers, media_type="text/csv; charset=utf-8")
        self._lines = lines

    @override
    async def stream_response(self, send: Send) -> None:
        async with aclosing(self._lines):
            await super().stream_response(send)


async def spreadsheet(
    records: CompanyRecords, entity_set: EntitySet, query: RecordQuery
) -> Spreadsheet:
    """The columns that a list shows, with the records of all of its pages, a slice at a time.

    Raises `Refusal` if the query has an error. A later one cuts the connection: a part of the
    records must not look like all of them.
    """
    names = shown_names(entity_set.type, query)
    table = await records.rows(entity_set, query.options(entity_set.type), names)
    return Spreadsheet(entity_set.name, _lines(records, entity_set, names, table))


async def _lines(
    records: CompanyRecords, entity_set: EntitySet, names: tuple[str, ...], table: Table
) -> AsyncGenerator[str, None]:
    entity_type = entity_set.type
    columns = [entity_type.by_name[each] for each in names]
    yield _BYTE_ORDER_MARK + _written([_defused([caption(each)]) for each in columns])
    while True:
        async with aclosing(table.rows()) as slices:
            async for rows in slices:
                texts = text_columns(entity_type, names, rows)
                yield _written([_cells(each, texts[each.name]) for each in columns])
        if not table.next_link:
            return
        try:
            table = await records.rows(entity_set, urlsplit(table.next_link).query, names)
        except Refusal as error:
            raise ConnectionCutError from error


def _written(columns: Iterable[Sequence[str]]) -> str:
    """The lines of some columns; the writer of `csv` looks at each character, in three times."""
    rows = zip(*map(_quoted, columns), strict=True)
    return "".join([f"{','.join(row)}\r\n" for row in rows])


def _quoted(cells: Sequence[str]) -> Sequence[str]:
    """The cells of a column, with quotes around those that need them."""
    if _needs_quotes("\0".join(cells)):
        doubled = [each.replace('"', '""') for each in cells]
        cells = [f'"{each}"' if _needs_quotes(each) else each for each in doubled]
    return cells


def _needs_quotes(text: str) -> bool:
    # faster than a regular expression
    return any(each in text for each in _SPECIAL)


def _cells(declared: Property, texts: Sequence[str]) -> Sequence[str]:
    if isinstance(declared.type, EnumText):
        texts = [declared.type.caption_of.get(each, each) for each in texts]
    return _defused(texts) if isinstance(declared.type, Text) else texts


def _defused(texts: Sequence[str]) -> Sequence[str]:
    """The cells of texts, most of which need no apostrophe."""
    # no text has a NUL
    if _ANY_FORMULA.search("\0".join(["", *texts])):
        texts = [f"'{each}" if _FORMULA.match(each) else each for each in texts]
    return texts
