"""The model: entity types, entity sets and their rules (CSDL 4.01, sections 6 to 8 and 13)."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from comptoir.edm.types import UNIQUE_TEXT_LENGTH, Base64Text, PrimitiveType, Stored, Text

NAMESPACE = "Comptoir"
"""The namespace of the types, in `$metadata` and in responses."""


class Company(msgspec.Struct, frozen=True):
    """A company that exists: its id, and the incarnation that the tags of its records contain."""

    id: str
    incarnation: str


@dataclass(frozen=True, eq=False, slots=True)
class Property:
    """One field of a record, as the contract spells it.

    `required`: not empty, on create and on update. `modified_at`: computed, the time of the last
    change; `kept_on_create` lets a create's body set it all the same. `numbered`: takes the next
    free number when a create leaves it out. `secret`: kept out of logs, change records, queries
    and dumps. `suggested`: values that users know, offered and never enforced.
    """

    name: str
    type: PrimitiveType
    description: str = ""
    required: bool = False
    modified_at: bool = False
    kept_on_create: bool = False
    numbered: bool = False
    secret: bool = False
    suggested: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class NavigationProperty:
    """A relation to records of a set: those whose properties equal the record's own.

    `on` pairs a property of the record with one of the related records; a blank value relates to
    nothing. The related records' other properties equal `only`. A relation to many is a
    `collection`, one to a single record finds at most one.
    """

    name: str
    target: str
    on: tuple[str, str]
    description: str = ""
    collection: bool = True
    only: Mapping[str, Stored] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class UniqueRule:
    """Properties whose values no two records of a company share.

    `blank_is_free`: records with an empty value are not compared (a rule of one property).
    """

    properties: tuple[str, ...]
    blank_is_free: bool = False

    @property
    def name(self) -> str:
        """The rule as errors name it: its properties, in order."""
        return ", ".join(self.properties)


KeyValues = tuple[Stored, ...]
"""Values of a key or of a unique rule, in the order of its properties."""


@dataclass(frozen=True, eq=False, slots=True)
class Computed:
    """`target` is `rule(source)` whenever the source changes and the body leaves the target out."""

    target: str
    source: str
    rule: Callable[[Stored], Stored]
    meaning: str


@dataclass(frozen=True, eq=False, slots=True)
class Followed:
    """`target` takes `value` of the record of the same kind that `reference` names.

    The named record is the one whose `named_by` equals the reference and whose properties equal
    `only`; it may be the record itself. While there is none, the target is an ordinary field.
    """

    target: str
    reference: str
    named_by: str
    value: str
    only: Mapping[str, Stored]
    meaning: str


Derivation = Computed | Followed


@dataclass(frozen=True, eq=False, slots=True)
class EntityType:
    """A kind of record: its properties in the contract's order, its key, its rules.

    `indexes` are the property lists, beside key and unique rules, by which records are looked up.
    """

    name: str
    description: str
    properties: tuple[Property, ...]
    key: str = "id"
    unique: tuple[UniqueRule, ...] = ()
    indexes: tuple[tuple[str, ...], ...] = ()
    derivations: tuple[Derivation, ...] = ()
    navigation: tuple[NavigationProperty, ...] = ()
    by_name: Mapping[str, Property] = field(init=False)
    related: Mapping[str, NavigationProperty] = field(init=False)
    column_of: Mapping[str, int] = field(init=False)
    """The index in a stored row of each property's value; index 0 is the record's version."""
    modified_at: Property | None = field(init=False)
    """The property that holds the time of the last change, if the kind has one."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {each.name: each for each in self.properties})
        object.__setattr__(self, "related", {each.name: each for each in self.navigation})
        columns = {each.name: column for column, each in enumerate(self.properties, 1)}
        object.__setattr__(self, "column_of", columns)
        stamp = next((each for each in self.properties if each.modified_at), None)
        object.__setattr__(self, "modified_at", stamp)

    @property
    def key_property(self) -> Property:
        """The property that is the key."""
        return self.by_name[self.key]

    @property
    def searched(self) -> tuple[str, ...]:
        """The properties that a search looks in: text, but neither secret nor an encoding."""
        return tuple(
            each.name
            for each in self.properties
            if isinstance(each.type, Text)
            and not isinstance(each.type, Base64Text)
            and not each.secret
        )


class ModelFault(Exception):  # noqa: N818 - names the declaration that is wrong
    """A declaration that contradicts itself or the rest of the model."""


@dataclass(frozen=True, eq=False, slots=True)
class View:
    """A set without records of its own: each is a record of `base`, under other names."""

    base: str
    columns: Mapping[str, str]
    """Property of the view to property of the base."""


@dataclass(frozen=True, eq=False, slots=True)
class PairFilter:
    """Filter-only properties in numbered pairs, `name<n>` and `value<n>`, that must all hold.

    A pair holds for a record when the `carrier` set has a record whose `carrier_reference` equals
    the record's `reference`, whose `carrier_name` equals the pair's name, and whose
    `carrier_value` equals its value (any value when the pair gives a name alone).
    """

    name: str
    value: str
    count: int
    carrier: str
    reference: str
    carrier_reference: str
    carrier_name: str
    carrier_value: str

    @property
    def names(self) -> tuple[str, ...]:
        """The filter-only properties, pair by pair."""
        numbers = range(1, self.count + 1)
        return tuple(f"{name}{number}" for number in numbers for name in (self.name, self.value))


@dataclass(frozen=True, eq=False, slots=True)
class EntitySet:
    """A resource: a name in the path and the kind of record that it holds.

    `read_only`: filled by loading alone. `per_company`: reached under a company. `create_guarded`:
    creating needs a precondition (operation 6). `single_inline`: the one record that matches also
    stands at the top of a collection (operation 7). `key_narrows`: a key narrows the collection,
    the all-zero one to nothing (operation 9).
    """

    name: str
    type: EntityType
    read_only: bool = False
    per_company: bool = True
    view: View | None = None
    pair_filter: PairFilter | None = None
    create_guarded: bool = False
    single_inline: bool = False
    key_narrows: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Model:
    """Every entity set by its name; raises `ModelFault` for a declaration that cannot hold."""

    sets: tuple[EntitySet, ...]
    by_name: Mapping[str, EntitySet] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {each.name: each for each in self.sets})
        for fault in self._faults():
            raise ModelFault(fault)

    @property
    def companies(self) -> EntitySet:
        """The set of companies, under whose members the other sets stand."""
        return next(each for each in self.sets if not each.per_company)

    @property
    def per_company(self) -> tuple[EntitySet, ...]:
        """The sets under a company."""
        return tuple(each for each in self.sets if each.per_company)

    def contained(self, entity_set: EntitySet) -> Mapping[str, EntitySet]:
        """The sets that each record of a set contains, by name: those of a company, or none."""
        return {} if entity_set.per_company else {each.name: each for each in self.per_company}

    @property
    def stored(self) -> tuple[EntitySet, ...]:
        """The sets under a company that hold records of their own: what is loaded and dumped."""
        return tuple(each for each in self.sets if each.per_company and each.view is None)

    def _faults(self) -> Iterator[str]:
        if len(self.by_name) != len(self.sets):
            yield "two entity sets have one name"
        for entity_set in self.sets:
            for fault in _type_faults(entity_set.type):
                yield f"{entity_set.name}: {fault}"
            for fault in self._reference_faults(entity_set):
                yield f"{entity_set.name}: {fault}"

    def _reference_faults(self, entity_set: EntitySet) -> Iterator[str]:
        view, pairs = entity_set.view, entity_set.pair_filter
        if view is not None:
            base = self.by_name.get(view.base)
            if base is None or base.view is not None:
                yield f"the view's base {view.base} is no stored set"
            elif set(view.columns) != set(entity_set.type.by_name) or not (
                set(view.columns.values()) <= set(base.type.by_name)
            ):
                yield "the view's columns are not its properties, or not the base's"
            if not entity_set.read_only:
                yield "a view is read-only"
        for each in entity_set.type.navigation:
            target = self.by_name.get(each.target)
            own, other = each.on
            if target is None or not {other, *each.only} <= set(target.type.by_name):
                yield f"the navigation {each.name} leads to {each.target}, which lacks a property"
            elif own not in entity_set.type.by_name or each.name in entity_set.type.by_name:
                yield f"the navigation {each.name} starts at no property, or has the name of one"
        if pairs is not None:
            carrier = self.by_name.get(pairs.carrier)
            needed = {pairs.carrier_reference, pairs.carrier_name, pairs.carrier_value}
            if carrier is None or not needed <= set(carrier.type.by_name):
                yield f"the pairs' carrier {pairs.carrier} lacks a property that they need"
            if pairs.reference not in entity_set.type.by_name:
                yield f"the pairs' reference {pairs.reference} is no property"


def _type_faults(kind: EntityType) -> Iterator[str]:
    if len(kind.by_name) != len(kind.properties):
        yield "two properties have one name"
    named = {kind.key}.union(
        *(rule.properties for rule in kind.unique),
        *kind.indexes,
        *(
            {each.target, each.reference, each.named_by, each.value, *each.only}
            if isinstance(each, Followed)
            else {each.target, each.source}
            for each in kind.derivations
        ),
    )
    for name in sorted(named - set(kind.by_name)):
        yield f"the rules of {kind.name} name {name}, which is no property"
    for name in {kind.key}.union(*(rule.properties for rule in kind.unique)) & set(kind.by_name):
        held = kind.by_name[name].type
        if isinstance(held, Text) and (held.max_length or 0) != UNIQUE_TEXT_LENGTH:
            yield f"{name} stands in a key or a unique rule and must be a CODE"
    for rule in kind.unique:
        if rule.blank_is_free and len(rule.properties) != 1:
            yield f"the rule ({rule.name}) cannot leave blanks free: it has several properties"
    if sum(each.modified_at for each in kind.properties) > 1:
        yield "two properties hold the time of the last change"
