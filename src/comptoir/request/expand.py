"""`$expand` (OData URL Conventions 4.01, section 5.1.3): the related records of a request.

One pass over the text reads all nested items. Expressions within them stay texts, cut out with
regard to quotes and parentheses: their own parsers read them.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal as OneOf
from typing import NamedTuple, TypeAlias

import msgspec

from comptoir.errors import Refusal
from comptoir.request.expression import Syntax, faults
from comptoir.request.expression.lexer import after_blanks
from comptoir.request.numbers import whole_number
from comptoir.request.options import (
    NO_OPTIONS,
    SHELL_HINT,
    VALUE_READERS,
    QueryOptions,
    query_options,
)
from comptoir.request.words import lowered

EXPAND = "$expand"

_NAME = r"[^\W\d]\w*"
_PATH = re.compile(rf"(?:\*|@?{_NAME}(?:\.{_NAME})*)(?:/[@$]?{_NAME}(?:\.{_NAME})*)*|\$value")
_OPTION = re.compile(r"[ \t]*([@$\w]*)[ \t]*=[ \t]*")
_TEXT_END = re.compile(
    r"[;()]|'[^']*(?:''[^']*)*'(?!')|\"[^\"\\]*(?:\\.[^\"\\]*)*\"|['\"]", re.DOTALL
)
_SEARCH_END = re.compile(r"[;()]|\"[^\"\\]*(?:\\.[^\"\\]*)*\"|\"", re.DOTALL)
_EXAMPLE = "Write for example `prices($filter=quantity gt 1;$top=5)`."

ExpandKind: TypeAlias = OneOf["entities", "ref", "count"]
Levels: TypeAlias = int | OneOf["max"]

_LEVELS = "$levels"
_COUNT_OPTIONS = frozenset({"$filter", "$search"})
_REF_OPTIONS = _COUNT_OPTIONS | {"$orderby", "$skip", "$top", "$count"}
_OPTIONS: dict[ExpandKind, frozenset[str]] = {
    "count": _COUNT_OPTIONS,
    "ref": _REF_OPTIONS,
    "entities": _REF_OPTIONS | {"$select", "$expand", "$compute", _LEVELS, "$apply"},
}
_STAR_OPTIONS = frozenset({_LEVELS})
_ORDER = (
    "$filter",
    "$search",
    "$orderby",
    "$select",
    "$compute",
    "$apply",
    "$top",
    "$skip",
    "$count",
    EXPAND,
)
"""The order in which the options of an item are kept, and appear in links."""


class ExpandLimits(msgspec.Struct, frozen=True):
    """The bounds of one `$expand`: items in all, nested ones included, and how deep they nest."""

    items: int = 100
    depth: int = 5


DEFAULT_EXPAND_LIMITS = ExpandLimits()


class Positions(msgspec.Struct, frozen=True):
    """Where an item and the values of its options begin, as offsets in the whole `$expand`."""

    item: int = 0
    options: Mapping[str, int] = MappingProxyType({})


class ExpandItem(Syntax, frozen=True):
    """One item: the names along a path to related records, or `("*",)` for all navigation.

    A name with a dot is an entity type, to which the path casts. `kind` says what is returned: the
    records, their references, or their count. `options` are those of the item, as a request for
    the related records has them, with the aliases of the request; the text of a nested `$expand`
    is among them, and `items` is what it says.
    """

    path: tuple[str, ...]
    kind: ExpandKind = "entities"
    options: QueryOptions = NO_OPTIONS
    items: tuple["ExpandItem", ...] = ()
    levels: Levels | None = None
    positions: Positions = Positions()

    @property
    def position(self) -> int:
        """The offset of the item in the text of the whole `$expand`."""
        return self.positions.item


def parse_expand(
    text: str,
    limits: ExpandLimits = DEFAULT_EXPAND_LIMITS,
    aliases: tuple[tuple[str, str], ...] = (),
) -> tuple[ExpandItem, ...]:
    """The items of a percent-decoded `$expand`: at least one, and no two that are equal.

    The names of nested options may lack the `$`, in upper or lower case. Raises `Refusal` with the
    column: 400 for text that is not a valid `$expand` or exceeds `limits`, 501 for valid OData that
    is not supported (streams, annotations, aliases in parentheses).
    """
    reader = _Reader(text, limits, aliases)
    items = reader.items(1)
    if reader.position != len(text):
        raise faults.misplaced(text, reader.position, "`,` and another item", _EXAMPLE, EXPAND)
    return items


def within(refusal: Refusal, name: str, position: int) -> Refusal:
    """The refusal of a nested option whose value begins at `position`, as one of `$expand`."""
    return Refusal(
        refusal.error,
        f"{EXPAND}: in the {name} at column {position + 1}, {refusal.message}",
        target=EXPAND,
        details=refusal.details,
    )


class _FoundOptions(NamedTuple):
    """The options of an item by name: texts, where they begin, and the items of its `$expand`."""

    texts: Mapping[str, str]
    positions: Mapping[str, int]
    items: tuple[ExpandItem, ...]


_NO_OPTIONS = _FoundOptions({}, {}, ())


class _Reader:
    def __init__(
        self, text: str, limits: ExpandLimits, aliases: tuple[tuple[str, str], ...]
    ) -> None:
        self.position = 0
        self._text = text
        self._limits = limits
        self._aliases = aliases
        self._count = 0

    def items(self, depth: int) -> tuple[ExpandItem, ...]:
        """The items from `position` on, within `depth` levels of `$expand`."""
        if depth > self._limits.depth:
            raise faults.misused(
                self.position,
                f"$expand nests deeper than {self._limits.depth}. Follow the navigation in "
                "requests of their own.",
                EXPAND,
            )
        items: dict[tuple[tuple[str, ...], ExpandKind], ExpandItem] = {}
        while True:
            self._skip_blanks()
            item = self._item(depth)
            if (item.path, item.kind) in items:
                message = f"`{'/'.join(item.path)[:100]}` is expanded twice. Write it once."
                raise faults.misused(item.position, message, EXPAND)
            items[item.path, item.kind] = item
            self._skip_blanks()
            if not self._text.startswith(",", self.position):
                return tuple(items.values())
            self.position += 1

    def _item(self, depth: int) -> ExpandItem:
        start = self.position
        found = _PATH.match(self._text, start)
        if found is None:
            expected = "the name of a navigation property"
            raise faults.misplaced(self._text, start, expected, _EXAMPLE, EXPAND)
        self._count += 1
        if self._count > self._limits.items:
            message = f"there are more than {self._limits.items} items. Expand less at once."
            raise faults.misused(start, message, EXPAND)
        path, kind = self._path(found[0], start)
        self.position = found.end()
        self._skip_blanks()
        given = _NO_OPTIONS
        if self._text.startswith("(", self.position):
            allowed = _OPTIONS[kind]
            if path == ("*",):
                allowed = _STAR_OPTIONS if kind == "entities" else frozenset()
            given = self._options(allowed, depth)
        texts, positions, items = given
        options = self._typed(texts, positions)
        levels = self._levels(texts, positions)
        return ExpandItem(path, kind, options, items, levels, Positions(start, positions))

    def _path(self, text: str, start: int) -> tuple[tuple[str, ...], ExpandKind]:
        if "@" in text:
            raise faults.not_supported(f"the annotation `{text[:100]}`", start, EXPAND)
        path = tuple(text.split("/"))
        if path[-1] == "$value":
            raise faults.not_supported(f"the stream `{text[:100]}`", start, EXPAND)
        ends: dict[str, ExpandKind] = {"$ref": "ref", "$count": "count"}
        end = ends.get(path[-1])
        if end is not None:
            path = path[:-1]
        if any(name.startswith("$") for name in path) or (path == ("*",) and end == "count"):
            raise faults.misused(
                start, f"`{text[:100]}` is no path to related records. {_EXAMPLE}", EXPAND
            )
        return path, end or "entities"

    def _options(self, allowed: frozenset[str], depth: int) -> _FoundOptions:
        """The options in the parentheses that open at `position`."""
        opened = self.position
        self.position += 1
        texts: dict[str, str] = {}
        positions: dict[str, int] = {}
        items: tuple[ExpandItem, ...] = ()
        while True:
            start = after_blanks(self._text, self.position)
            name = self._name(allowed)
            if name in texts:
                message = f"{name} is given twice in one item. Write it once."
                raise faults.misused(start, message, EXPAND)
            start = self.position
            if name == EXPAND:
                items = self.items(depth + 1)
            else:
                self._skip_text(_SEARCH_END if name == "$search" else _TEXT_END)
            texts[name] = self._text[start : self.position].rstrip(" \t")
            positions[name] = start
            if self._text.startswith(")", self.position):
                self.position += 1
                return _FoundOptions(texts, positions, items)
            if not self._text.startswith(";", self.position):
                remedy = f"The options opened at column {opened + 1} are separated by `;`."
                raise faults.misplaced(self._text, self.position, "`;` or `)`", remedy, EXPAND)
            self.position += 1

    def _name(self, allowed: frozenset[str]) -> str:
        """Step over the name of an option and its `=`."""
        start = after_blanks(self._text, self.position)
        found = _OPTION.match(self._text, self.position)
        if found is None or not found[1]:
            expected = "an option such as `$filter=`"
            remedy = _EXAMPLE if found is None else SHELL_HINT
            raise faults.misplaced(self._text, start, expected, remedy, EXPAND)
        written = found[1]
        if written.startswith("@"):
            construct = f"the parameter alias {written[:60]} in parentheses"
            raise faults.not_supported(construct, start, EXPAND)
        name = f"${lowered(written).removeprefix('$')}"
        if name not in allowed:
            message = (
                f"`{written[:60]}` is no option that this item takes. It takes: "
                f"{', '.join(sorted(allowed)) or 'none'}."
            )
            raise faults.misused(start, message, EXPAND)
        self.position = found.end()
        return name

    def _skip_text(self, ends: re.Pattern[str]) -> None:
        """Go to the end of the value at `position`: the `;` or `)` that it does not enclose."""
        start, opened = self.position, 0
        for found in ends.finditer(self._text, start):
            mark = found[0]
            if mark in ("'", '"'):
                message = f"the {mark} is not closed. Double a quote inside a text: 'O''Neil'."
                raise faults.misused(found.start(), message, EXPAND)
            if not opened and mark in (";", ")"):
                self.position = found.start()
                break
            opened += (mark == "(") - (mark == ")")
        else:
            self.position = len(self._text)
        if not self._text[start : self.position].strip(" \t"):
            expected = "the value of the option"
            raise faults.misplaced(self._text, start, expected, _EXAMPLE, EXPAND)

    def _typed(self, texts: Mapping[str, str], positions: Mapping[str, int]) -> QueryOptions:
        """The options of an item, without `$levels`: it says how the item is repeated."""
        values: dict[str, object] = {}
        for name in _ORDER:
            if name in texts:
                read = VALUE_READERS.get(name)
                place = _place(name, positions[name])
                values[name] = texts[name] if read is None else read(place, texts[name], EXPAND)
        return query_options(values, self._aliases)

    def _levels(self, texts: Mapping[str, str], positions: Mapping[str, int]) -> Levels | None:
        text = texts.get(_LEVELS)
        if text is None:
            return None
        if text.lower() == "max":
            return "max"
        position = positions[_LEVELS]
        count = whole_number(_place(_LEVELS, position), text, EXPAND)
        if text.startswith("0"):
            message = f"$levels must be max or a number such as 1, but {text[:40]!r} was sent."
            raise faults.misused(position, message, EXPAND)
        return count

    def _skip_blanks(self) -> None:
        self.position = after_blanks(self._text, self.position)


def _place(name: str, position: int) -> str:
    return f"{EXPAND}: at column {position + 1}, {name}"
