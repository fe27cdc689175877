"""The records of a list as CSV (RFC 4180), for programs that open spreadsheets."""

import csv
from collections.abc import AsyncGenerator, Iterable, Sequence
from io import StringIO
from operator import itemgetter
from urllib.parse import urlsplit

import msgspec

from comptoir.edm.model import EntitySet, Property
from comptoir.edm.numbers import DecimalNumber, Int32
from comptoir.edm.types import Boolean, Text
from comptoir.errors.refusal import Refusal
from comptoir.features.console.captions import caption
from comptoir.features.console.company_records import CompanyRecords
from comptoir.features.console.record_query import RecordQuery, shown_names
from comptoir.features.console.values import empty
from comptoir.http.exchange import ConnectionCutError

SLICE = 250
"""Records that are written before other requests run."""

_FORMULA = frozenset("=+-@\t\r")
"""The beginnings of texts that a spreadsheet would calculate."""

_BYTE_ORDER_MARK = "\ufeff"


class _Page(msgspec.Struct):
    value: list[dict[str, object]]
    next_link: str = msgspec.field(default="", name="@odata.nextLink")


# numbers keep their digits
_decode = msgspec.json.Decoder(_Page, float_hook=str).decode


async def spreadsheet(
    records: CompanyRecords, entity_set: EntitySet, query: RecordQuery
) -> AsyncGenerator[str, None]:
    """The lines of the columns that a list shows, on all of its pages, a slice at a time.

    Raises `Refusal` if the query has an error. A later one cuts the connection: a part of the
    records must not look like all of them.
    """
    names = shown_names(entity_set.type, query)
    options = query.options(entity_set.type, names)
    page = await _read(records, entity_set, options)
    return _lines(records, entity_set, [entity_set.type.by_name[each] for each in names], page)


async def _lines(
    records: CompanyRecords, entity_set: EntitySet, columns: Sequence[Property], page: _Page
) -> AsyncGenerator[str, None]:
    yield _BYTE_ORDER_MARK + _text([list(map(caption, columns))])
    while True:
        yield _text(_cells(columns, page.value))
        if not page.next_link:
            return
        try:
            page = await _read(records, entity_set, urlsplit(page.next_link).query)
        except Refusal as error:
            raise ConnectionCutError from error


async def _read(records: CompanyRecords, entity_set: EntitySet, options: str) -> _Page:
    return _decode(await records.document(entity_set, options, f"odata.maxpagesize={SLICE}"))


def _cells(
    columns: Sequence[Property], rows: Sequence[dict[str, object]]
) -> Iterable[tuple[object, ...]]:
    """The rows of cells; each column is converted at once."""
    return zip(*(_column(each, map(itemgetter(each.name), rows)) for each in columns), strict=True)


def _column(declared: Property, values: Iterable[object]) -> Iterable[object]:
    if isinstance(declared.type, Int32 | DecimalNumber):
        return values
    if isinstance(declared.type, Boolean):
        return [str(each).lower() for each in values]
    if isinstance(declared.type, Text):
        return [f"'{each}" if str(each)[:1] in _FORMULA else each for each in values]
    blank = empty(declared)
    return ["" if each == blank else each for each in values]


def _text(rows: Iterable[Iterable[object]]) -> str:
    lines = StringIO()
    csv.writer(lines).writerows(rows)
    return lines.getvalue()
