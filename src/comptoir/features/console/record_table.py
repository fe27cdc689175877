"""The rows of a table of records in HTML, which a template would write in four times the time."""

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import cast
from urllib.parse import quote

from markupsafe import Markup

from comptoir.edm.model import EntityType, Property
from comptoir.edm.types import EnumText
from comptoir.features.console.record_form import LONGEST_SHORT, short
from comptoir.features.console.record_query import NARROWS, TableColumn, condition_of
from comptoir.features.console.values import BLANK, Values, presented, shown
from comptoir.jsonvalue import Json

_PLAIN = re.compile("[0-9A-Za-z-]+")
"""Keys that are the same in a URL, as most are."""

_NUMBER = ' class="number"'


def table_rows(
    entity_type: EntityType,
    columns: Sequence[TableColumn],
    rows: Sequence[Values],
    record_page: str,
) -> Markup:
    """The rows of a table: the first cell leads to the record, at `record_page` with its key.

    The others are buttons that filter by their value, as `query_of` reads them.
    Values are escaped column by column, because no text has a NUL. Rows in ASCII are encoded at
    once, which takes as long as all other work for them otherwise.
    """
    if not rows:
        return Markup()
    first, *others = [(entity_type.by_name[each.name], each) for each in columns]
    keys = [str(row[entity_type.key]) for row in rows]
    names = [
        short(shown(first[0], row[first[0].name]).strip() or key)
        for row, key in zip(rows, keys, strict=True)
    ]
    begin = f'"><th scope="row" role="rowheader"{_NUMBER if first[1].is_number else ""}><a href="'
    begin += escape(record_page)
    quoted = keys if _PLAIN.fullmatch("".join(keys)) else map(_quoted, keys)
    heads = [
        f'<tr role="row" id="row-{key}{begin}{key}"><bdi>{name}</bdi></a></th>'
        for key, name in zip(quoted, _escaped(names), strict=True)
    ]
    cells = [_cells(*each, [row[each[0].name] for row in rows]) for each in others]
    lines = ["".join(line) + "</tr>\n" for line in zip(heads, *cells, strict=True)]
    return Markup("".join(lines))  # noqa: S704 - every value is escaped


def row_id(key: str) -> str:
    """The id of the row of a record with a key, which is the same in a URL."""
    return f"row-{_quoted(key)}"


def _cells(declared: Property, column: TableColumn, values: Sequence[Json]) -> list[str]:
    label, number = escape(column.caption), _NUMBER if column.is_number else ""
    begin = f'<td role="cell" data-label="{label}"{number}>'
    button = f'{begin}<button name="{NARROWS}{declared.name}" value="'
    if declared.type.quoted and not isinstance(declared.type, EnumText):
        exact = cast("Sequence[str]", values)
        blank = f"{begin}{BLANK}</td>"
        if _are_plain(declared, exact):
            return [
                f'{button}{each}">{each}</button></td>' if each else blank
                for each in _escaped(exact)
            ]
        texts = [each or BLANK for each in _escaped(map(short, exact))]
    else:
        found = [presented(declared, each) for each in values]
        exact = [each.exact for each in found]
        texts = [each.__html__() for each in found]
    is_sought = [bool(condition_of(declared, each)) for each in exact]
    return [
        f'{button}{value}">{text}</button></td>' if is_button else f"{begin}{text}</td>"
        for value, text, is_button in zip(_escaped(exact), texts, is_sought, strict=True)
    ]


def _are_plain(declared: Property, texts: Sequence[str]) -> bool:
    """Whether each text, unless it is empty, is shown whole and has a condition."""
    joined = "".join(texts)
    is_short = max(map(len, texts)) <= LONGEST_SHORT
    is_plain = is_short and joined.isprintable() and not declared.is_unlimited
    return is_plain and not any(map(str.isspace, texts))


def _escaped(texts: Iterable[str]) -> list[str]:
    """Texts as HTML, with references to all characters that are not ASCII."""
    escaped = escape("\0".join(texts)).encode("ascii", "xmlcharrefreplace")
    return escaped.decode("ascii").split("\0")


def _quoted(key: str) -> str:
    return key if _PLAIN.fullmatch(key) else quote(key, safe="")
