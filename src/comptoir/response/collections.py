"""Collections as JSON (OData JSON Format 4.01, section 13), written a slice at a time."""

from collections.abc import Mapping, Sequence

import msgspec

from comptoir.edm.model import Company, EntitySet
from comptoir.edm.types import Stored, Wire
from comptoir.plan.pages import Page
from comptoir.plan.read import Column, Row
from comptoir.request.headers import Format
from comptoir.request.options import continued
from comptoir.response.records import (
    FULL,
    NONE,
    SELF_EVIDENT,
    Extras,
    JsonWriter,
    RecordWriter,
    context_url,
    wire_form,
)
from comptoir.response.response import Root

_encode = msgspec.json.Encoder().encode

_Object = dict[str, "Wire | _Object | None"]
_Tree = dict[str, "int | _Tree"]
"""The columns of a result by name; those of a related record are within the navigation property."""


class ResultWriter:
    """Writes the rows of an aggregated result (OData Extension for Data Aggregation 4.0, 3).

    `shown` are the names of the columns to write, None for all. Rows are transient entities: they
    have no address, so their `@odata.id` is null.
    """

    def __init__(
        self,
        root: Root,
        entity_set: EntitySet,
        form: Format,
        columns: Sequence[Column],
        shown: frozenset[str] | None,
    ) -> None:
        self._root = root
        self.level = form.level
        self._set = entity_set
        self.form = form
        self._converts = [wire_form(each.type, form) for each in columns]
        self._annotations = list(map(self._annotation, columns))
        self._tree: _Tree = {}
        for index, column in enumerate(columns):
            if shown is None or column.name in shown:
                _insert(self._tree, column.path, index)
        self._begin: _Object = {} if self.level == NONE else {"@odata.id": None}
        if self.level == FULL:
            self._begin = {"@odata.type": f"#{entity_set.type.qualified_name}", **self._begin}

    def context(self, company: Company | None) -> str:
        """The context URL of the result (Data Aggregation 4.0, section 3; Protocol, 10.7)."""
        return context_url(self._root, self._set, company) + _selection(self._tree)

    def records(
        self,
        company: Company | None,
        rows: Sequence[Row],
        extras: Sequence[Extras] = (),
        separator: bytes = b"",
    ) -> bytes:
        """Rows as JSON objects, each after a comma or first `separator`, without related ones."""
        encoded = _encode([self._object(row, self._tree, self._begin) for row in rows])
        return separator + encoded[1:-1]

    def _object(self, row: Row, tree: _Tree, begin: _Object) -> _Object:
        """The row as an entity, or a related record in it, after the members of `begin`."""
        written = begin.copy()
        for name, part in tree.items():
            if isinstance(part, int):
                if annotation := self._annotations[part]:
                    written |= annotation
                value, convert = row[part], self._converts[part]
                written[name] = value if convert is None or value is None else convert(value)
            else:
                related = self._object(row, part, {})
                written[name] = related if _has_value(related) else None
        return written

    def _annotation(self, column: Column) -> Mapping[str, str]:
        """The type of a value, if it is annotated with it (JSON Format 4.01, section 4.6.3).

        An alias may be the name of a property that is declared with another type.
        """
        *above, name = column.path
        edm_name, declared = column.type.edm_name, self._set.type.by_name.get(name)
        shows = self.level == FULL and edm_name not in SELF_EVIDENT
        if not above and declared is not None and declared.type.edm_name != edm_name:
            shows = self.level != NONE
        return {f"{name}@odata.type": f"#{edm_name.removeprefix('Edm.')}"} if shows else {}


RowWriter = RecordWriter | ResultWriter | JsonWriter


class CollectionWriter:
    """Writes one collection: its head, slices of its rows, and its tail, in this order."""

    suffix = ""
    """The end of the context URL, after that of the rows."""

    def __init__(self, rows: RowWriter, company: Company | None) -> None:
        self._rows = rows
        self._company = company
        self._separator = b""

    def head(self, count: int | None, inline: Row | None = None) -> bytes:
        """The control information before the rows.

        The properties of the record `inline` are repeated there (operation 7).
        """
        rows = self._rows
        parts: list[bytes] = []
        if rows.level != NONE:
            context = rows.context(self._company) + self.suffix
            parts.append(b'"@odata.context":' + _encode(context))
        if count is not None:
            parts.append(b'"@odata.count":' + _encode(rows.form.int64(count)))
        if inline is not None:
            parts.append(rows.records(self._company, (inline,))[1:-1])
        parts.append(b'"value":[')
        return b"{" + b",".join(parts)

    def slice(self, rows: Sequence[Row], extras: Sequence[Extras] = ()) -> bytes:
        """The next rows; `extras` are the fields of their related records."""
        if not rows:
            return b""
        return self._rows.records(self._company, rows, extras, self._next_separator())

    def tail(self, next_link: str | None = None, delta_link: str | None = None) -> bytes:
        """The end of the collection, with at most one of the links."""
        if next_link is not None:
            return b'],"@odata.nextLink":' + _encode(next_link) + b"}"
        if delta_link is not None:
            return b'],"@odata.deltaLink":' + _encode(delta_link) + b"}"
        return b"]}"

    def _next_separator(self) -> bytes:
        separator, self._separator = self._separator, b","
        return separator


class PageWriter(CollectionWriter):
    """Writes a page of a collection: limits the rows to the page size, and links to the rest.

    `root` and `path` are the address of the collection, `query` the query string of the page. For a
    client that tracks changes, rows that changed after the number `since` are omitted: the delta
    link, which has `delta_token`, reports them.
    """

    def __init__(
        self,
        rows: RowWriter,
        company: Company | None,
        page: Page,
        root: Root,
        path: str,
        query: str,
        since: int | None = None,
        delta_token: str = "",
    ) -> None:
        super().__init__(rows, company)
        self.next_link: str | None = None
        self.row_count = 0
        """The number of rows so far, including the omitted ones."""
        self._page = page
        self._root = root
        self._path = path
        self._query = query
        self._since = since
        self._delta = (("$deltatoken", delta_token),) if delta_token else ()
        self._last: Row | None = None

    def next_slice(self, rows: Sequence[Row]) -> bytes:
        """Write the next rows that belong on the page, and count them."""
        written = self.slice(self.visible(rows))
        self.advance(rows)
        return written

    def visible(self, rows: Sequence[Row]) -> Sequence[Row]:
        """The rows, of the next ones, that belong on the page."""
        fitting = rows[: self._page.size - self.row_count]
        if self._since is None:
            return fitting
        return [row for row in fitting if int(row[0]) <= self._since]

    def advance(self, rows: Sequence[Row]) -> None:
        """Count the next rows as written; ends the page if it has no room for all of them."""
        fitting = rows[: self._page.size - self.row_count]
        if fitting:
            self.row_count += len(fitting)
            self._last = fitting[-1]
        if len(rows) > len(fitting):
            self.end_page()

    def end_page(self) -> None:
        """Let the next page start after the rows so far."""
        if self._last is not None:
            query = self._page.query_after(self._query, self._last, self.row_count, *self._delta)
            self.next_link = self._link(query)

    def finish(self) -> bytes:
        """The tail of the page, with the link to the next page or else to the changes."""
        delta_link = None
        if self._delta:
            delta_link = self._link(continued(self._query, *self._delta))
        return self.tail(self.next_link, delta_link)

    def _link(self, query: str) -> str:
        return f"{self._root.address(self._path)}?{query}"


class Removed(msgspec.Struct, frozen=True):
    """A record that left a collection: `reason` is `deleted` or `changed`."""

    key: Stored
    reason: str


class ChangesWriter(CollectionWriter):
    """Writes a collection of changes (OData JSON Format 4.01, section 15).

    `records` writes the addresses of removed records.
    """

    suffix = "/$delta"

    def __init__(self, rows: RowWriter, company: Company | None, records: RecordWriter) -> None:
        super().__init__(rows, company)
        self._records = records

    def removed(self, removed: Removed) -> bytes:
        """A record that left the collection, in the form of OData 4.0 (section 10.3)."""
        records, company = self._records, self._company
        context = context_url(records.root, records.entity_set, company)
        entry = {
            "@odata.context": context + "/$deletedEntity",
            "id": records.root.link(records.path(company, removed.key)),
            "reason": removed.reason,
        }
        return self._next_separator() + _encode(entry)


def _insert(tree: _Tree, path: Sequence[str], index: int) -> None:
    for segment in path[:-1]:
        part = tree.setdefault(segment, {})
        if isinstance(part, int):
            raise LookupError(f"{segment} is both a value and a navigation property")
        tree = part
    tree[path[-1]] = index


def _has_value(related: _Object) -> bool:
    """Whether a row has a related record, so that one of its values is not null."""
    values = [each for name, each in related.items() if "@" not in name]
    return any(_has_value(each) if isinstance(each, dict) else each is not None for each in values)


def _selection(tree: _Tree) -> str:
    names = [
        name if isinstance(part, int) else f"{name}{_selection(part)}"
        for name, part in tree.items()
    ]
    return f"({','.join(names)})"
