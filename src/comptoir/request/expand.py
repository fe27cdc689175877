"""`$expand` (OData URL Conventions 4.01, section 5.1.3): which related records are wanted, and how.

One pass over the text, whatever is nested in it: options that are expressions are cut out, with
quotes and parentheses respected, and left to their own readers.
"""

import re
from collections.abc import Iterable
from typing import Literal as OneOf
from typing import TypeAlias

import msgspec

from comptoir.errors import Refusal
from comptoir.request.expression import Syntax, faults
from comptoir.request.expression.lexer import after_blanks
from comptoir.request.numbers import truth, whole_number
from comptoir.request.options import QueryOptions, query_options
from comptoir.request.words import lowered

EXPAND = "$expand"

_NAME = r"[^\W\d]\w*"
_PATH = re.compile(rf"(?:\*|@?{_NAME}(?:\.{_NAME})*)(?:/[@$]?{_NAME}(?:\.{_NAME})*)*|\$value")
_OPTION = re.compile(r"[ \t]*([@$\w]*)[ \t]*=[ \t]*")
_TEXT_END = re.compile(
    r"[;()]|'[^']*+(?:''[^']*+)*+'|\"[^\"\\]*+(?:\\.[^\"\\]*+)*+\"|['\"]", re.DOTALL
)
_SEARCH_END = re.compile(r"[;()]|\"[^\"\\]*+(?:\\.[^\"\\]*+)*+\"|\"", re.DOTALL)
_EXAMPLE = "Write for example `prices($filter=quantity gt 1;$top=5)`."

ExpandKind: TypeAlias = OneOf["entities", "ref", "count"]
Levels: TypeAlias = int | OneOf["max"]

_COUNT_OPTIONS = frozenset({"$filter", "$search"})
_REF_OPTIONS = _COUNT_OPTIONS | {"$orderby", "$skip", "$top", "$count"}
_OPTIONS: dict[ExpandKind, frozenset[str]] = {
    "count": _COUNT_OPTIONS,
    "ref": _REF_OPTIONS,
    "entities": _REF_OPTIONS | {"$select", "$expand", "$compute", "$levels", "$apply"},
}
_STAR_OPTIONS = frozenset({"$levels"})


class ExpandLimits(msgspec.Struct, frozen=True):
    """The bounds of one `$expand`: items in all, nested ones included, and how deep they nest."""

    items: int = 100
    depth: int = 5


DEFAULT_EXPAND_LIMITS = ExpandLimits()


class OptionText(Syntax, frozen=True):
    """The text of a nested option, and its offset in the text of the whole `$expand`."""

    text: str
    position: int = 0


class ExpandOptions(Syntax, frozen=True):
    """The nested options of an item; None, or no items, where one is not given.

    Texts are for the readers of the options of the same names; `within` says their faults.
    """

    filter: OptionText | None = None
    search: OptionText | None = None
    orderby: OptionText | None = None
    select: OptionText | None = None
    compute: OptionText | None = None
    apply: OptionText | None = None
    top: int | None = None
    skip: int | None = None
    count: bool | None = None
    levels: Levels | None = None
    expand: tuple["ExpandItem", ...] = ()
    position: int = 0

    def as_query(self, aliases: tuple[tuple[str, str], ...] = ()) -> QueryOptions:
        """The same options as a request of their own has them, with the aliases of this one.

        `$levels` is left out: it says how the item is repeated.
        """
        held = {
            "$filter": _text(self.filter),
            "$search": _text(self.search),
            "$orderby": _text(self.orderby),
            "$select": _text(self.select),
            "$compute": _text(self.compute),
            "$apply": _text(self.apply),
            "$top": self.top,
            "$skip": self.skip,
            "$count": self.count,
            "$expand": print_expand(self.expand) or None,
        }
        given = {name: value for name, value in held.items() if value is not None}
        return query_options(given, aliases)


NO_EXPAND_OPTIONS = ExpandOptions()


def _text(nested: OptionText | None) -> str | None:
    return None if nested is None else nested.text


class ExpandItem(Syntax, frozen=True):
    """One item: the names along a path to related records, or `("*",)` for all that are related.

    `kind` is what of them is wanted: they themselves, their addresses, or how many they are. A
    name with a dot is that of a type, to which the path casts.
    """

    path: tuple[str, ...]
    kind: ExpandKind = "entities"
    options: ExpandOptions = NO_EXPAND_OPTIONS
    position: int = 0


def parse_expand(
    text: str, limits: ExpandLimits = DEFAULT_EXPAND_LIMITS, option: str = EXPAND
) -> tuple[ExpandItem, ...]:
    """The items of `text`, which is percent-decoded already: at least one, and none twice.

    Names of nested options are taken with or without `$` and in any case. Raises `Refusal` with
    `option` as its target: 400 with the place for what is no `$expand` or exceeds `limits`, 501
    for what is valid OData and not supported (streams, annotations, aliases in parentheses).
    """
    reader = _Reader(text, limits, option)
    items = reader.items(1)
    if reader.position != len(text):
        raise faults.misplaced(text, reader.position, "`,` and another item", _EXAMPLE, option)
    return items


def within(refusal: Refusal, name: str, nested: OptionText, option: str = EXPAND) -> Refusal:
    """What refuses the option `name` nested at `nested`, told as a fault of the whole option."""
    return Refusal(
        refusal.kind,
        f"{option}: in the {name} at column {nested.position + 1}, {refusal.message}",
        target=option,
        details=refusal.details,
    )


class _Reader:
    def __init__(self, text: str, limits: ExpandLimits, option: str) -> None:
        self.position = 0
        self._text = text
        self._limits = limits
        self._option = option
        self._count = 0

    def items(self, depth: int) -> tuple[ExpandItem, ...]:
        """The items at `position`, `depth` levels of `$expand` down, read as far as they go."""
        if depth > self._limits.depth:
            raise faults.misused(
                self.position,
                f"$expand nests deeper than {self._limits.depth}. Follow the navigation in "
                "requests of their own.",
                self._option,
            )
        items: dict[tuple[tuple[str, ...], ExpandKind], ExpandItem] = {}
        while True:
            self._skip_blanks()
            item = self._item(depth)
            if (item.path, item.kind) in items:
                message = f"`{'/'.join(item.path)[:100]}` is expanded twice. Write it once."
                raise faults.misused(item.position, message, self._option)
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
            raise faults.misplaced(self._text, start, expected, _EXAMPLE, self._option)
        self._count += 1
        if self._count > self._limits.items:
            message = f"there are more than {self._limits.items} items. Expand less at once."
            raise faults.misused(start, message, self._option)
        path, kind = self._path(found[0], start)
        self.position = found.end()
        self._skip_blanks()
        options = NO_EXPAND_OPTIONS
        if self._text.startswith("(", self.position):
            allowed = _OPTIONS[kind]
            if path == ("*",):
                allowed = _STAR_OPTIONS if kind == "entities" else frozenset()
            options = self._options(allowed, depth)
        return ExpandItem(path, kind, options, start)

    def _path(self, text: str, start: int) -> tuple[tuple[str, ...], ExpandKind]:
        if "@" in text:
            raise faults.not_supported(f"the annotation `{text[:100]}`", start, self._option)
        path = tuple(text.split("/"))
        if path[-1] == "$value":
            raise faults.not_supported(f"the stream `{text[:100]}`", start, self._option)
        ends: dict[str, ExpandKind] = {"$ref": "ref", "$count": "count"}
        end = ends.get(path[-1])
        if end is not None:
            path = path[:-1]
        if any(name.startswith("$") for name in path) or (path == ("*",) and end == "count"):
            raise faults.misused(
                start, f"`{text[:100]}` is no path to related records. {_EXAMPLE}", self._option
            )
        return path, end or "entities"

    def _options(self, allowed: frozenset[str], depth: int) -> ExpandOptions:
        """The options in the parentheses that open at `position`."""
        opened = self.position
        self.position += 1
        texts: dict[str, OptionText] = {}
        expand: tuple[ExpandItem, ...] = ()
        while True:
            start = after_blanks(self._text, self.position)
            name = self._name(allowed)
            if name in texts:
                message = f"{name} is given twice in one item. Write it once."
                raise faults.misused(start, message, self._option)
            start = self.position
            if name == EXPAND:
                expand = self.items(depth + 1)
            else:
                self._skip_text(_SEARCH_END if name == "$search" else _TEXT_END)
            texts[name] = OptionText(self._text[start : self.position].rstrip(" \t"), start)
            if self._text.startswith(")", self.position):
                self.position += 1
                return self._typed(texts, expand, opened)
            if not self._text.startswith(";", self.position):
                remedy = f"The options opened at column {opened + 1} are separated by `;`."
                raise faults.misplaced(
                    self._text, self.position, "`;` or `)`", remedy, self._option
                )
            self.position += 1

    def _name(self, allowed: frozenset[str]) -> str:
        """Step over the name of an option and its `=`."""
        start = after_blanks(self._text, self.position)
        found = _OPTION.match(self._text, self.position)
        if found is None or not found[1]:
            expected = "an option such as `$filter=`"
            raise faults.misplaced(self._text, start, expected, _EXAMPLE, self._option)
        written = found[1]
        if written.startswith("@"):
            construct = f"the parameter alias {written[:60]} in parentheses"
            raise faults.not_supported(construct, start, self._option)
        name = f"${lowered(written).removeprefix('$')}"
        if name not in allowed:
            message = (
                f"`{written[:60]}` is no option that this item takes. It takes: "
                f"{', '.join(sorted(allowed)) or 'none'}."
            )
            raise faults.misused(start, message, self._option)
        self.position = found.end()
        return name

    def _skip_text(self, ends: re.Pattern[str]) -> None:
        """Go to the end of the value at `position`: the `;` or `)` that it does not enclose."""
        start, opened = self.position, 0
        for found in ends.finditer(self._text, start):
            mark = found[0]
            if mark in ("'", '"'):
                message = f"the {mark} is not closed. Double a quote inside a text: 'O''Neil'."
                raise faults.misused(found.start(), message, self._option)
            if not opened and mark in (";", ")"):
                self.position = found.start()
                break
            opened += (mark == "(") - (mark == ")")
        else:
            self.position = len(self._text)
        if not self._text[start : self.position].strip(" \t"):
            expected = "the value of the option"
            raise faults.misplaced(self._text, start, expected, _EXAMPLE, self._option)

    def _typed(
        self, texts: dict[str, OptionText], expand: tuple[ExpandItem, ...], opened: int
    ) -> ExpandOptions:
        top, skip, count = texts.get("$top"), texts.get("$skip"), texts.get("$count")
        levels = texts.get("$levels")
        return ExpandOptions(
            filter=texts.get("$filter"),
            search=texts.get("$search"),
            orderby=texts.get("$orderby"),
            select=texts.get("$select"),
            compute=texts.get("$compute"),
            apply=texts.get("$apply"),
            top=None if top is None else whole_number(self._place("$top", top), top.text, EXPAND),
            skip=None
            if skip is None
            else whole_number(self._place("$skip", skip), skip.text, EXPAND),
            count=None
            if count is None
            else truth(self._place("$count", count), count.text, EXPAND),
            levels=None if levels is None else self._levels(levels),
            expand=expand,
            position=opened,
        )

    def _levels(self, levels: OptionText) -> Levels:
        if levels.text.lower() == "max":
            return "max"
        name = self._place("$levels", levels)
        count = whole_number(name, levels.text, self._option)
        if count == 0:
            raise faults.misused(
                levels.position, "$levels must be max or a whole number from 1 on.", self._option
            )
        return count

    def _place(self, name: str, value: OptionText) -> str:
        return f"{self._option}: at column {value.position + 1}, {name}"

    def _skip_blanks(self) -> None:
        self.position = after_blanks(self._text, self.position)


def print_expand(items: Iterable[ExpandItem]) -> str:
    """The canonical text of `items`, as `parse_expand` reads it."""
    return ",".join([_print_item(item) for item in items])


def _print_item(item: ExpandItem) -> str:
    ends: dict[ExpandKind, str] = {"entities": "", "ref": "/$ref", "count": "/$count"}
    path = "/".join(item.path) + ends[item.kind]
    parts: list[str] = []
    for name in ExpandOptions.__struct_fields__[:-1]:
        value: object = getattr(item.options, name)
        if name == "expand":
            value = print_expand(item.options.expand) or None
        elif isinstance(value, OptionText):
            value = value.text
        if value is not None:
            parts.append(f"${name}={str(value).lower() if name == 'count' else value}")
    return f"{path}({';'.join(parts)})" if parts else path
