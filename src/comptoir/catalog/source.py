"""The source of a catalog: a file in TOML, the place of each key in it, and its faults."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Self, TypeVar, get_args, get_type_hints

import msgspec
from msgspec.structs import FieldInfo

from comptoir.catalog.options import (
    SHORT,
    TABLES,
    FileOptions,
    PropertyOptions,
    SetOptions,
    TableOptions,
)
from comptoir.errors import operator_rows as problems
from comptoir.errors.messages import suggestion
from comptoir.errors.refusal import OperatorError
from comptoir.profiles.record import NamedOptions

Path = tuple[str, ...]
"""The keys that lead to a value, from the root of the file."""

T = TypeVar("T", bound=msgspec.Struct)

_KEY = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_DOTTED = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
_LINE = re.compile(
    rf"^[ \t]*(?:\[(?P<table>\s*{_DOTTED}\s*)\]|(?P<key>{_DOTTED})\s*=)", re.MULTILINE
)
_PART = re.compile(_KEY)
_REPLACED = frozenset({"caption", "list_caption", "description", "columns"})
"""The options of a base that a file may change."""

_SET = len(("sets", "name"))
"""The keys that lead to an entity set."""

NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
"""A simple identifier (CSDL 4.01, section 15.2) of the letters that paths have."""

NAME_BYTES = 128
"""The most bytes of other names."""

LONGEST: Mapping[type[msgspec.Struct], int] = {SetOptions: 56, PropertyOptions: 63}
"""The most bytes of the names of tables, from which those of indexes are made, and columns."""


class Source:
    """A file of a catalog.

    Faults are collected, so that one run reports all of them. `text` is where their places are.
    """

    def __init__(self, name: str, content: Mapping[str, object], text: str = "") -> None:
        self.name = name
        self.as_json = msgspec.json.encode(content).decode()
        """The content without that of a base, as JSON in the order of the file."""

        self.content = content
        self._text = text
        self._offsets: dict[Path, int] = {}
        for path, at in _offsets(text):
            # the first key in a table that has no line of its own is its place
            for length in range(1, len(path) + 1):
                self._offsets.setdefault(path[:length], at)
        self._faults: list[tuple[int, OperatorError]] = []
        self.refused: set[str] = set()
        """The names of tables that lack an option, which is their only fault."""

    @classmethod
    def parse(cls, name: str, text: bytes) -> Self:
        """Parse a file in TOML; raises `OperatorError` if it is not."""
        try:
            return cls(name, tomllib.loads(text.decode()), text.decode())
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise problems.INVALID_CONFIG(path=name, reason=error) from None

    def extend(self, base: Mapping[str, object]) -> None:
        """Add the content of a base, which the file adds to and does not change."""
        self.content = self._extended((), base, self.content)

    def include(self, base: Mapping[str, object]) -> None:
        """Add the content of a base, which the file then has, with the base of that base."""
        self.extend(base)
        self.content = {**self.content, "base": base["base"]}
        self.as_json = msgspec.json.encode(self.content).decode()

    def _extended(
        self, path: Path, base: Mapping[str, object], own: Mapping[str, object]
    ) -> dict[str, object]:
        extended = dict(base)
        for name, value in own.items():
            former = base.get(name)
            if isinstance(former, dict) and isinstance(value, dict):
                extended[name] = self._extended((*path, name), former, value)
            elif name in _REPLACED:
                extended[name] = value
            elif isinstance(former, list) and isinstance(value, list):
                extended[name] = [*former, *value]
            elif former in (None, value) or not path or (len(path) == _SET and name == "type"):
                extended[name] = value
            else:
                self.fault((*path, name), problems.IN_BASE(name=name))
        return extended

    def fault(self, path: Path, error: OperatorError) -> None:
        """Add a fault of the value that a path leads to."""
        self._faults.append((self._offset(path), error))

    def unknown(self, path: Path, what: str, name: str, known: Sequence[str]) -> None:
        """Add the fault that a name does not exist, with the nearest that does."""
        listed, suggested = ", ".join(known), suggestion(name, known)
        error = problems.UNKNOWN_NAME(suggested=suggested, what=what, name=name, listed=listed)
        self.fault(path, error)

    @property
    def has_faults(self) -> bool:
        """Whether a fault was added."""
        return bool(self._faults)

    def faults(self) -> OperatorError:
        """The error with all faults, in the order of the file."""
        faults = sorted(self._faults, key=itemgetter(0))
        # a name may be compared with others more than once
        details = list(dict.fromkeys(f"{self._place(at)}: {each}" for at, each in faults))
        error = problems.CATALOG_FAULTS(name=self.name, count=len(details))
        error.details = details
        return error

    def options(self) -> FileOptions:
        """The options of the file, without the tables that lack one that they need.

        Each that is unknown, not valid or missing is a fault.
        """
        found = self._options((), self.content, FileOptions)
        if found is None:
            raise self.faults()
        return found

    def _options(self, path: Path, given: object, kind: type[T]) -> T | None:
        """The options of a table; None if it lacks one that it needs."""
        if not isinstance(given, dict):
            self.fault(path, problems.NOT_A_TABLE(name=path[-1]))
            return None
        declared = _fields(kind)
        values: dict[str, object] = {}
        for name, value in given.items():
            at = (*path, name)
            if name not in declared:
                self.unknown(at, "option", name, list(declared))
                continue
            field, inner = declared[name]
            if inner is TableOptions:
                values[name] = self._options(at, value, inner)
            elif inner is not None and isinstance(value, dict):
                values[name] = self._named(at, value, inner)
            else:
                try:
                    values[name] = msgspec.convert(value, field.type)
                except msgspec.ValidationError as error:
                    self.fault(at, problems.INVALID_OPTION(name=name, reason=str(error)))
        needed = [name for name, (field, _) in declared.items() if field.required]
        for name in needed:
            if name not in given:
                self.fault(path, problems.MISSING_OPTION(name=name, table=".".join(path)))
        return kind(**values) if values.keys() >= set(needed) else None

    def _named(self, path: Path, given: Mapping[str, object], kind: type[T]) -> dict[str, T]:
        """The tables of a table by name, without those that lack an option."""
        found = {}
        most, (short, option) = LONGEST.get(kind, NAME_BYTES), SHORT.get(kind, (dict, ""))
        for name, each in given.items():
            at = (*path, name)
            if not NAME.fullmatch(name) or len(name.encode()) > most:
                self.fault(at, problems.NOT_AN_IDENTIFIER(name=name, most=most))
            is_short = option and isinstance(each, short)
            options = self._options(at, {option: each} if is_short else each, kind)
            if options is None:
                self.refused.add(name)
            else:
                found[name] = options
        self.check_names(path, list(found))
        return found

    def check_names(self, path: Path, names: Sequence[str]) -> None:
        """Add the fault that a name is that of another one in any case."""
        former: dict[str, str] = {}
        for name in names:
            other = former.setdefault(name.lower(), name)
            if other != name or names.count(name) > 1:
                self.fault((*path, name), problems.SAME_NAME(name=name, other=other))

    def _offset(self, path: Path) -> int:
        """The offset of the key of a value: that of the nearest table in which it is."""
        for length in range(len(path), 0, -1):
            at = self._offsets.get(path[:length])
            if at is not None:
                end = self._text.find("\n", at)
                for each in path[length:]:
                    found = re.compile(rf"(?<!\w){re.escape(each)}\s*=").search(self._text, at, end)
                    at = found.start() if found else at
                return at
        return 0

    def _place(self, offset: int) -> str:
        before = self._text[:offset]
        column = offset - (before.rfind("\n") + 1)
        return f"{self.name}:{before.count(chr(10)) + 1}:{column + 1}"


@cache
def _fields(
    kind: type[msgspec.Struct],
) -> Mapping[str, tuple[FieldInfo, type[msgspec.Struct] | None]]:
    """The options of a table; those that are tables, or tables by name, with the kind of these."""
    hints = get_type_hints(kind)
    # one within a field is checked as its value
    inner = {
        name: each
        for name, hint in hints.items()
        for each in get_args(hint)
        if each in TABLES and each is not NamedOptions
    }
    return {each.name: (each, inner.get(each.name)) for each in msgspec.structs.fields(kind)}


def _offsets(text: str) -> Iterator[tuple[Path, int]]:
    """The offsets of tables and keys that begin a line."""
    table: Path = ()
    for each in _LINE.finditer(text):
        name = "table" if each["table"] else "key"
        path = tuple(part.strip("\"'") for part in _PART.findall(each[name]))
        if name == "table":
            table = path
        else:
            path = (*table, *path)
        yield path, each.start(name)
