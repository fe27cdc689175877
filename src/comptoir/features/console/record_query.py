"""Queries for the records of a set: their options, columns and order."""

from collections.abc import Iterator, Sequence
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import msgspec

from comptoir.edm.model import EntityType, Property
from comptoir.edm.types import Guid
from comptoir.errors.refusal import Refusal

SHOWN_COLUMNS = 6
"""Columns of a table for which nobody has chosen any, besides the time of the last change."""

AROUND = 60
"""Characters of a text that are shown before and after an error."""

_IN_VALUE = "'(),/:@"
"""Characters that need no encoding in a query string, besides letters and digits."""


class RecordQuery(msgspec.Struct, frozen=True):
    """A query for a page of records: the texts of its options, which are empty if not given.

    `columns` are the names of the properties to show; empty for those of `default_columns`.
    """

    filter: str = ""
    search: str = ""
    orderby: str = ""
    columns: tuple[str, ...] = ()
    skiptoken: str = ""

    def options(self, names: Sequence[str]) -> str:
        """The query string for the service, which selects these properties."""
        texts = {"filter": self.filter, "search": self.search, "orderby": self.orderby}
        texts |= {"select": ",".join(names), "skiptoken": self.skiptoken}
        return "&".join(
            f"${name}={quote(text, safe=_IN_VALUE)}" for name, text in texts.items() if text
        )

    def address(self) -> str:
        """The query string by which the console shows the same page."""
        texts = [
            (each, getattr(self, each)) for each in ("filter", "search", "orderby", "skiptoken")
        ]
        given = [(name, text) for name, text in texts if text]
        return urlencode([*given, *(("column", each) for each in self.columns)])

    def sorted_by(self, order: str) -> "RecordQuery":
        """The first page of the same query in another order."""
        return msgspec.structs.replace(self, orderby=order, skiptoken="")

    def after(self, next_link: str) -> "RecordQuery":
        """The page to which the service's link to the next page leads."""
        given = dict(parse_qsl(urlsplit(next_link).query))
        return msgspec.structs.replace(self, skiptoken=given["$skiptoken"])


class TableColumn(msgspec.Struct, frozen=True):
    """A column of a table; `order` is that of its values now: `ascending`, `descending` or blank.

    `sorting` is the value of `$orderby` that sorts by it, or the other way round if the records are
    sorted by it already; blank for a property by which records cannot be sorted.
    """

    name: str
    description: str
    is_number: bool
    order: str
    sorting: str


class QueryError(msgspec.Struct, frozen=True):
    """A message of the service about a query option, and the text around the error's place.

    `at` is the character there; all three are empty for an error without a place.
    """

    message: str
    before: str = ""
    at: str = ""
    after: str = ""


def query_error(refusal: Refusal, text: str) -> QueryError:
    """The error of a query option with this text."""
    if refusal.column is None:
        return QueryError(refusal.message)
    # an error may be at the end, where a character is missing
    place = min(refusal.column - 1, len(text))
    start, end = place - AROUND, place + 1 + AROUND
    before = f"…{text[start:place]}" if start > 0 else text[:place]
    after = f"{text[place + 1 : end]}…" if end < len(text) else text[place + 1 :]
    return QueryError(refusal.message, before, text[place : place + 1] or " ", after)


def heading(entity_type: EntityType) -> str:
    """The property that is first in each row, by which people know a record."""
    return entity_type.identification[0]


def column_choices(entity_type: EntityType) -> list[Property]:
    """The properties that a table may show after the `heading`."""
    first = heading(entity_type)
    return [entity_type.by_name[name] for name in entity_type.queried if name != first]


def default_columns(entity_type: EntityType) -> tuple[str, ...]:
    """The columns of a table for which nobody has chosen any: few, the most telling first."""
    first = heading(entity_type)
    choices = column_choices(entity_type)
    if entity_type.columns:
        known = {each.name for each in choices}
        return (first, *(each for each in entity_type.columns if each in known))
    telling = [each for each in choices if not (isinstance(each.type, Guid) or each.is_unlimited)]
    stamps = [each for each in telling if each.modified_at]
    required = [each for each in telling if each.required]
    rest = [each for each in telling if not (each.required or each.modified_at)]
    chosen = [*[*required, *rest][: SHOWN_COLUMNS - 1], *stamps]
    return (first, *(each.name for each in chosen))


def columns(entity_type: EntityType, query: RecordQuery) -> Iterator[TableColumn]:
    """The columns of a query's table, in the order of the declaration after the first."""
    names = shown_names(entity_type, query)
    for name in names:
        declared = entity_type.by_name[name]
        order = {name: "ascending", f"{name} asc": "ascending", f"{name} desc": "descending"}.get(
            query.orderby.strip(), ""
        )
        sorting = "" if declared.is_unlimited else name
        if sorting and order == "ascending":
            sorting = f"{name} desc"
        is_number = declared.type.edm_name in ("Edm.Int32", "Edm.Decimal")
        yield TableColumn(name, declared.description, is_number, order, sorting)


def shown_names(entity_type: EntityType, query: RecordQuery) -> tuple[str, ...]:
    """The properties that a query's table shows: those it names, after the `heading`."""
    if not query.columns:
        return default_columns(entity_type)
    known = {each.name for each in column_choices(entity_type)}
    return (heading(entity_type), *(name for name in query.columns if name in known))
