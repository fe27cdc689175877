"""The rows of a table of records in HTML, which a template would write in four times the time."""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import chain
from urllib.parse import quote

from markupsafe import Markup

from comptoir.edm.model import EntityType, Property
from comptoir.edm.types import EnumText
from comptoir.features.console.record_form import LONGEST_SHORT, short
from comptoir.features.console.record_query import NARROWS, TableColumn, condition_of
from comptoir.features.console.values import BLANK, TablePage, presented
from comptoir.features.console.visit import PLAIN

_NUMBER = ' class="number"'


def table_rows(
    entity_type: EntityType, columns: Sequence[TableColumn], page: TablePage, record_page: str
) -> Markup:
    """The rows of a table: the first cell leads to the record, at `record_page` with its key.

    The others are buttons that filter by their value, as `query_of` reads them.
    Values are escaped column by column, because no text has a NUL. Rows in ASCII are encoded at
    once, which takes as long as all other work for them otherwise.
    """
    if not page.size:
        return Markup()
    first, *others = columns
    keys = page.columns[entity_type.key]
    begin = f'"><th scope="row" role="rowheader"{_NUMBER if first.is_number else ""}><a href="'
    begin += escape(record_page)
    quoted = keys if PLAIN.fullmatch("".join(keys)) else map(_quoted, keys)
    names = _names(entity_type.by_name[first.name], page.columns[first.name], keys)
    heads = [
        f'<tr role="row" id="row-{key}{begin}{key}"><bdi>{name}</bdi></a></th>'
        for key, name in zip(quoted, _escaped(names), strict=True)
    ]
    cells = [
        _cells(entity_type.by_name[each.name], each, page.columns[each.name]) for each in others
    ]
    lines = zip(heads, *cells, ["</tr>\n"] * page.size, strict=True)
    return Markup("".join(chain.from_iterable(lines)))  # noqa: S704 - every value is escaped


def row_id(key: str) -> str:
    """The id of the row of a record with a key, which is the same in a URL."""
    return f"row-{_quoted(key)}"


def _names(declared: Property, texts: Sequence[str], keys: Sequence[str]) -> Sequence[str]:
    """What the first cells show: the value of each record, or its key if that is blank."""
    if all(texts) and _are_plain(declared, texts):
        return texts
    return [short(text.strip() or key) for text, key in zip(texts, keys, strict=True)]


def _cells(declared: Property, column: TableColumn, exact: Sequence[str]) -> list[str]:
    label, number = escape(column.caption), _NUMBER if column.is_number else ""
    begin = f'<td role="cell" data-label="{label}"{number}>'
    button = f'{begin}<button name="{NARROWS}{declared.name}" value="'
    if _are_texts(declared):
        blank = f"{begin}{BLANK}</td>"
        if _are_plain(declared, exact):
            return [
                f'{button}{each}">{each}</button></td>' if each else blank
                for each in _escaped(exact)
            ]
        texts = [each or BLANK for each in _escaped(map(short, exact))]
    else:
        texts = [presented(declared, each).__html__() for each in exact]
    is_sought = [bool(condition_of(declared, each)) for each in exact]
    return [
        f'{button}{value}">{text}</button></td>' if is_button else f"{begin}{text}</td>"
        for value, text, is_button in zip(_escaped(exact), texts, is_sought, strict=True)
    ]


def _are_texts(declared: Property) -> bool:
    """Whether people are shown the values as clients receive them."""
    return declared.type.quoted and not isinstance(declared.type, EnumText)


def _are_plain(declared: Property, texts: Sequence[str]) -> bool:
    """Whether each text, unless it is empty, is shown whole and has a condition."""
    joined = "".join(texts)
    is_short = max(map(len, texts)) <= LONGEST_SHORT
    is_plain = is_short and joined.isprintable() and not declared.is_unlimited
    return is_plain and not any(map(str.isspace, texts))


def _escaped(texts: Iterable[str]) -> list[str]:
    """Texts as HTML, with references to all characters that are not ASCII."""
    escaped = escape("\0".join(texts))
    if not escaped.isascii():
        escaped = escaped.encode("ascii", "xmlcharrefreplace").decode("ascii")
    return escaped.split("\0")


def _quoted(key: str) -> str:
    return key if PLAIN.fullmatch(key) else quote(key, safe="")
