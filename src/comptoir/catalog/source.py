"""The source of a catalog: a file in TOML, the place of each key in it, and its faults."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Self, TypeVar

import msgspec

from comptoir.errors import operator_rows as problems
from comptoir.errors.messages import suggestion
from comptoir.errors.refusal import OperatorError

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

    def options(self, path: Path, given: object, kind: type[T]) -> T | None:
        """The options of a table; each that is unknown, not valid or missing is a fault.

        Returns None if it lacks an option that it needs.
        """
        if not isinstance(given, dict):
            self.fault(path, problems.NOT_A_TABLE(name=path[-1]))
            return None
        declared = _fields(kind)
        values: dict[str, object] = {}
        for name, value in given.items():
            if name not in declared:
                self.unknown((*path, name), "option", name, list(declared))
                continue
            try:
                values[name] = msgspec.convert(value, declared[name].type)
            except msgspec.ValidationError as error:
                invalid = problems.INVALID_OPTION(name=name, reason=str(error))
                self.fault((*path, name), invalid)
        missing = [name for name, each in declared.items() if each.required and name not in given]
        for name in missing:
            self.fault(path, problems.MISSING_OPTION(name=name, table=".".join(path)))
        is_complete = all(name in values for name, each in declared.items() if each.required)
        return kind(**values) if is_complete else None

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
def _fields(kind: type[msgspec.Struct]) -> Mapping[str, msgspec.structs.FieldInfo]:
    return {each.name: each for each in msgspec.structs.fields(kind)}


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
