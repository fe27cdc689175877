"""Builds a model from the source of a catalog, and the tables of Business Central in it."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TypeVar

import msgspec

from comptoir.catalog.options import (
    EnumOptions,
    FieldOptions,
    FileOptions,
    NamedOptions,
    NavigationOptions,
    PropertyOptions,
    SetOptions,
    Table,
    TableOptions,
    UniqueOptions,
)
from comptoir.catalog.source import Path, Source
from comptoir.edm.model import (
    Calculated,
    Derivation,
    EntitySet,
    EntityType,
    Followed,
    Model,
    NavigationProperty,
    Property,
    UniqueRule,
)
from comptoir.edm.numbers import DECIMAL, DIGITS, INT32, Int32
from comptoir.edm.times import DATE, INSTANT
from comptoir.edm.types import (
    BASE64_TEXT,
    BOOLEAN,
    GUID,
    TEXT,
    TEXT_LENGTH,
    UNIQUE_TEXT_LENGTH,
    EnumText,
    Guid,
    PrimitiveType,
    Stored,
    Text,
    encoded_name,
)
from comptoir.errors import operator_rows as problems
from comptoir.profiles.record import Enumeration, EnumMember, FieldRule, Relation, TableRule, Values

_TYPES: Mapping[str, PrimitiveType] = {
    "String": TEXT,
    "Guid": GUID,
    "Boolean": BOOLEAN,
    "Int32": INT32,
    "Decimal(18,5)": DECIMAL,
    "Date": DATE,
    "DateTimeOffset": INSTANT,
    "Base64": BASE64_TEXT,
}
_STRING = re.compile(r"String\((\d{1,9})\)")
_CALCULATED = re.compile(r"(\w+)\((\w+)\)")
_FOLLOWED = re.compile(r"(\w+)/(\w+)")
_NAME = re.compile(r"[^\W\d]\w{0,127}")
"""A simple identifier (CSDL 4.01, section 15.2)."""

_COMPANY = EntityType(
    name="company",
    description="A company. It contains all other records.",
    properties=(
        Property("id", GUID, "The company's key."),
        Property("name", TEXT, "The company's name.", required=True),
        Property("displayName", TEXT, "The name to display."),
        Property("lastModifiedDateTime", INSTANT, "The time of the last change.", modified_at=True),
    ),
)

_COMPANIES = EntitySet("companies", _COMPANY, read_only=True, per_company=False)
"""The set that belongs to the service and not to a file: companies, which contain all others."""

_RESERVED = ("companies", "subscriptions", "entityDefinitions")
"""The names below a service root and a company that the service needs."""

_SOURCE = "microsoft/BCApps src/Layers/W1/BaseApp/{}.{}.al"


_SHORT: Mapping[type[msgspec.Struct], tuple[type, str]] = {
    PropertyOptions: (str, "type"),
    EnumOptions: (list, "members"),
}
"""The tables that may be written as the value of one of their options."""

T = TypeVar("T", SetOptions, EnumOptions, PropertyOptions, NavigationOptions, FieldOptions)


@cache
def text_type(length: int) -> Text:
    """The type of texts of up to some characters."""
    return Text(length)


def _upper(value: Stored) -> Stored:
    """A text in upper case, by the rules of Unicode (ß becomes SS)."""
    return str(value).upper()


_FUNCTIONS: Mapping[str, Callable[[Stored], Stored]] = {"toupper": _upper}


def _members(options: EnumOptions) -> list[tuple[str, str]]:
    """The names and captions of an enumeration's members."""
    return [(each, each) if isinstance(each, str) else each for each in options.members]


def build(source: Source) -> Model:
    """Build the model of a catalog; raises `OperatorError` with all faults of its source."""
    file = source.options((), source.content, FileOptions)
    if file is None:
        raise source.faults()
    builder = _Builder(source, file)
    sets = sorted(builder.sets(), key=lambda each: each.name.lower())
    tables = builder.tables()
    if source.has_faults:
        raise source.faults()
    companies = replace(_COMPANIES, type=replace(_COMPANY, namespace=file.namespace))
    return Model((companies, *sets), {}, file.container, tables, source.as_json)


class _Builder:
    """Builds the sets of a file one by one; what cannot be built is a fault of the source."""

    def __init__(self, source: Source, file: FileOptions) -> None:
        self._source = source
        self._namespace = file.namespace
        self._sets = self._each(("sets",), file.sets, SetOptions)
        self._enums = self._each(("enums",), file.enums, EnumOptions)
        self._properties = {
            name: self._each(("sets", name, "properties"), each.properties, PropertyOptions)
            for name, each in self._sets.items()
        }
        self._check_names(("sets",), [*_RESERVED, *self._sets])
        self._check_enums(file.container)
        self._enum_types: dict[str, EnumText] = {}

    def sets(self) -> Iterator[EntitySet]:
        """The entity sets that have no fault."""
        for name, options in self._sets.items():
            path = ("sets", name)
            self._check_view(path, name, options)
            self._check_pairs(path, name, options)
            yield EntitySet(
                name,
                self._type(path, name, options),
                read_only=options.read_only,
                view=options.view,
                pair_filter=options.pair_filter,
                create_guarded=options.create_guarded,
                single_inline=options.single_inline,
                key_narrows=options.key_narrows,
            )

    def tables(self) -> Values:
        """The tables of Business Central that the sets show."""
        tables: dict[str, TableRule] = {}
        aliases: dict[str, str] = {}
        for name, options in sorted(self._sets.items(), key=lambda each: each[0].lower()):
            path = ("sets", name, "business_central")
            if options.business_central is None:
                continue
            table = self._source.options(path, options.business_central, TableOptions)
            if table is not None:
                tables[name] = self._table(path, name, table)
                self._check_names((*path, "alias"), [*self._sets, *aliases, table.alias])
                aliases |= {table.alias: name} if table.alias else {}
        return Values(tables, aliases)

    def _each(self, path: Path, given: Table, kind: type[T]) -> dict[str, T]:
        """The tables of a table by name, without those that have faults."""
        found = {}
        for name, each in given.items():
            if not _NAME.fullmatch(name):
                self._source.fault((*path, name), problems.NOT_AN_IDENTIFIER(name=name))
            short, option = _SHORT.get(kind, (dict, ""))
            given_options = {option: each} if option and isinstance(each, short) else each
            options = self._source.options((*path, name), given_options, kind)
            if options is not None:
                found[name] = options
        self._check_names(path, list(found))
        return found

    def _check_names(self, path: Path, names: Sequence[str]) -> None:
        """Add the fault that a name is that of another one in any case."""
        former: dict[str, str] = {}
        for name in names:
            other = former.setdefault(name.lower(), name)
            if other != name or names.count(name) > 1:
                self._source.fault((*path, name), problems.SAME_NAME(name=name, other=other))

    def _check_enums(self, container: str) -> None:
        """Add the faults of enumerations without members, or with the name of another element."""
        types = [each.type for each in self._sets.values()]
        names = [*(each.partition("(")[0] for each in _TYPES), *types, container]
        taken = {each.lower(): each for each in names}
        for name, options in self._enums.items():
            path, other = ("enums", name), taken.get(name.lower())
            if not options.members:
                self._source.fault(path, problems.NO_MEMBERS(name=name))
            if other is not None:
                self._source.fault(path, problems.SAME_NAME(name=name, other=other))

    def _known(self, path: Path, set_name: str, names: Iterable[str]) -> bool:
        """Whether a set has properties; adds a fault for each that it lacks."""
        known = self._sets[set_name].properties
        unknown = [name for name in names if name not in known]
        for name in unknown:
            self._source.unknown(path, f"property of {set_name}", name, list(known))
        return not unknown

    def _has_set(self, path: Path, name: str) -> bool:
        if name not in self._sets:
            self._source.unknown(path, "entity set", name, list(self._sets))
        return name in self._sets

    def _type(self, path: Path, name: str, options: SetOptions) -> EntityType:
        unique = [
            UniqueRule(each.properties, each.blank_is_free)
            if isinstance(each, UniqueOptions)
            else UniqueRule(each)
            for each in options.unique
        ]
        for rule in unique:
            self._known((*path, "unique"), name, rule.properties)
            if rule.blank_is_free and len(rule.properties) != 1:
                self._source.fault((*path, "unique"), problems.BLANK_OF_MANY(names=rule.name))
        for names in options.indexes:
            self._known((*path, "indexes"), name, names)
        self._known((*path, "key") if options.key != "id" else path, name, [options.key])
        identifying = {options.key}.union(*(rule.properties for rule in unique))
        navigation = self._each((*path, "navigation"), options.navigation, NavigationOptions)
        self._check_names((*path, "navigation"), [*self._properties[name], *navigation])
        properties = {
            each: self._property((*path, "properties", each), each, given, each in identifying)
            for each, given in self._properties[name].items()
        }
        stamps = [each.name for each in properties.values() if each.modified_at]
        for stamp in stamps[1:]:
            self._source.fault((*path, "properties", stamp), problems.TWO_STAMPS(first=stamps[0]))
        return EntityType(
            options.type,
            options.description,
            tuple(properties.values()),
            key=options.key,
            unique=tuple(unique),
            indexes=options.indexes,
            derivations=tuple(self._derivations(path, name, navigation)),
            navigation=tuple(
                self._navigation((*path, "navigation", each), name, each, given)
                for each, given in navigation.items()
            ),
            caption=options.caption,
            namespace=self._namespace,
        )

    def _property(
        self, path: Path, name: str, options: PropertyOptions, identifies: bool
    ) -> Property:
        edm_type = self._edm_type(path, options)
        if identifies and not isinstance(edm_type, Guid | Int32):
            if not isinstance(edm_type, Text) or (edm_type.max_length or 0) > UNIQUE_TEXT_LENGTH:
                self._source.fault(
                    path, problems.LONG_KEY(name=name, type=options.type, limit=UNIQUE_TEXT_LENGTH)
                )
            elif edm_type.max_length != UNIQUE_TEXT_LENGTH:
                edm_type = Text(edm_type.max_length, stored_length=UNIQUE_TEXT_LENGTH)
        for option, is_set, needed in (
            ("modified_at", options.modified_at, "DateTimeOffset"),
            ("numbered", options.numbered, "Int32"),
            ("digits", options.digits, "Int32"),
        ):
            if is_set and options.type != needed:
                self._source.fault(path, problems.NEEDS_TYPE(option=option, type=needed))
        return Property(
            name,
            edm_type,
            options.description,
            required=options.required,
            modified_at=options.modified_at,
            kept_on_create=options.kept_on_create,
            numbered=options.numbered,
            secret=options.secret,
            suggested=options.suggested,
            caption=options.caption,
        )

    def _edm_type(self, path: Path, options: PropertyOptions) -> PrimitiveType:
        if options.digits:
            return DIGITS
        text = _STRING.fullmatch(options.type)
        if text is not None and 0 < int(text[1]) <= TEXT_LENGTH:
            return text_type(int(text[1]))
        if options.type in self._enums:
            return self._enum_type(options.type)
        if options.type not in _TYPES:
            known = [*_TYPES, f"String(1) to String({TEXT_LENGTH})", *self._enums]
            self._source.unknown(path, "type", options.type, known)
        return _TYPES.get(options.type, TEXT)

    def _enum_type(self, name: str) -> PrimitiveType:
        """The enumeration as the type of properties."""
        members = _members(self._enums[name])
        if name not in self._enum_types and members:
            names = [encoded_name(each) for each, _ in members]
            self._check_names(("enums", name), names)
            for each in names:
                if not _NAME.fullmatch(each) or len(each) > UNIQUE_TEXT_LENGTH:
                    self._source.fault(
                        ("enums", name), problems.NOT_A_MEMBER(name=each, limit=UNIQUE_TEXT_LENGTH)
                    )
            self._enum_types[name] = EnumText(
                members,
                named=True,
                stored_length=UNIQUE_TEXT_LENGTH,
                name=f"{self._namespace}.{name}",
            )
        return self._enum_types.get(name, TEXT)

    def _derivations(
        self, path: Path, name: str, navigation: Mapping[str, NavigationOptions]
    ) -> Iterator[Derivation]:
        for target, given in self._properties[name].items():
            at, expression = (*path, "properties", target), given.computed_default
            calculated = _CALCULATED.fullmatch(expression)
            followed = _FOLLOWED.fullmatch(expression)
            if calculated is not None and calculated[1] in _FUNCTIONS:
                if self._known(at, name, [calculated[2]]):
                    function = _FUNCTIONS[calculated[1]]
                    yield Calculated(target, calculated[2], function, expression)
            elif followed is not None and followed[1] in navigation:
                by = navigation[followed[1]]
                ((reference, named_by),) = by.on.items()
                if by.to != name:
                    self._source.fault(at, problems.FOLLOWS_OTHERS(name=followed[1], set=name))
                elif self._known(at, name, [reference, named_by, followed[2], *by.only]):
                    yield Followed(target, reference, named_by, followed[2], by.only, expression)
            elif expression:
                self._source.fault(at, problems.INVALID_EXPRESSION(expression=expression))

    def _navigation(
        self, path: Path, set_name: str, name: str, options: NavigationOptions
    ) -> NavigationProperty:
        target = options.to.removesuffix("[]")
        on = next(iter(options.on.items()), ("", ""))
        if len(options.on) != 1:
            self._source.fault(path, problems.ONE_PAIR(name=name))
        elif self._has_set(path, target):
            known = self._known(path, set_name, on[:1])
            if self._known(path, target, [on[1], *options.only]) and known:
                self._check_comparable(path, (set_name, on[0]), (target, on[1]))
        return NavigationProperty(
            name,
            target,
            on,
            options.description,
            collection=options.to.endswith("[]"),
            only=options.only,
        )

    def _check_comparable(self, path: Path, one: tuple[str, str], other: tuple[str, str]) -> None:
        """Add the fault that two properties have types that are not compared."""
        found = [self._properties[set_name].get(name) for set_name, name in (one, other)]
        types = [each.type for each in found if each is not None]
        if len({each.partition("(")[0] for each in types}) > 1:
            self._source.fault(
                path,
                problems.DIFFERENT_TYPES(
                    name=path[-1], own=f"{one[1]} ({types[0]})", other=f"{other[1]} ({types[1]})"
                ),
            )

    def _check_view(self, path: Path, name: str, options: SetOptions) -> None:
        view, at = options.view, (*path, "view")
        if view is None:
            return
        if self._has_set(at, view.base):
            if self._sets[view.base].view is not None or not options.read_only:
                self._source.fault(at, problems.INVALID_VIEW(name=name))
            self._known(at, view.base, view.columns.values())
        self._known(at, name, view.columns)
        for each in self._properties[name].keys() - view.columns.keys():
            self._source.fault(at, problems.NOT_IN_VIEW(name=each))

    def _check_pairs(self, path: Path, name: str, options: SetOptions) -> None:
        pairs, at = options.pair_filter, (*path, "pair_filter")
        if pairs is not None and self._has_set(at, pairs.carrier):
            needed = [pairs.carrier_reference, pairs.carrier_name, pairs.carrier_value]
            self._known(at, pairs.carrier, needed)
            self._known(at, name, [pairs.reference])

    def _table(self, path: Path, name: str, options: TableOptions) -> TableRule:
        fields = self._each((*path, "properties"), options.properties, FieldOptions)
        used_in = list(options.used_in.items())
        for field in fields:
            self._known((*path, "properties", field), name, [field])
        for set_name, referrer in used_in:
            if self._has_set((*path, "used_in"), set_name):
                self._known((*path, "used_in"), set_name, [referrer])
        for period in options.periods:
            self._known((*path, "periods"), name, period)
        return TableRule(
            options.table,
            options.caption,
            _SOURCE.format(options.source, "Table"),
            {
                field: self._field((*path, "properties", field), name, field, given)
                for field, given in fields.items()
            },
            periods=options.periods,
            used_in=tuple(used_in),
        )

    def _field(self, path: Path, set_name: str, name: str, options: FieldOptions) -> FieldRule:
        enumeration = None
        if options.enum:
            if options.enum not in self._enums:
                self._source.unknown(path, "enumeration", options.enum, list(self._enums))
            else:
                enumeration = self._enumeration(options.enum)
        self._check_narrowed(path, set_name, name, options)
        relations = (
            () if options.names is None else (self._relation(path, set_name, options.names),)
        )
        return FieldRule(
            options.caption,
            options.length,
            code=options.code,
            enumeration=enumeration,
            relations=relations,
            mandatory=options.required,
            rule=options.form,
            confidence="ours" if options.ours else "code",
        )

    def _check_narrowed(self, path: Path, set_name: str, name: str, options: FieldOptions) -> None:
        """Add the fault that a field accepts what its property does not."""
        declared = self._properties[set_name].get(name)
        if declared is None or (options.length is None and not options.enum):
            return
        text = _STRING.fullmatch(declared.type)
        most = int(text[1]) if text else TEXT_LENGTH
        if declared.type.partition("(")[0] != "String" or (options.length or 0) > most:
            self._source.fault(path, problems.NOT_NARROWER(name=name, type=declared.type))

    def _enumeration(self, name: str) -> Enumeration:
        options = self._enums[name]
        source = _SOURCE.format(options.source, "Enum")
        return Enumeration(source, tuple(EnumMember(*each) for each in _members(options)))

    def _relation(self, path: Path, set_name: str, options: NamedOptions) -> Relation:
        if self._has_set(path, options.set):
            self._known(path, options.set, [options.by, *options.only])
        self._known(path, set_name, options.when)
        only, when = (next(iter(each.items()), None) for each in (options.only, options.when))
        return Relation(options.set, options.by, only, when)
