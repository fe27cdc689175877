"""What a catalog declares: its sets, their properties and its enumerations, by their names."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from comptoir.catalog.options import (
    ActionOptions,
    EnumOptions,
    FieldOptions,
    FileOptions,
    NavigationOptions,
    PropertyOptions,
    SetOptions,
    Table,
)
from comptoir.catalog.source import Path, Source
from comptoir.errors import operator_rows as problems

STRING = re.compile(r"String\((\d{1,9})\)")
NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
"""A simple identifier (CSDL 4.01, section 15.2) of the letters that paths have."""

NAME_BYTES = 128
"""The most bytes of other names."""

LONGEST: Mapping[type[msgspec.Struct], int] = {SetOptions: 56, PropertyOptions: 63}
"""The most bytes of the names of tables, from which those of indexes are made, and columns."""

_SHORT: Mapping[type[msgspec.Struct], tuple[type, str]] = {
    PropertyOptions: (str, "type"),
    EnumOptions: (list, "members"),
}
"""The tables that may be written as the value of one of their options."""

T = TypeVar(
    "T", SetOptions, EnumOptions, PropertyOptions, NavigationOptions, ActionOptions, FieldOptions
)


class Declarations:
    """The names in a file and their options; what is not in order is a fault of the source."""

    def __init__(self, source: Source, file: FileOptions) -> None:
        self.source = source
        self.sets = self.each_of(("sets",), file.sets, SetOptions)
        self.enums = self.each_of(("enums",), file.enums, EnumOptions)
        self.properties = {
            name: self.each_of(("sets", name, "properties"), each.properties, PropertyOptions)
            for name, each in self.sets.items()
        }

    def each_of(self, path: Path, given: Table, kind: type[T]) -> dict[str, T]:
        """The tables of a table by name, without those that have faults."""
        found = {}
        for name, each in given.items():
            most = LONGEST.get(kind, NAME_BYTES)
            if not NAME.fullmatch(name) or len(name.encode()) > most:
                self.source.fault((*path, name), problems.NOT_AN_IDENTIFIER(name=name, most=most))
            short, option = _SHORT.get(kind, (dict, ""))
            given_options = {option: each} if option and isinstance(each, short) else each
            options = self.source.options((*path, name), given_options, kind)
            if options is not None:
                found[name] = options
        self.check_names(path, list(found))
        return found

    def check_names(self, path: Path, names: Sequence[str]) -> None:
        """Add the fault that a name is that of another one in any case."""
        former: dict[str, str] = {}
        for name in names:
            other = former.setdefault(name.lower(), name)
            if other != name or names.count(name) > 1:
                self.source.fault((*path, name), problems.SAME_NAME(name=name, other=other))

    def known(self, path: Path, set_name: str, names: Iterable[str]) -> bool:
        """Whether a set has properties; adds a fault for each that it lacks."""
        known = self.sets[set_name].properties
        unknown = [name for name in names if name not in known]
        for name in unknown:
            self.source.unknown(path, f"property of {set_name}", name, list(known))
        return not unknown

    def has_set(self, path: Path, name: str) -> bool:
        """Whether there is a set; adds a fault if not."""
        if name not in self.sets:
            self.source.unknown(path, "entity set", name, list(self.sets))
        return name in self.sets
