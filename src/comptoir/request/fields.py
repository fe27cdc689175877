"""`$select` and `$expand` (OData URL Conventions 4.01, sections 5.1.4 and 5.1.3).

One pass over an `$expand` reads all nested items. The expressions in them remain texts, delimited
by quotes and parentheses, and have their own parsers.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Literal as OneOf
from typing import NamedTuple, TypeAlias

import msgspec

from comptoir.errors import refusal_rows as rows
from comptoir.errors.messages import quoted
from comptoir.errors.refusal import Refusal
from comptoir.request.expression.reader import OptionReader
from comptoir.request.expression.tree import Syntax
from comptoir.request.headers import lowered
from comptoir.request.options import (
    CACHED_LONG_QUERIES,
    NO_OPTIONS,
    VALUE_READERS,
    QueryOptions,
    query_options,
    whole_number,
)

SELECT, EXPAND = "$select", "$expand"

_NAME = r"[^\W\d]\w*"
_ITEM = re.compile(rf"\*|@?{_NAME}(?:\.{_NAME})*(?:\.\*|(?:/[@$]?{_NAME}(?:\.{_NAME})*)*)")
_EXAMPLE = "number,displayName"


class SelectItem(Syntax, frozen=True):
    """One item: the names along a path to a property, or `("*",)` for all properties.

    A name with a dot is a type to which the path casts.
    """

    path: tuple[str, ...]
    position: int = 0

    @property
    def all(self) -> bool:
        """Whether the item means every property."""
        return self.path == ("*",)


@lru_cache(CACHED_LONG_QUERIES)
def parse_select(text: str) -> tuple[SelectItem, ...]:
    """The items of a percent-decoded `$select`, at least one; they may be equal.

    Raises `Refusal` with `$select` as its target: 400 for a malformed list, 501 for annotations,
    actions and functions, and for options of an item.
    """
    reader = OptionReader(text, SELECT)
    if reader.at_end():
        raise reader.empty(_EXAMPLE)
    items: list[SelectItem] = []
    while True:
        start = reader.skip_blanks()
        found = _ITEM.match(text, start)
        if found is None:
            raise reader.unexpected(start, "the name of a property", _EXAMPLE)
        items.append(_item(reader, found[0]))
        reader.position = found.end()
        position = reader.skip_blanks()
        if position == len(text):
            return tuple(items)
        if text[position] == "(":
            raise reader.unsupported("An option of a selected property", position)
        if text[position] != ",":
            raise reader.unexpected(position, "',' and another property", _EXAMPLE)
        reader.position += 1


def _item(reader: OptionReader, text: str) -> SelectItem:
    path, position = tuple(text.split("/")), reader.position
    if "@" in text:
        raise reader.unsupported(f"The annotation {quoted(text)}", position)
    if "." in path[-1]:
        raise reader.unsupported(
            f"{quoted(text)} (an action, a function or a whole namespace)", position
        )
    if "$" in text:
        raise reader.refuse(rows.NOT_SELECTABLE, position, name=text)
    return SelectItem(path, position)


_PATH = re.compile(rf"(?:\*|@?{_NAME}(?:\.{_NAME})*)(?:/[@$]?{_NAME}(?:\.{_NAME})*)*|\$value")
_OPTION = re.compile(r"[ \t]*([@$\w]*)[ \t]*=[ \t]*")
_TEXT_END = re.compile(
    r"[;()]|'[^']*(?:''[^']*)*'(?!')|\"[^\"\\]*(?:\\.[^\"\\]*)*\"|['\"]", re.DOTALL
)
_SEARCH_END = re.compile(r"[;()]|\"[^\"\\]*(?:\\.[^\"\\]*)*\"|\"", re.DOTALL)
_EXPAND_EXAMPLE = "prices($filter=quantity gt 1;$top=5)"

ExpandResult: TypeAlias = OneOf["entities", "ref", "count"]
Levels: TypeAlias = int | OneOf["max"]

_LEVELS = "$levels"
_COUNT_OPTIONS = frozenset({"$filter", "$search"})
_REF_OPTIONS = _COUNT_OPTIONS | {"$orderby", "$skip", "$top", "$count"}
_OPTIONS: dict[ExpandResult, frozenset[str]] = {
    "count": _COUNT_OPTIONS,
    "ref": _REF_OPTIONS,
    "entities": _REF_OPTIONS | {"$select", "$expand", "$compute", _LEVELS, "$apply"},
}
_STAR_OPTIONS = frozenset({_LEVELS})
_ORDER = (
    "$filter", "$search", "$orderby", "$select", "$compute", "$apply", "$top", "$skip", "$count",
    EXPAND,
)  # fmt: skip
"""The order of an item's options, also in links to further related records."""


class ExpandLimits(msgspec.Struct, frozen=True):
    """The bounds of one `$expand`: all items, with nested ones, and levels of nesting.

    `unsupported` are options that an item may not have.
    """

    items: int = 100
    depth: int = 5
    unsupported: frozenset[str] = frozenset()


DEFAULT_EXPAND_LIMITS = ExpandLimits()


class ExpandItem(Syntax, frozen=True):
    """One item: the names along a path, or `("*",)` for all navigation properties.

    A name with a dot is an entity type to which the path casts. `result` is added to each record:
    the related records, their references, or their count. `options` are the same as in a request
    for the related records, with the aliases of the request; `items` are those of a nested
    `$expand`. `position` is the offset in the whole text, and `positions` has those of the values
    of options.
    """

    path: tuple[str, ...]
    result: ExpandResult = "entities"
    options: QueryOptions = NO_OPTIONS
    items: tuple["ExpandItem", ...] = ()
    levels: Levels | None = None
    positions: Mapping[str, int] = MappingProxyType({})
    position: int = 0


def parse_expand(
    text: str,
    limits: ExpandLimits = DEFAULT_EXPAND_LIMITS,
    aliases: tuple[tuple[str, str], ...] = (),
) -> tuple[ExpandItem, ...]:
    """The items of a percent-decoded `$expand`: at least one, and no two that are equal.

    The names of nested options may lack the `$`, and their case does not matter. Raises `Refusal`
    with the column: 400 for a malformed text or one that exceeds `limits`, 501 for valid OData that
    is not supported (streams, annotations, aliases in parentheses).
    """
    reader = _ExpandReader(text, limits, aliases)
    items = reader.items(1)
    if reader.position != len(text):
        raise reader.unexpected(reader.position, "',' and another item", _EXPAND_EXAMPLE)
    return items


def within(refusal: Refusal, position: int) -> Refusal:
    """The refusal of a nested option, whose value begins at `position`, as one of `$expand`."""
    return refusal.at(EXPAND, position + (refusal.column or 1))


class _Value(NamedTuple):
    """The text of an option of an item, its offset, and the items of an `$expand`."""

    text: str
    position: int
    items: tuple[ExpandItem, ...]


class _ExpandReader(OptionReader):
    """Reads the items of one `$expand`, and counts them."""

    __slots__ = ("_aliases", "_count", "_limits")

    def __init__(
        self, text: str, limits: ExpandLimits, aliases: tuple[tuple[str, str], ...]
    ) -> None:
        super().__init__(text, EXPAND)
        self._limits = limits
        self._aliases = aliases
        self._count = 0

    def items(self, depth: int) -> tuple[ExpandItem, ...]:
        """The items from `position` on, at a depth that counts from 1."""
        limit = self._limits.depth
        if depth > limit:
            raise self.refuse(rows.EXPAND_TOO_DEEP, self.position, limit=limit)
        items: dict[tuple[tuple[str, ...], ExpandResult], ExpandItem] = {}
        while True:
            self.skip_blanks()
            item = self._item(depth)
            if (item.path, item.result) in items:
                name = quoted("/".join(item.path))
                raise self.refuse(rows.GIVEN_TWICE, item.position, name=name)
            items[item.path, item.result] = item
            self.skip_blanks()
            if not self.text.startswith(",", self.position):
                return tuple(items.values())
            self.position += 1

    def _item(self, depth: int) -> ExpandItem:
        start = self.position
        found = _PATH.match(self.text, start)
        if found is None:
            if self.at_end() and not self.text.strip(" \t"):
                raise self.empty(_EXPAND_EXAMPLE)
            raise self.unexpected(start, "the name of a navigation property", _EXPAND_EXAMPLE)
        self._count += 1
        limit = self._limits.items
        if self._count > limit:
            raise self.refuse(rows.EXPAND_TOO_LONG, start, limit=limit)
        path, result = self._path(found[0], start)
        self.position = found.end()
        self.skip_blanks()
        given: Mapping[str, _Value] = {}
        if self.text.startswith("(", self.position):
            allowed = _OPTIONS[result]
            if path == ("*",):
                allowed = _STAR_OPTIONS if result == "entities" else frozenset()
            given = self._options(allowed, depth)
        options, levels = self._typed(given), self._levels(given)
        items = given[EXPAND].items if EXPAND in given else ()
        positions = {name: each.position for name, each in given.items()}
        return ExpandItem(path, result, options, items, levels, positions, start)

    def _path(self, text: str, start: int) -> tuple[tuple[str, ...], ExpandResult]:
        if "@" in text:
            raise self.unsupported(f"The annotation {quoted(text)}", start)
        path = tuple(text.split("/"))
        if path[-1] == "$value":
            raise self.unsupported(f"The stream {quoted(text)}", start)
        ends: dict[str, ExpandResult] = {"$ref": "ref", "$count": "count"}
        end = ends.get(path[-1])
        if end is not None:
            path = path[:-1]
        if any(name.startswith("$") for name in path) or (path == ("*",) and end == "count"):
            raise self.refuse(rows.NOT_NAVIGATION, start, path=text)
        return path, end or "entities"

    def _options(self, allowed: frozenset[str], depth: int) -> Mapping[str, _Value]:
        """The options in the parentheses that open at `position`."""
        opened = self.position
        self.position += 1
        given: dict[str, _Value] = {}
        while True:
            start = self.skip_blanks()
            name = self._name(allowed)
            if name in given:
                raise self.refuse(rows.GIVEN_TWICE, start, name=name)
            start = self.position
            items = self.items(depth + 1) if name == EXPAND else ()
            if name != EXPAND:
                self._skip_value(_SEARCH_END if name == "$search" else _TEXT_END)
            given[name] = _Value(self.text[start : self.position].rstrip(" \t"), start, items)
            if self.text.startswith(")", self.position):
                self.position += 1
                return given
            if not self.text.startswith(";", self.position):
                raise self.misplaced(
                    rows.OPEN_OPTIONS, self.position, "';' or ')'", opened=opened + 1
                )
            self.position += 1

    def _name(self, allowed: frozenset[str]) -> str:
        """Step over the name of an option and its `=`."""
        start = self.position
        found = _OPTION.match(self.text, start)
        expected = "an option such as '$filter='"
        if found is None:
            raise self.unexpected(start, expected, _EXPAND_EXAMPLE)
        if not found[1]:
            raise self.misplaced(rows.NAMELESS_INSIDE, start, expected)
        written = found[1]
        if written.startswith("@"):
            raise self.unsupported(f"The parameter alias {quoted(written)} in parentheses", start)
        name = f"${lowered(written).removeprefix('$')}"
        if name not in allowed:
            if not allowed:
                raise self.refuse(rows.NO_OPTIONS_OF_ITEM, start, name=written)
            choice = "one of " * (len(allowed) > 1) + ", ".join(sorted(allowed))
            raise self.refuse(rows.NOT_OF_ITEM, start, name=written, choice=choice)
        self.position = found.end()
        return name

    def _skip_value(self, ends: re.Pattern[str]) -> None:
        """Step to the end of the value at `position`: a `;` or `)` outside of its brackets."""
        start, opened = self.position, 0
        for found in ends.finditer(self.text, start):
            mark = found[0]
            if mark in ("'", '"'):
                row = rows.TEXT_NOT_CLOSED if mark == "'" else rows.PHRASE_NOT_CLOSED
                raise self.refuse(row, found.start())
            if not opened and mark in (";", ")"):
                self.position = found.start()
                break
            opened += (mark == "(") - (mark == ")")
        else:
            self.position = len(self.text)
        if not self.text[start : self.position].strip(" \t"):
            raise self.unexpected(start, "a value", _EXPAND_EXAMPLE)

    def _typed(self, given: Mapping[str, _Value]) -> QueryOptions:
        """The options of an item, without `$levels`, which repeats the item."""
        values: dict[str, object] = {}
        for name in _ORDER:
            if name in given:
                text, position, _ = given[name]
                if name in self._limits.unsupported:
                    raise self.unsupported(name, position)
                read = VALUE_READERS.get(name)
                values[name] = text if read is None else read(name, text, EXPAND, position)
        return query_options(values, self._aliases)

    def _levels(self, given: Mapping[str, _Value]) -> Levels | None:
        if _LEVELS not in given:
            return None
        text, position, _ = given[_LEVELS]
        if text.lower() == "max":
            return "max"
        if text.startswith("0") or not (text.isascii() and text.isdigit()):
            raise self.refuse(rows.NOT_LEVELS, position, value=text)
        return whole_number(_LEVELS, text, EXPAND, position)
