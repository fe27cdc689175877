"""Builds a model from the source of a catalog, and the tables of Business Central in it."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cache
from math import isfinite
from typing import TypeVar

import msgspec

from comptoir.catalog.expressions import parse
from comptoir.catalog.options import (
    ActionOptions,
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
    Action,
    Calculated,
    Derivation,
    EntitySet,
    EntityType,
    Followed,
    Model,
    NavigationProperty,
    Property,
    Reference,
    UniqueRule,
)
from comptoir.edm.numbers import DIGITS, INT32, SCALE, WHOLE_DIGITS, DecimalNumber, Int32
from comptoir.edm.times import DATE, INSTANT
from comptoir.edm.types import (
    BASE64_TEXT,
    BOOLEAN,
    GUID,
    STREAM,
    TEXT,
    TEXT_LENGTH,
    UNIQUE_TEXT_LENGTH,
    CodeText,
    EdmError,
    EnumText,
    Guid,
    PrimitiveType,
    Stored,
    Text,
    encoded_name,
)
from comptoir.errors import operator_rows as problems
from comptoir.jsonvalue import Json
from comptoir.profiles.record import Enumeration, EnumMember, FieldRule, Relation, TableRule, Values

TYPES: Mapping[str, PrimitiveType] = {
    "String": TEXT,
    "Guid": GUID,
    "Boolean": BOOLEAN,
    "Int32": INT32,
    "Date": DATE,
    "DateTimeOffset": INSTANT,
    "Base64": BASE64_TEXT,
    "Stream": STREAM,
}
_STRING = re.compile(r"String\((\d{1,9})\)")
_DECIMAL = re.compile(r"Decimal\((\d{1,2}),(\d)\)")
_FOLLOWED = re.compile(r"(\w+)/(\w+)")
NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
"""A simple identifier (CSDL 4.01, section 15.2) of the letters that paths have."""

_MEMBER = re.compile(r"[^\W\d]\w*")
"""A simple identifier."""

NAME_BYTES = 128
"""The most bytes of other names."""

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

# fmt: off
RESERVED_SETS = (
    "companies", "subscriptions", "entityDefinitions",
    "assertions", "audit", "changes", "client_keys", "client_secrets", "clients", "console_codes",
    "console_guesses", "console_sessions", "control", "copies", "issuers", "lanes", "loads",
    "rehearsal", "repeats", "revoked", "roles", "search_documents", "search_marks", "subscribed",
)
"""The names below a service root that the service needs, and those of its own tables."""

RESERVED_PROPERTIES = (
    "company_id", "record_version", "record_json", "json_version", "json_layout",
    "cmax", "cmin", "ctid", "tableoid", "xmax", "xmin",
)
"""The names of the columns that the service and PostgreSQL add to each table of records."""
# fmt: on

LONGEST: Mapping[type[msgspec.Struct], int] = {SetOptions: 56, PropertyOptions: 63}
"""The most bytes of the names of tables, from which those of indexes are made, and columns."""

_SOURCE = "microsoft/BCApps src/Layers/W1/BaseApp/{}.{}.al"

_SHORT: Mapping[type[msgspec.Struct], tuple[type, str]] = {
    PropertyOptions: (str, "type"),
    EnumOptions: (list, "members"),
}
"""The tables that may be written as the value of one of their options."""

_DEFAULTS = {each.name: each.default for each in msgspec.structs.fields(PropertyOptions)}
"""The value of each option of a property that is not given."""

_IN_KEY, _STREAM = "a place in a key", "the type Stream"
_NEEDED_TYPES: Mapping[str, tuple[str, ...]] = {
    "modified_at": ("DateTimeOffset",),
    "created_at": ("DateTimeOffset",),
    "numbered": ("Int32",),
    "digits": ("Int32",),
    "minimum": ("Int32", "Decimal"),
    "maximum": ("Int32", "Decimal"),
    "code": ("String",),
}
_CONTRADICTIONS: Mapping[str, tuple[str, ...]] = {
    _STREAM: (_IN_KEY, "required", "default", "immutable", "computed", "secret", "suggested"),
    _IN_KEY: ("default", "computed", "derived"),
    "required": ("default", "created_at", "computed", "derived"),
    "default": ("modified_at", "created_at", "numbered", "computed_default", "derived", "secret"),
    "computed": ("modified_at", "created_at", "numbered", "computed_default", "derived"),
    "immutable": ("modified_at", "created_at", "computed", "derived"),
    "numbered": ("minimum", "maximum"),
    "derived": ("computed_default",),
    "created_at": ("modified_at",),
}
"""The options of properties that a property with another one cannot have."""

T = TypeVar(
    "T", SetOptions, EnumOptions, PropertyOptions, NavigationOptions, ActionOptions, FieldOptions
)


@cache
def text_type(length: int) -> Text:
    """The type of texts of up to some characters."""
    return Text(length)


@cache
def decimal_type(precision: int, scale: int) -> DecimalNumber | None:
    """The type of numbers with some digits, and some of them decimals; None if they do not fit."""
    fits = precision > 0 and scale <= SCALE and 0 <= precision - scale <= WHOLE_DIGITS
    return DecimalNumber(precision, scale) if fits else None


@cache
def code_type(length: int) -> CodeText:
    """The type of codes of up to some characters."""
    return CodeText(length)


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
        self._check_names(("sets",), [*RESERVED_SETS, *self._sets])
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
                if_match=options.if_match,
                caption=options.list_caption,
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
                # a set that has the name of an alias is the one that requests mean
                if table.alias and table.alias not in self._sets:
                    self._check_names((*path, "alias"), [*self._sets, *aliases, table.alias])
                    aliases[table.alias] = name
        return Values(tables, aliases)

    def _each(self, path: Path, given: Table, kind: type[T]) -> dict[str, T]:
        """The tables of a table by name, without those that have faults."""
        found = {}
        for name, each in given.items():
            most = LONGEST.get(kind, NAME_BYTES)
            if not NAME.fullmatch(name) or len(name.encode()) > most:
                self._source.fault((*path, name), problems.NOT_AN_IDENTIFIER(name=name, most=most))
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
        names = [*TYPES, "Decimal", *types, container]
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

    def _is_text(self, set_name: str, name: str) -> bool:
        declared = self._properties[set_name].get(name)
        return declared is None or declared.type.startswith("String")

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
            elif rule.blank_is_free and not self._is_text(name, rule.name):
                needed = problems.NEEDS_TYPE(option="blank_is_free", type="String")
                self._source.fault((*path, "unique"), needed)
        for names in options.indexes:
            self._known((*path, "indexes"), name, names)
        self._known((*path, "columns"), name, options.columns)
        self._known((*path, "key") if options.key != "id" else path, name, [options.key])
        identifying = {options.key}.union(*(rule.properties for rule in unique))
        navigation = self._each((*path, "navigation"), options.navigation, NavigationOptions)
        columns = [*RESERVED_PROPERTIES, *self._properties[name]]
        self._check_names((*path, "properties"), columns)
        self._check_names((*path, "navigation"), [*self._properties[name], *navigation])
        actions = self._each((*path, "actions"), options.actions, ActionOptions)
        self._check_names((*path, "actions"), [*self._properties[name], *navigation, *actions])
        types = [*self._enums, *(each.type for each in self._sets.values())]
        for each in actions.keys() & types:
            self._source.fault(
                (*path, "actions", each), problems.SAME_NAME(name=each, other="a type")
            )
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
            derivations=self._derivations(path, name, navigation),
            navigation=tuple(
                self._navigation((*path, "navigation", each), name, each, given)
                for each, given in navigation.items()
            ),
            references=tuple(self._references(path, navigation)),
            actions=tuple(
                Action(each, dict(self._change((*path, "actions", each), name, given, properties)))
                for each, given in actions.items()
            ),
            caption=options.caption,
            columns=options.columns,
            namespace=self._namespace,
        )

    def _property(
        self, path: Path, name: str, options: PropertyOptions, identifies: bool
    ) -> Property:
        edm_type = self._edm_type(path, options)
        if edm_type is None:
            return Property(name, TEXT)
        if identifies and not isinstance(edm_type, Guid | Int32):
            length = edm_type.max_length if isinstance(edm_type, Text) else None
            if not isinstance(edm_type, Text) or length is None or length > UNIQUE_TEXT_LENGTH:
                self._source.fault(
                    path, problems.LONG_KEY(name=name, type=options.type, limit=UNIQUE_TEXT_LENGTH)
                )
            elif length != UNIQUE_TEXT_LENGTH:
                edm_type = type(edm_type)(length, stored_length=UNIQUE_TEXT_LENGTH)
        self._check_options(path, name, options, identifies=identifies)
        edm_type = self._bounded(path, options, edm_type)
        default = self._literal(path, "default", options.default, edm_type)
        if edm_type.bounds and default is None and not options.required:
            self._literal(path, "default", 0, edm_type)
        return Property(
            name,
            edm_type,
            options.description,
            required=options.required,
            default=default,
            modified_at=options.modified_at,
            created_at=options.created_at,
            kept_on_create=options.kept_on_create,
            numbered=options.numbered,
            immutable=options.immutable,
            computed=options.computed or bool(options.derived),
            secret=options.secret,
            suggested=options.suggested,
            caption=options.caption,
        )

    def _check_options(
        self, path: Path, name: str, options: PropertyOptions, *, identifies: bool
    ) -> None:
        """Add the faults that options do not fit the type, or each other."""
        family = options.type.partition("(")[0]
        given = {name for name, default in _DEFAULTS.items() if getattr(options, name) != default}
        for option, types in _NEEDED_TYPES.items():
            if option in given and family not in types:
                needed = problems.NEEDS_TYPE(option=option, type=" or ".join(types))
                self._source.fault(path, needed)
        given |= {_STREAM} if family == "Stream" else set()
        given |= {_IN_KEY} if identifies else set()
        for one in given & _CONTRADICTIONS.keys():
            for other in given.intersection(_CONTRADICTIONS[one]):
                problem = problems.CONTRADICTION(name=name, one=one, other=other)
                self._source.fault(path, problem)

    def _bounded(
        self, path: Path, options: PropertyOptions, edm_type: PrimitiveType
    ) -> PrimitiveType:
        if not isinstance(edm_type, Int32 | DecimalNumber):
            return edm_type
        least = self._literal(path, "minimum", options.minimum, edm_type)
        most = self._literal(path, "maximum", options.maximum, edm_type)
        if least is None and most is None:
            return edm_type
        bounded = edm_type.within(least, most)
        if bounded.least > bounded.most:
            problem = problems.INVALID_OPTION(name="minimum", reason="it exceeds maximum")
            self._source.fault((*path, "minimum"), problem)
        return bounded

    def _literal(
        self, path: Path, option: str, value: Json | float, edm_type: PrimitiveType
    ) -> Stored | None:
        """The stored form of the value of an option, None without one, or if it is a fault."""
        if value is None:
            return None
        if isinstance(value, float):
            value = Decimal(repr(value)) if isfinite(value) else repr(value)
        try:
            return edm_type.from_json(value)
        except EdmError as error:
            problem = problems.INVALID_OPTION(name=option, reason=f"{value} {error.problem}")
            self._source.fault((*path, option), problem)
            return None

    def _edm_type(self, path: Path, options: PropertyOptions) -> PrimitiveType | None:
        """The type of a property, None for one that does not exist."""
        if options.digits:
            return DIGITS
        text = _STRING.fullmatch(options.type)
        if options.code:
            return code_type(min(int(text[1]), TEXT_LENGTH) if text else TEXT_LENGTH)
        if text is not None and 0 < int(text[1]) <= TEXT_LENGTH:
            return text_type(int(text[1]))
        decimal = _DECIMAL.fullmatch(options.type)
        number = decimal_type(int(decimal[1]), int(decimal[2])) if decimal else None
        if number is not None:
            return number
        if options.type in self._enums:
            return self._enum_type(options.type)
        if options.type not in TYPES:
            known = [
                *TYPES,
                f"String(1) to String({TEXT_LENGTH})",
                f"Decimal(P,S) with up to {WHOLE_DIGITS} digits before the point, {SCALE} after it",
                *self._enums,
            ]
            self._source.unknown(path, "type", options.type, known)
        return TYPES.get(options.type)

    def _enum_type(self, name: str) -> PrimitiveType:
        """The enumeration as the type of properties."""
        members = _members(self._enums[name])
        if name not in self._enum_types and members:
            names = [encoded_name(each) for each, _ in members]
            self._check_names(("enums", name), names)
            for each in names:
                if not _MEMBER.fullmatch(each) or len(each) > UNIQUE_TEXT_LENGTH:
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
    ) -> tuple[Derivation, ...]:
        """The derivations, each after those that it depends on."""
        remaining = {
            target: each
            for target, given in self._properties[name].items()
            if (each := self._derivation(path, name, target, given, navigation)) is not None
        }
        ordered: list[Derivation] = []
        while ready := [
            target
            for target, each in remaining.items()
            if remaining.keys().isdisjoint(
                each.sources if isinstance(each, Calculated) else (each.reference,)
            )
        ]:
            ordered += [remaining.pop(each) for each in ready]
        for target in remaining:
            problem = problems.FOLLOWS_ITSELF(name=target, others=", ".join(remaining))
            self._source.fault((*path, "properties", target), problem)
        return tuple(ordered)

    def _derivation(
        self,
        path: Path,
        name: str,
        target: str,
        given: PropertyOptions,
        navigation: Mapping[str, NavigationOptions],
    ) -> Derivation | None:
        at, text = (*path, "properties", target), given.derived or given.computed_default
        if not text:
            return None
        followed = _FOLLOWED.fullmatch(text)
        if followed is not None and followed[1] in navigation:
            by = navigation[followed[1]]
            reference, named_by = next(iter(by.on.items()), ("", ""))
            if by.to != name:
                self._source.fault(at, problems.FOLLOWS_OTHERS(name=followed[1], set=name))
            elif self._known(at, name, [reference, named_by, followed[2], *by.only]):
                self._check_family(at, target, given, self._properties[name][followed[2]].type)
                return Followed(target, reference, named_by, followed[2], by.only, text)
            return None
        expression = parse(text)
        if expression is None:
            self._source.fault(at, problems.INVALID_EXPRESSION(expression=text))
        elif self._known(at, name, expression.names):
            for each in (target, *expression.names):
                self._check_family(at, each, self._properties[name][each], "String")
            return Calculated(target, expression.names, expression.value, text)
        return None

    def _check_family(self, path: Path, name: str, given: PropertyOptions, needed: str) -> None:
        """Add the fault that a property has another type, apart from its length."""
        family = needed.partition("(")[0]
        if given.type.partition("(")[0] != family:
            self._source.fault(path, problems.NEEDS_TYPE(option=name, type=family))

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
            contained=options.contained,
        )

    def _references(
        self, path: Path, navigation: Mapping[str, NavigationOptions]
    ) -> Iterator[Reference]:
        """What the navigation properties with `check` demand; checks those that contain records."""
        for name, options in navigation.items():
            at, target = (*path, "navigation", name), options.to.removesuffix("[]")
            declared = self._sets.get(target)
            is_many = options.to.endswith("[]")
            if options.check and (is_many or len(options.only) > 1):
                self._source.fault((*at, "check"), problems.NOT_CHECKED(to=options.to))
            elif options.check and declared is not None:
                only = next(iter(options.only.items()), None)
                caption = declared.caption or declared.type
                yield from (
                    Reference(own, target, other, caption, only)
                    for own, other in options.on.items()
                )
            is_view = declared is not None and declared.view is not None
            if options.contained and (is_view or not is_many):
                self._source.fault((*at, "contained"), problems.NOT_CONTAINED(to=options.to))

    def _change(
        self, path: Path, set_name: str, options: ActionOptions, properties: Mapping[str, Property]
    ) -> Iterator[tuple[str, Stored]]:
        """The values that an action sets, in stored form."""
        declared = self._sets[set_name]
        if declared.view is not None:
            self._source.fault(path, problems.ACTION_OF_VIEW(base=declared.view.base))
        for name, value in options.change.items():
            given, at = self._properties[set_name].get(name), (*path, "change")
            if given is None:
                self._known((*at, name), set_name, [name])
            elif name == declared.key or properties[name].is_stamp or given.derived:
                self._source.fault((*at, name), problems.NOT_CHANGED(name=name))
            else:
                stored = self._literal(at, name, value, properties[name].type)
                if stored is not None:
                    yield name, stored

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
