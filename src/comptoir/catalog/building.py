"""Builds a model from the source of a catalog."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import cache
from math import isfinite

import msgspec

from comptoir.catalog.options import (
    ActionOptions,
    NavigationOptions,
    PropertyOptions,
    SetOptions,
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
from comptoir.profiles.record import FieldOptions, TableRule, Values

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
_MEMBER = re.compile(r"[^\W\d]\w*")
"""A simple identifier."""

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


_SOURCE = "microsoft/BCApps src/Layers/W1/BaseApp/{}.Table.al"

_Text = Callable[[Mapping[str, Stored]], str]
"""The text that an expression has for a record."""

_MOST_PARTS = 300
"""The most names, literals and signs of an expression, which may be nested."""

_PART = r"\s*('(?:[^']|'')*'|\w+|[(),])"
_PARTS = re.compile(rf"(?:{_PART})+\s*")
_FUNCTIONS: Mapping[str, tuple[int, Callable[..., str]]] = {
    "toupper": (1, str.upper),
    "tolower": (1, str.lower),
    "trim": (1, str.strip),
    "concat": (2, str.__add__),
}
"""The functions and the number of their arguments; `toupper` makes SS of ß, as Unicode does."""


# properties of one type have the same object
_text_type, _code_type = cache(Text), cache(CodeText)


@cache
def _decimal_type(text: str) -> DecimalNumber | None:
    """The type of a text such as `Decimal(9,2)`; None for another, or if its digits do not fit."""
    found = _DECIMAL.fullmatch(text)
    precision, scale = (int(found[1]), int(found[2])) if found else (0, 0)
    fits = precision > 0 and scale <= SCALE and 0 <= precision - scale <= WHOLE_DIGITS
    return DecimalNumber(precision, scale) if fits else None


def family_of(declared: str) -> str:
    """A type without its limits."""
    return declared.partition("(")[0]


def build(source: Source) -> Model:
    """Build the model of a catalog; raises `OperatorError` with all faults of its source."""
    builder = _Builder(source)
    sets = sorted(builder.entity_sets(), key=lambda each: each.name.lower())
    tables = builder.tables()
    if source.has_faults:
        raise source.faults()
    file = builder.file
    companies = replace(_COMPANIES, type=replace(_COMPANY, namespace=file.namespace))
    return Model((companies, *sets), {}, file.container, tables, source.as_json)


class _Builder:
    """Builds the sets of a file one by one; what cannot be built is a fault of the source."""

    def __init__(self, source: Source) -> None:
        self._source, self._fault, self._check_names = source, source.fault, source.check_names
        self.file = source.options()
        self._sets, self._enums = self.file.sets, self.file.enums
        self._namespace = self.file.namespace
        self._check_names(("sets",), [*RESERVED_SETS, *self._sets])
        self._check_enums(self.file.container)
        self._enum_types: dict[str, EnumText] = {}

    def entity_sets(self) -> Iterator[EntitySet]:
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

    def _check_enums(self, container: str) -> None:
        """Add the faults of enumerations without members, or with the name of another element."""
        types = [each.type for each in self._sets.values()]
        names = [*TYPES, "Decimal", *types, container]
        taken = {each.lower(): each for each in names}
        for name, options in self._enums.items():
            path, other = ("enums", name), taken.get(name.lower())
            if not options.members:
                self._fault(path, problems.NO_MEMBERS(name=name))
            if other is not None:
                self._fault(path, problems.SAME_NAME(name=name, other=other))

    def _type(self, path: Path, name: str, options: SetOptions) -> EntityType:
        unique = [
            UniqueRule(each.properties, each.blank_is_free)
            if isinstance(each, UniqueOptions)
            else UniqueRule(each)
            for each in options.unique
        ]
        for rule in unique:
            self._known((*path, "unique"), name, rule.properties)
            single = options.properties.get(rule.name)
            if rule.blank_is_free and len(rule.properties) != 1:
                self._fault((*path, "unique"), problems.BLANK_OF_MANY(names=rule.name))
            elif rule.blank_is_free and single and not single.type.startswith("String"):
                needed = problems.NEEDS_TYPE(option="blank_is_free", type="String")
                self._fault((*path, "unique"), needed)
        for names in options.indexes:
            self._known((*path, "indexes"), name, names)
        self._known((*path, "columns"), name, options.columns)
        self._known((*path, "key") if options.key != "id" else path, name, [options.key])
        identifying = {options.key}.union(*(rule.properties for rule in unique))
        columns, navigation, actions = options.properties, options.navigation, options.actions
        self._check_names((*path, "properties"), [*RESERVED_PROPERTIES, *columns])
        self._check_names((*path, "navigation"), [*columns, *navigation])
        self._check_names((*path, "actions"), [*columns, *navigation, *actions])
        types = [*self._enums, *(each.type for each in self._sets.values())]
        for each in actions.keys() & types:
            self._fault((*path, "actions", each), problems.SAME_NAME(name=each, other="a type"))
        properties = {
            each: self._property((*path, "properties", each), each, given, each in identifying)
            for each, given in columns.items()
        }
        links = [
            self._navigation((*path, "navigation", each), name, each, given)
            for each, given in navigation.items()
        ]
        stamps = [each.name for each in properties.values() if each.modified_at]
        for stamp in stamps[1:]:
            self._fault((*path, "properties", stamp), problems.TWO_STAMPS(first=stamps[0]))
        return EntityType(
            options.type,
            options.description,
            tuple(properties.values()),
            key=options.key,
            unique=tuple(unique),
            indexes=options.indexes,
            derivations=self._derivations(path, name),
            navigation=tuple(each for each in links if each.on[0]),
            unserved={each.name: each for each in links if not each.on[0]},
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
                self._fault(
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
        family = family_of(options.type)
        given = {name for name, default in _DEFAULTS.items() if getattr(options, name) != default}
        for option, types in _NEEDED_TYPES.items():
            if option in given and family not in types:
                needed = problems.NEEDS_TYPE(option=option, type=" or ".join(types))
                self._fault(path, needed)
        given |= {_STREAM} if family == "Stream" else set()
        given |= {_IN_KEY} if identifies else set()
        for one in given & _CONTRADICTIONS.keys():
            for other in given.intersection(_CONTRADICTIONS[one]):
                problem = problems.CONTRADICTION(name=name, one=one, other=other)
                self._fault(path, problem)

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
            self._fault((*path, "minimum"), problem)
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
            self._fault((*path, option), problem)
            return None

    def _edm_type(self, path: Path, options: PropertyOptions) -> PrimitiveType | None:
        """The type of a property, None for one that does not exist."""
        if options.digits:
            return DIGITS
        text = _STRING.fullmatch(options.type)
        if options.code:
            return _code_type(min(int(text[1]), TEXT_LENGTH) if text else TEXT_LENGTH)
        if text is not None and 0 < int(text[1]) <= TEXT_LENGTH:
            return _text_type(int(text[1]))
        if (number := _decimal_type(options.type)) is not None:
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
        members = self._enums[name].captioned
        if name not in self._enum_types and members:
            names = [encoded_name(each) for each, _ in members]
            self._check_names(("enums", name), names)
            for each in names:
                if not _MEMBER.fullmatch(each) or len(each) > UNIQUE_TEXT_LENGTH:
                    self._fault(
                        ("enums", name), problems.NOT_A_MEMBER(name=each, limit=UNIQUE_TEXT_LENGTH)
                    )
            self._enum_types[name] = EnumText(
                members,
                named=True,
                stored_length=UNIQUE_TEXT_LENGTH,
                name=f"{self._namespace}.{name}",
            )
        return self._enum_types.get(name, TEXT)

    def _derivations(self, path: Path, name: str) -> tuple[Derivation, ...]:
        """The derivations, each after those that it depends on."""
        remaining = {
            target: each
            for target, given in self._sets[name].properties.items()
            if (each := self._derivation(path, name, target, given)) is not None
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
            self._fault((*path, "properties", target), problem)
        return tuple(ordered)

    def _derivation(
        self, path: Path, name: str, target: str, given: PropertyOptions
    ) -> Derivation | None:
        at, text = (*path, "properties", target), given.derived or given.computed_default
        if not text:
            return None
        followed, navigation = _FOLLOWED.fullmatch(text), self._sets[name].navigation
        if followed is not None and followed[1] in navigation:
            by = navigation[followed[1]]
            reference, named_by = next(iter(by.on.items()), ("", ""))
            if by.to != name or not by.on:
                self._fault(at, problems.FOLLOWS_OTHERS(name=followed[1], set=name))
            elif self._known(at, name, [reference, named_by, followed[2], *by.only]):
                self._check_family(at, target, given, self._sets[name].properties[followed[2]].type)
                return Followed(target, reference, named_by, followed[2], by.only, text)
            return None
        expression = _expression(text)
        if expression is None:
            self._fault(at, problems.INVALID_EXPRESSION(expression=text))
        elif self._known(at, name, expression[0]):
            for each in (target, *expression[0]):
                self._check_family(at, each, self._sets[name].properties[each], "String")
            return Calculated(target, *expression, text)
        return None

    def _check_family(self, path: Path, name: str, given: PropertyOptions, needed: str) -> None:
        """Add the fault that a property has another type, apart from its length."""
        if family_of(given.type) != family_of(needed):
            self._fault(path, problems.NEEDS_TYPE(option=name, type=family_of(needed)))

    def _navigation(
        self, path: Path, set_name: str, name: str, options: NavigationOptions
    ) -> NavigationProperty:
        target = options.to.removesuffix("[]")
        on = next(iter(options.on.items()), ("", ""))
        if len(options.on) > 1 or (options.only and not options.on):
            self._fault(path, problems.ONE_PAIR(name=name))
        elif self._has_set(path, target) and options.on:
            known = self._known(path, set_name, on[:1])
            if self._known(path, target, [on[1], *options.only]) and known:
                types = [
                    self._sets[each].properties[of].type
                    for each, of in zip((set_name, target), on, strict=True)
                ]
                if len(set(map(family_of, types))) > 1:
                    own, other = [f"{of} ({each})" for of, each in zip(on, types, strict=True)]
                    self._fault(path, problems.DIFFERENT_TYPES(name=name, own=own, other=other))
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
        """The references of navigation properties with `check`; checks containing ones too."""
        for name, options in navigation.items():
            at, target = (*path, "navigation", name), options.to.removesuffix("[]")
            declared = self._sets.get(target)
            is_many = options.to.endswith("[]")
            if options.check and (is_many or not options.on or len(options.only) > 1):
                self._fault((*at, "check"), problems.NOT_CHECKED(to=options.to))
            elif options.check and declared is not None:
                only = next(iter(options.only.items()), None)
                caption = declared.caption or declared.type
                for own, other in options.on.items():
                    yield Reference(own, target, other, caption, only)
            is_view = declared is not None and declared.view is not None
            if options.contained and (is_view or not is_many):
                self._fault((*at, "contained"), problems.NOT_CONTAINED(to=options.to))

    def _change(
        self, path: Path, set_name: str, options: ActionOptions, properties: Mapping[str, Property]
    ) -> Iterator[tuple[str, Stored]]:
        """The values that an action sets, in stored form."""
        declared = self._sets[set_name]
        if declared.view is not None:
            self._fault(path, problems.ACTION_OF_VIEW(base=declared.view.base))
        for name, value in options.change.items():
            given, at = self._sets[set_name].properties.get(name), (*path, "change")
            if given is None:
                self._known((*at, name), set_name, [name])
            elif name == declared.key or properties[name].is_stamp or given.derived:
                self._fault((*at, name), problems.NOT_CHANGED(name=name))
            else:
                stored = self._literal(at, name, value, properties[name].type)
                if stored is not None:
                    yield name, stored

    def _check_view(self, path: Path, name: str, options: SetOptions) -> None:
        view, at = options.view, (*path, "view")
        if view is None:
            return
        if self._has_set(at, view.base):
            if self._sets[view.base].view is not None or not options.read_only:
                self._fault(at, problems.INVALID_VIEW(name=name))
            self._known(at, view.base, view.columns.values())
        self._known(at, name, view.columns)
        for each in options.properties.keys() - view.columns.keys():
            self._fault(at, problems.NOT_IN_VIEW(name=each))

    def _check_pairs(self, path: Path, name: str, options: SetOptions) -> None:
        pairs, at = options.pair_filter, (*path, "pair_filter")
        if pairs is not None and self._has_set(at, pairs.carrier):
            needed = [pairs.carrier_reference, pairs.carrier_name, pairs.carrier_value]
            self._known(at, pairs.carrier, needed)
            self._known(at, name, [pairs.reference])

    def _known(self, path: Path, set_name: str, names: Iterable[str]) -> bool:
        """Whether a set has properties; adds a fault for each that it lacks."""
        known = self._sets[set_name].properties
        missing = [each for each in names if each not in known]
        for name in missing:
            if name not in self._source.refused:
                self._source.unknown(path, f"property of {set_name}", name, list(known))
        return not missing

    def _has_set(self, path: Path, name: str) -> bool:
        """Whether there is a set; adds a fault if not."""
        if name not in self._sets:
            self._source.unknown(path, "entity set", name, list(self._sets))
        return name in self._sets

    def tables(self) -> Values:
        """The tables of Business Central that the sets show."""
        tables: dict[str, TableRule] = {}
        aliases: dict[str, str] = {}
        for name, options in sorted(self._sets.items(), key=lambda each: each[0].lower()):
            path = ("sets", name, "business_central")
            table = options.business_central
            if table is not None:
                tables[name] = self._table(path, name, table)
                # a set that has the name of an alias is the one that requests mean
                if table.alias and table.alias not in self._sets:
                    self._check_names((*path, "alias"), [*self._sets, *aliases, table.alias])
                    aliases[table.alias] = name
        return Values(tables, {name: each.captioned for name, each in self._enums.items()}, aliases)

    def _table(self, path: Path, name: str, options: TableOptions) -> TableRule:
        used_in, declared = list(options.used_in.items()), self._sets[name].properties
        for field, given in options.properties.items():
            place = (*path, "properties", field)
            if self._known(place, name, [field]):
                self._check_narrowed(place, field, given, declared[field].type)
            self._check_field(place, name, given)
        for set_name, referrer in used_in:
            if self._has_set((*path, "used_in"), set_name):
                self._known((*path, "used_in"), set_name, [referrer])
        for period in options.periods:
            self._known((*path, "periods"), name, period)
        return TableRule(
            options.table,
            options.caption,
            _SOURCE.format(options.source),
            options.properties,
            periods=options.periods,
            used_in=tuple(used_in),
        )

    def _check_field(self, path: Path, set_name: str, options: FieldOptions) -> None:
        """Add the faults of names that a field refers to."""
        if options.enum and options.enum not in self._enums:
            self._source.unknown(path, "enumeration", options.enum, list(self._enums))
        named = options.names
        if named is not None:
            if self._has_set(path, named.set):
                self._known(path, named.set, [named.by, *named.only])
            self._known(path, set_name, named.when)

    def _check_narrowed(self, path: Path, name: str, options: FieldOptions, declared: str) -> None:
        """Add the fault that a field accepts what the type of its property does not."""
        if options.length is None and not options.enum:
            return
        text = _STRING.fullmatch(declared)
        most = int(text[1]) if text else TEXT_LENGTH
        if family_of(declared) != "String" or (options.length or 0) > most:
            self._fault(path, problems.NOT_NARROWER(name=name, type=declared))


def _expression(text: str) -> tuple[tuple[str, ...], _Text] | None:
    """The names of properties in an expression such as `concat(toupper(name),'!')`, and its text.

    None for one without names, or a long one.
    """
    parts = re.findall(_PART, text)[::-1]
    if _PARTS.fullmatch(text) is None or len(parts) > _MOST_PARTS:
        return None
    names: dict[str, None] = {}
    try:
        value = _operand(parts, names)
    except (LookupError, ValueError):
        return None
    return None if parts or not names else (tuple(names), value)


def _operand(parts: list[str], names: dict[str, None]) -> _Text:
    """Take an operand off the end of the parts, whose order is reversed.

    Raises `LookupError` or `ValueError` if they are not an operand.
    """
    first = parts.pop()
    if first in "(),":
        raise ValueError(first)
    if first.startswith("'"):
        literal = first[1:-1].replace("''", "'")
        return lambda _: literal
    if parts[-1:] != ["("]:
        names[first] = None
        return lambda record: str(record[first])
    count, function = _FUNCTIONS[first]
    arguments: list[_Text] = []
    for mark in ["(", *[","] * (count - 1)]:
        if parts.pop() != mark:
            raise ValueError(mark)
        arguments.append(_operand(parts, names))
    if parts.pop() != ")":
        raise ValueError(first)
    return lambda record: function(*[each(record) for each in arguments])
