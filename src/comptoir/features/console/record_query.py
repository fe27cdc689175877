"""Queries for the records of a set: their options, columns, order and place among all pages."""

from collections.abc import Sequence
from functools import cache, lru_cache
from urllib.parse import quote, unquote

import msgspec

from comptoir.edm.model import EntityType, Property
from comptoir.edm.numbers import DecimalNumber, Int32
from comptoir.edm.times import Date, DateTimeOffset
from comptoir.edm.types import Guid
from comptoir.errors.refusal import Refusal
from comptoir.features.console.captions import caption
from comptoir.features.console.values import TablePage
from comptoir.features.console.visit import FormData, fields_text

SHOWN_COLUMNS = 6
"""Columns of a table for which nobody has chosen any, besides the time of the last change."""

AROUND = 60
"""Characters of a text that are shown before and after an error."""

NARROWS = "is."
"""What a field begins with that limits a list to the records with a value: a property follows."""

LONGEST_LITERAL = 100
"""Characters of a text by which a click filters."""

SEEN_FOR_EXAMPLES = 5
"""Records of a page whose values are examples."""

LARGEST_SKIP = 1_000_000_000
"""The most records before a page."""

_ORDERED = (Int32, DecimalNumber, Date)
"""The types of values that are sought by their order."""

_IN_VALUE = "'(),/:@"
"""Characters that need no encoding in a query string, besides letters and digits."""


class RecordQuery(msgspec.Struct, frozen=True):
    """A query for a page of records: the texts of its options, which are empty if not given.

    `columns` are the names of the properties to show; empty for those of `default_columns`. `skip`
    is the number of records before the page, which may begin after a `skiptoken`: the next page
    follows the last record that was shown, whatever others add meanwhile. Nothing leads back from a
    token, so the previous page is found by the number of records before it.
    """

    filter: str = ""
    search: str = ""
    orderby: str = ""
    columns: tuple[str, ...] = ()
    skiptoken: str = ""
    skip: int = 0

    def options(self, entity_type: EntityType, names: tuple[str, ...] = ()) -> str:
        """The query string for the service, which selects these properties; all without any."""
        texts = {
            **self._matching,
            "orderby": self.orderby or default_order(entity_type),
            "select": ",".join(with_key(entity_type, names)) if names else "",
            "skiptoken": self.skiptoken,
            "skip": str(self.skip) if self.skip and not self.skiptoken else "",
        }
        return _query_string(texts)

    @property
    def is_limited(self) -> bool:
        """Whether the query may leave records of the set out."""
        return bool(self.filter or self.search)

    @property
    def count_options(self) -> str:
        """The query string for the number of records on all pages."""
        return _query_string(self._matching)

    def some_options(self, most: int) -> str:
        """The query string for that number, up to `most`."""
        steps = [f"{name}({text})" for name, text in self._matching.items() if text]
        steps += [f"top({most})", "aggregate($count as records)"]
        return _query_string({"apply": "/".join(steps)})

    @property
    def _matching(self) -> dict[str, str]:
        return {"filter": self.filter, "search": self.search}

    def address(self) -> str:
        """The query string by which the console shows the same page."""
        # most lists are the first page of all records
        return fields_text(self.fields) if any(msgspec.structs.astuple(self)) else ""

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The fields of `address`, some of which are blank."""
        columns = [("column", each) for each in self.columns]
        place = [("skiptoken", self.skiptoken), ("skip", str(self.skip or ""))]
        typed = [("filter", self.filter), ("search", self.search), ("orderby", self.orderby)]
        return [*typed, *columns, *place]

    def first(self, **changes: str) -> "RecordQuery":
        """The first page of the same query, or of another one."""
        return msgspec.structs.replace(self, **{"skiptoken": "", "skip": 0, **changes})

    def after(self, next_link: str, size: int) -> "RecordQuery":
        """The page to which the service's link to the next page leads; this one has `size`."""
        token = next_link.partition("$skiptoken=")[2].partition("&")[0]
        return msgspec.structs.replace(self, skiptoken=unquote(token), skip=self.skip + size)

    def before(self, size: int) -> "RecordQuery":
        """The page with the `size` records before this one."""
        return msgspec.structs.replace(self, skiptoken="", skip=max(self.skip - size, 0))


def query_of(entity_type: EntityType, given: FormData) -> RecordQuery:
    """The query of an address; a column that is unknown or repeated is ignored."""
    chosen = set(given.texts("column"))
    names = [each.name for each in column_choices(entity_type) if each.name in chosen]
    if {heading(entity_type), *names} == set(default_columns(entity_type)):
        names = []
    condition = given.text("filter").strip()
    for name, exact in given.pairs:
        declared = entity_type.by_name.get(name.removeprefix(NARROWS))
        if name.startswith(NARROWS) and declared is not None:
            condition = narrowed(condition, condition_of(declared, exact))
    skip = given.text("skip")
    return RecordQuery(
        filter=condition,
        search=given.text("search").strip(),
        orderby=given.text("orderby").strip(),
        columns=tuple(names),
        skiptoken=given.text("skiptoken"),
        skip=min(int(skip[:18]), LARGEST_SKIP) if skip.isascii() and skip.isdigit() else 0,
    )


def narrowed(condition: str, more: str) -> str:
    """A filter with one more condition."""
    if not (condition and more) or more in condition.split(" and "):
        return condition or more
    is_choice = " or " in condition.lower()
    return f"({condition}) and {more}" if is_choice else f"{condition} and {more}"


def condition_of(declared: Property, exact: str) -> str:
    """The filter for the records that have a value, by `Presented.exact`; blank for none."""
    # browsers change the line ends of a field
    is_short = len(exact) <= LONGEST_LITERAL and exact.isprintable()
    if not is_short or not exact.strip() or declared.is_unlimited:
        return ""
    return equals(declared, exact)


def equals(declared: Property, exact: str) -> str:
    """The condition that a property has a value, by `Presented.exact`."""
    return f"{declared.name} eq {literal(declared, exact)}"


def literal(declared: Property, exact: str) -> str:
    """A value in a filter."""
    doubled = exact.replace("'", "''")
    return f"'{doubled}'" if declared.type.quoted else exact


def examples(entity_type: EntityType, names: Sequence[str], page: TablePage) -> list[str]:
    """Filters that find some of the records, one for each kind of value after the first column."""
    found = dict[str, str]()
    for declared in [entity_type.by_name[name] for name in names[1:]]:
        name, edm_type = declared.name, declared.type
        has_both = edm_type.quoted and "contains" in found and "eq" in found
        if has_both or isinstance(edm_type, Guid):
            continue
        values = page.columns[name][:SEEN_FOR_EXAMPLES]
        value = next((each for each in values if condition_of(declared, each)), "")
        if not value:
            continue
        if isinstance(edm_type, DateTimeOffset):
            found.setdefault("time", f"{name} ge {value[:10]}T00:00:00Z")
        elif isinstance(edm_type, _ORDERED):
            found.setdefault("ge", f"{name} ge {literal(declared, value)}")
        elif edm_type.quoted and len(set(values)) == len(values):
            word = max(value.split(), key=len)
            found.setdefault("contains", f"contains({name},{literal(declared, word)})")
        else:
            found.setdefault("eq", condition_of(declared, value))
    return list(found.values())


def _query_string(texts: dict[str, str]) -> str:
    return "&".join(
        f"${name}={quote(text, safe=_IN_VALUE)}" for name, text in texts.items() if text
    )


class TableColumn(msgspec.Struct, frozen=True):
    """A column of a table; `order` is that of its values now: `ascending`, `descending` or blank.

    `sorting` is the field of an address that sorts by it, or the other way round if the records are
    sorted by it already; blank for a property by which records cannot be sorted.
    """

    name: str
    caption: str
    title: str
    is_number: bool
    order: str = ""
    sorting: str = ""


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


@cache
def heading(entity_type: EntityType) -> str:
    """The property that is first in each row, by which people know a record: rather not a Guid."""
    names = [*entity_type.identification, *entity_type.columns]
    names += [each.name for each in entity_type.required]
    known = [entity_type.by_name[each] for each in names if each in entity_type.queried]
    telling = (each.name for each in known if not isinstance(each.type, Guid))
    return next(telling, entity_type.key)


@cache
def default_order(entity_type: EntityType) -> str:
    """The value of `$orderby` for which an index serves: the identification, else blank."""
    names = entity_type.identification
    is_indexed = bool(entity_type.unique) and not entity_type.unique[0].blank_is_free
    if is_indexed or any(each[: len(names)] == names for each in entity_type.indexes):
        return ",".join(names)
    return ""


@cache
def column_choices(entity_type: EntityType) -> Sequence[Property]:
    """The properties that a table may show after the `heading`."""
    first = heading(entity_type)
    return [entity_type.by_name[name] for name in entity_type.queried if name != first]


@cache
def default_columns(entity_type: EntityType) -> tuple[str, ...]:
    """The columns of a table for which nobody has chosen any: few, the most telling first."""
    first = heading(entity_type)
    choices = column_choices(entity_type)
    if entity_type.columns:
        known = {each.name for each in choices}
        return (first, *(each for each in dict.fromkeys(entity_type.columns) if each in known))
    telling = [each for each in choices if not (isinstance(each.type, Guid) or each.is_unlimited)]
    stamps = [each for each in telling if each.modified_at]
    others = [each for each in telling if each.required or not each.modified_at]
    others.sort(key=lambda each: not each.required)
    return (first, *(each.name for each in [*others[: SHOWN_COLUMNS - 1], *stamps]))


@lru_cache
def columns(entity_type: EntityType, names: tuple[str, ...], order: str) -> tuple[TableColumn, ...]:
    """The columns of a table with these properties, whose records are sorted by `order`."""
    found = list[TableColumn]()
    first = (order or default_order(entity_type) or entity_type.key).split(",")[0]
    by, _, way = first.strip().partition(" ")
    for name in names:
        declared = entity_type.by_name[name]
        sorting, sorted_by = "" if declared.is_unlimited else name, ""
        if name == by and way.strip() in ("", "asc", "desc"):
            sorted_by = "descending" if way.strip() == "desc" else "ascending"
            if sorting and sorted_by == "ascending":
                sorting = f"{name} desc"
        title = f"{name}: {declared.description}"
        is_number = isinstance(declared.type, Int32 | DecimalNumber)
        sorting = fields_text([("orderby", sorting)])
        found.append(TableColumn(name, caption(declared), title, is_number, sorted_by, sorting))
    return tuple(found)


def with_key(entity_type: EntityType, names: tuple[str, ...]) -> tuple[str, ...]:
    """The properties that a table with these columns reads."""
    return names if entity_type.key in names else (*names, entity_type.key)


def shown_names(entity_type: EntityType, query: RecordQuery) -> tuple[str, ...]:
    """The properties that a query's table shows: those it names, after the `heading`."""
    if not query.columns:
        return default_columns(entity_type)
    known = {each.name for each in column_choices(entity_type)}
    return (heading(entity_type), *(name for name in query.columns if name in known))
