"""The sets, properties and enumerations that a catalog declares by names, and their tables."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from comptoir.catalog.options import (
    ActionOptions,
    EnumOptions,
    FileOptions,
    NavigationOptions,
    PropertyOptions,
    SetOptions,
    Table,
    TableOptions,
)
from comptoir.catalog.source import Path, Source
from comptoir.edm.types import TEXT_LENGTH
from comptoir.errors import operator_rows as problems
from comptoir.profiles.record import FieldOptions, TableRule, Values

STRING = re.compile(r"String\((\d{1,9})\)")
NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
"""A simple identifier (CSDL 4.01, section 15.2) of the letters that paths have."""

_SOURCE = "microsoft/BCApps src/Layers/W1/BaseApp/{}.Table.al"

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

    def tables(self) -> Values:
        """The tables of Business Central that the sets show."""
        tables: dict[str, TableRule] = {}
        aliases: dict[str, str] = {}
        for name, options in sorted(self.sets.items(), key=lambda each: each[0].lower()):
            path = ("sets", name, "business_central")
            if options.business_central is None:
                continue
            table = self.source.options(path, options.business_central, TableOptions)
            if table is not None:
                tables[name] = self._table(path, name, table)
                # a set that has the name of an alias is the one that requests mean
                if table.alias and table.alias not in self.sets:
                    self.check_names((*path, "alias"), [*self.sets, *aliases, table.alias])
                    aliases[table.alias] = name
        return Values(tables, {name: each.captioned for name, each in self.enums.items()}, aliases)

    def _table(self, path: Path, name: str, options: TableOptions) -> TableRule:
        fields = self.each_of((*path, "properties"), options.properties, FieldOptions)
        used_in = list(options.used_in.items())
        for field, given in fields.items():
            place = (*path, "properties", field)
            self.known(place, name, [field])
            self._check_field(place, name, field, given)
        for set_name, referrer in used_in:
            if self.has_set((*path, "used_in"), set_name):
                self.known((*path, "used_in"), set_name, [referrer])
        for period in options.periods:
            self.known((*path, "periods"), name, period)
        return TableRule(
            options.table,
            options.caption,
            _SOURCE.format(options.source),
            fields,
            periods=options.periods,
            used_in=tuple(used_in),
        )

    def _check_field(self, path: Path, set_name: str, name: str, options: FieldOptions) -> None:
        """Add the faults of names that a field refers to, and of what it accepts."""
        if options.enum and options.enum not in self.enums:
            self.source.unknown(path, "enumeration", options.enum, list(self.enums))
        self._check_narrowed(path, set_name, name, options)
        named = options.names
        if named is not None:
            if self.has_set(path, named.set):
                self.known(path, named.set, [named.by, *named.only])
            self.known(path, set_name, named.when)

    def _check_narrowed(self, path: Path, set_name: str, name: str, options: FieldOptions) -> None:
        """Add the fault that a field accepts what its property does not."""
        declared = self.properties[set_name].get(name)
        if declared is None or (options.length is None and not options.enum):
            return
        text = STRING.fullmatch(declared.type)
        most = int(text[1]) if text else TEXT_LENGTH
        if declared.type.partition("(")[0] != "String" or (options.length or 0) > most:
            self.source.fault(path, problems.NOT_NARROWER(name=name, type=declared.type))
