"""Builds a model from the source of a catalog."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import cache
from math import isfinite

import msgspec

from comptoir.catalog.declarations import STRING, Declarations
from comptoir.catalog.options import (
    ActionOptions,
    FileOptions,
    NavigationOptions,
    PropertyOptions,
    SetOptions,
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
def decimal_type(precision: int, scale: int) -> DecimalNumber | None:
    """The type of numbers with some digits, and some of them decimals; None if they do not fit."""
    fits = precision > 0 and scale <= SCALE and 0 <= precision - scale <= WHOLE_DIGITS
    return DecimalNumber(precision, scale) if fits else None


def build(source: Source) -> Model:
    """Build the model of a catalog; raises `OperatorError` with all faults of its source."""
    file = source.options((), source.content, FileOptions)
    if file is None:
        raise source.faults()
    builder = _Builder(source, file)
    sets = sorted(builder.entity_sets(), key=lambda each: each.name.lower())
    tables = builder.tables()
    if source.has_faults:
        raise source.faults()
    companies = replace(_COMPANIES, type=replace(_COMPANY, namespace=file.namespace))
    return Model((companies, *sets), {}, file.container, tables, source.as_json)


class _Builder(Declarations):
    """Builds the sets of a file one by one; what cannot be built is a fault of the source."""

    def __init__(self, source: Source, file: FileOptions) -> None:
        super().__init__(source, file)
        self._namespace = file.namespace
        self.check_names(("sets",), [*RESERVED_SETS, *self.sets])
        self._check_enums(file.container)
        self._enum_types: dict[str, EnumText] = {}

    def entity_sets(self) -> Iterator[EntitySet]:
        """The entity sets that have no fault."""
        for name, options in self.sets.items():
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
        types = [each.type for each in self.sets.values()]
        names = [*TYPES, "Decimal", *types, container]
        taken = {each.lower(): each for each in names}
        for name, options in self.enums.items():
            path, other = ("enums", name), taken.get(name.lower())
            if not options.members:
                self.source.fault(path, problems.NO_MEMBERS(name=name))
            if other is not None:
                self.source.fault(path, problems.SAME_NAME(name=name, other=other))

    def _type(self, path: Path, name: str, options: SetOptions) -> EntityType:
        unique = [
            UniqueRule(each.properties, each.blank_is_free)
            if isinstance(each, UniqueOptions)
            else UniqueRule(each)
            for each in options.unique
        ]
        for rule in unique:
            self.known((*path, "unique"), name, rule.properties)
            single = self.properties[name].get(rule.name)
            if rule.blank_is_free and len(rule.properties) != 1:
                self.source.fault((*path, "unique"), problems.BLANK_OF_MANY(names=rule.name))
            elif rule.blank_is_free and single and not single.type.startswith("String"):
                needed = problems.NEEDS_TYPE(option="blank_is_free", type="String")
                self.source.fault((*path, "unique"), needed)
        for names in options.indexes:
            self.known((*path, "indexes"), name, names)
        self.known((*path, "columns"), name, options.columns)
        self.known((*path, "key") if options.key != "id" else path, name, [options.key])
        identifying = {options.key}.union(*(rule.properties for rule in unique))
        navigation = self.each_of((*path, "navigation"), options.navigation, NavigationOptions)
        columns = [*RESERVED_PROPERTIES, *self.properties[name]]
        self.check_names((*path, "properties"), columns)
        self.check_names((*path, "navigation"), [*self.properties[name], *navigation])
        actions = self.each_of((*path, "actions"), options.actions, ActionOptions)
        self.check_names((*path, "actions"), [*self.properties[name], *navigation, *actions])
        types = [*self.enums, *(each.type for each in self.sets.values())]
        for each in actions.keys() & types:
            self.source.fault(
                (*path, "actions", each), problems.SAME_NAME(name=each, other="a type")
            )
        properties = {
            each: self._property((*path, "properties", each), each, given, each in identifying)
            for each, given in self.properties[name].items()
        }
        links = [
            self._navigation((*path, "navigation", each), name, each, given)
            for each, given in navigation.items()
        ]
        stamps = [each.name for each in properties.values() if each.modified_at]
        for stamp in stamps[1:]:
            self.source.fault((*path, "properties", stamp), problems.TWO_STAMPS(first=stamps[0]))
        return EntityType(
            options.type,
            options.description,
            tuple(properties.values()),
            key=options.key,
            unique=tuple(unique),
            indexes=options.indexes,
            derivations=self._derivations(path, name, navigation),
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
                self.source.fault(
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
                self.source.fault(path, needed)
        given |= {_STREAM} if family == "Stream" else set()
        given |= {_IN_KEY} if identifies else set()
        for one in given & _CONTRADICTIONS.keys():
            for other in given.intersection(_CONTRADICTIONS[one]):
                problem = problems.CONTRADICTION(name=name, one=one, other=other)
                self.source.fault(path, problem)

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
            self.source.fault((*path, "minimum"), problem)
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
            self.source.fault((*path, option), problem)
            return None

    def _edm_type(self, path: Path, options: PropertyOptions) -> PrimitiveType | None:
        """The type of a property, None for one that does not exist."""
        if options.digits:
            return DIGITS
        text = STRING.fullmatch(options.type)
        if options.code:
            return _code_type(min(int(text[1]), TEXT_LENGTH) if text else TEXT_LENGTH)
        if text is not None and 0 < int(text[1]) <= TEXT_LENGTH:
            return _text_type(int(text[1]))
        decimal = _DECIMAL.fullmatch(options.type)
        number = decimal_type(int(decimal[1]), int(decimal[2])) if decimal else None
        if number is not None:
            return number
        if options.type in self.enums:
            return self._enum_type(options.type)
        if options.type not in TYPES:
            known = [
                *TYPES,
                f"String(1) to String({TEXT_LENGTH})",
                f"Decimal(P,S) with up to {WHOLE_DIGITS} digits before the point, {SCALE} after it",
                *self.enums,
            ]
            self.source.unknown(path, "type", options.type, known)
        return TYPES.get(options.type)

    def _enum_type(self, name: str) -> PrimitiveType:
        """The enumeration as the type of properties."""
        members = self.enums[name].captioned
        if name not in self._enum_types and members:
            names = [encoded_name(each) for each, _ in members]
            self.check_names(("enums", name), names)
            for each in names:
                if not _MEMBER.fullmatch(each) or len(each) > UNIQUE_TEXT_LENGTH:
                    self.source.fault(
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
            for target, given in self.properties[name].items()
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
            self.source.fault((*path, "properties", target), problem)
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
            if by.to != name or not by.on:
                self.source.fault(at, problems.FOLLOWS_OTHERS(name=followed[1], set=name))
            elif self.known(at, name, [reference, named_by, followed[2], *by.only]):
                self._check_family(at, target, given, self.properties[name][followed[2]].type)
                return Followed(target, reference, named_by, followed[2], by.only, text)
            return None
        expression = _expression(text)
        if expression is None:
            self.source.fault(at, problems.INVALID_EXPRESSION(expression=text))
        elif self.known(at, name, expression[0]):
            for each in (target, *expression[0]):
                self._check_family(at, each, self.properties[name][each], "String")
            return Calculated(target, *expression, text)
        return None

    def _check_family(self, path: Path, name: str, given: PropertyOptions, needed: str) -> None:
        """Add the fault that a property has another type, apart from its length."""
        family = needed.partition("(")[0]
        if given.type.partition("(")[0] != family:
            self.source.fault(path, problems.NEEDS_TYPE(option=name, type=family))

    def _navigation(
        self, path: Path, set_name: str, name: str, options: NavigationOptions
    ) -> NavigationProperty:
        target = options.to.removesuffix("[]")
        on = next(iter(options.on.items()), ("", ""))
        if len(options.on) > 1 or (options.only and not options.on):
            self.source.fault(path, problems.ONE_PAIR(name=name))
        elif self.has_set(path, target) and options.on:
            known = self.known(path, set_name, on[:1])
            if self.known(path, target, [on[1], *options.only]) and known:
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
        """The references of navigation properties with `check`; checks containing ones too."""
        for name, options in navigation.items():
            at, target = (*path, "navigation", name), options.to.removesuffix("[]")
            declared = self.sets.get(target)
            is_many = options.to.endswith("[]")
            if options.check and (is_many or not options.on or len(options.only) > 1):
                self.source.fault((*at, "check"), problems.NOT_CHECKED(to=options.to))
            elif options.check and declared is not None:
                only = next(iter(options.only.items()), None)
                caption = declared.caption or declared.type
                for own, other in options.on.items():
                    yield Reference(own, target, other, caption, only)
            is_view = declared is not None and declared.view is not None
            if options.contained and (is_view or not is_many):
                self.source.fault((*at, "contained"), problems.NOT_CONTAINED(to=options.to))

    def _change(
        self, path: Path, set_name: str, options: ActionOptions, properties: Mapping[str, Property]
    ) -> Iterator[tuple[str, Stored]]:
        """The values that an action sets, in stored form."""
        declared = self.sets[set_name]
        if declared.view is not None:
            self.source.fault(path, problems.ACTION_OF_VIEW(base=declared.view.base))
        for name, value in options.change.items():
            given, at = self.properties[set_name].get(name), (*path, "change")
            if given is None:
                self.known((*at, name), set_name, [name])
            elif name == declared.key or properties[name].is_stamp or given.derived:
                self.source.fault((*at, name), problems.NOT_CHANGED(name=name))
            else:
                stored = self._literal(at, name, value, properties[name].type)
                if stored is not None:
                    yield name, stored

    def _check_comparable(self, path: Path, one: tuple[str, str], other: tuple[str, str]) -> None:
        """Add the fault that two properties have types that are not compared."""
        found = [self.properties[set_name].get(name) for set_name, name in (one, other)]
        types = [each.type for each in found if each is not None]
        if len({each.partition("(")[0] for each in types}) > 1:
            self.source.fault(
                path,
                problems.DIFFERENT_TYPES(
                    name=path[-1], own=f"{one[1]} ({types[0]})", other=f"{other[1]} ({types[1]})"
                ),
            )

    def _check_view(self, path: Path, name: str, options: SetOptions) -> None:
        view, at = options.view, (*path, "view")
        if view is None:
            return
        if self.has_set(at, view.base):
            if self.sets[view.base].view is not None or not options.read_only:
                self.source.fault(at, problems.INVALID_VIEW(name=name))
            self.known(at, view.base, view.columns.values())
        self.known(at, name, view.columns)
        for each in self.properties[name].keys() - view.columns.keys():
            self.source.fault(at, problems.NOT_IN_VIEW(name=each))

    def _check_pairs(self, path: Path, name: str, options: SetOptions) -> None:
        pairs, at = options.pair_filter, (*path, "pair_filter")
        if pairs is not None and self.has_set(at, pairs.carrier):
            needed = [pairs.carrier_reference, pairs.carrier_name, pairs.carrier_value]
            self.known(at, pairs.carrier, needed)
            self.known(at, name, [pairs.reference])


def _expression(text: str) -> tuple[tuple[str, ...], _Text] | None:
    """The names of properties in an expression such as `concat(toupper(name),'!')`, and its text.

    None for one without names, or a long one.
    """
    parts = re.findall(_PART, text)[::-1]
    if _PARTS.fullmatch(text) is None or len(parts) > _MOST_PARTS:
        return None
    names: dict[str, None] = {}
    value = _operand(parts, names)
    return None if value is None or parts or not names else (tuple(names), value)


def _operand(parts: list[str], names: dict[str, None]) -> _Text | None:
    """Take an operand off the end of the parts, whose order is reversed."""
    first = parts.pop() if parts else ")"
    if first in "(),":
        return None
    if parts[-1:] == ["("]:
        return _call(first, parts, names)
    if first.startswith("'"):
        literal = first[1:-1].replace("''", "'")
        return lambda _: literal
    names[first] = None
    return lambda record: str(record[first])


def _call(name: str, parts: list[str], names: dict[str, None]) -> _Text | None:
    count, function = _FUNCTIONS.get(name, (0, str))
    arguments: list[_Text] = []
    while parts and parts.pop() in "(,":
        argument = _operand(parts, names)
        if argument is None or parts[-1:] not in ([","], [")"]):
            return None
        arguments.append(argument)
    if len(arguments) != count:
        return None
    return lambda record: function(*[each(record) for each in arguments])
