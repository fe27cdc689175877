"""The model: entity types, entity sets and their rules (CSDL 4.01, sections 6 to 8 and 13)."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from comptoir.edm.types import UNIQUE_TEXT_LENGTH, Base64Text, Guid, PrimitiveType, Stored, Text

NAMESPACE = "Comptoir"
"""The namespace of the types, in `$metadata` and in responses."""


class Company(msgspec.Struct, frozen=True):
    """A company that exists: its id, and the incarnation that the tags of its records contain."""

    id: str
    incarnation: str


@dataclass(frozen=True, eq=False, slots=True)
class Property:
    """A structural property (CSDL 4.01, section 7).

    `required`: never empty. `modified_at`: the time of the last change, which the service sets;
    with `kept_on_create` the body of a create may set it. `numbered`: the next free number if a
    create omits it. `secret`: excluded from logs, change records, queries and dumps. `suggested`:
    usual values; others are valid too.
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

    @property
    def is_computed(self) -> bool:
        """Whether only the service sets the value."""
        return self.modified_at and not self.kept_on_create

    @property
    def is_unlimited(self) -> bool:
        """Whether it is text of any length, by which records are neither sorted nor grouped."""
        return isinstance(self.type, Text) and self.type.max_length is None


@dataclass(frozen=True, eq=False, slots=True)
class NavigationProperty:
    """A relation to the records of the set `target` with an equal value (CSDL 4.01, section 8).

    `on` names a property of the record and the property of the related records that has the same
    value; an empty value relates no records. The related records also have the values of `only`.
    Without `collection` at most one record is related.
    """

    name: str
    target: str
    on: tuple[str, str]
    description: str = ""
    collection: bool = True
    only: Mapping[str, Stored] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class UniqueRule:
    """Properties whose values are unique among the records of a company: an alternate key.

    `blank_is_free`: several records may have an empty value (for a rule of one property).
    """

    properties: tuple[str, ...]
    blank_is_free: bool = False

    @property
    def name(self) -> str:
        """The names of the properties, for messages."""
        return ", ".join(self.properties)


KeyValues = tuple[Stored, ...]
"""Values of a key or of a unique rule, in the order of its properties."""


@dataclass(frozen=True, eq=False, slots=True)
class Calculated:
    """Sets `target` to `function(source)` if the source changes and the body omits the target."""

    target: str
    source: str
    function: Callable[[Stored], Stored]
    meaning: str


@dataclass(frozen=True, eq=False, slots=True)
class Followed:
    """Copies `value` to `target` from the record of the same entity type that `reference` names.

    That record has the value of `reference` in its property `named_by`, and the values of `only`.
    It may be the record itself. If there is none, the target is an ordinary property.
    """

    target: str
    reference: str
    named_by: str
    value: str
    only: Mapping[str, Stored]
    meaning: str


Derivation = Calculated | Followed


@dataclass(frozen=True, eq=False, slots=True)
class EntityType:
    """An entity type (CSDL 4.01, section 6): its properties in the order of responses, and rules.

    `indexes` are lists of properties with an index, besides the key and the unique rules.
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
    """The navigation properties by name."""
    column_of: Mapping[str, int] = field(init=False)
    """The index in a stored row of each property's value; index 0 is the record's version."""
    modified_at: Property | None = field(init=False)
    """The property with the time of the last change."""
    key_property: Property = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {each.name: each for each in self.properties})
        object.__setattr__(self, "related", {each.name: each for each in self.navigation})
        columns = {each.name: column for column, each in enumerate(self.properties, 1)}
        object.__setattr__(self, "column_of", columns)
        stamp = next((each for each in self.properties if each.modified_at), None)
        object.__setattr__(self, "modified_at", stamp)
        # `Model` reports a key without a property
        object.__setattr__(self, "key_property", self.by_name.get(self.key))

    @property
    def queried(self) -> tuple[str, ...]:
        """The properties that all query options may use."""
        return tuple(each.name for each in self.properties if not each.secret)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The properties that only `$select` may use."""
        return tuple(each.name for each in self.properties if each.secret)

    def has_computed_default(self, declared: Property) -> bool:
        """Whether the service sets the property's value if a create omits it."""
        return (
            declared.numbered
            or declared.kept_on_create
            or (declared.name == self.key and isinstance(declared.type, Guid))
            or any(each.target == declared.name for each in self.derivations)
        )

    @property
    def searched(self) -> tuple[str, ...]:
        """The properties that `$search` includes: text that is neither secret nor encoded."""
        return tuple(
            each.name
            for each in self.properties
            if isinstance(each.type, Text)
            and not isinstance(each.type, Base64Text)
            and not each.secret
        )


class ModelFault(Exception):  # noqa: N818 - names the declaration that is wrong
    """A declaration that contradicts itself or another declaration."""


@dataclass(frozen=True, eq=False, slots=True)
class View:
    """The records of the set `base`, with renamed properties."""

    base: str
    columns: Mapping[str, str]
    """Each property of the view, and the property of the base that it shows."""


@dataclass(frozen=True, eq=False, slots=True)
class PairFilter:
    """Filter-only properties in numbered pairs, `name<n>` and `value<n>` (operation 9).

    A record matches a pair if the set `carrier` has a record whose `carrier_reference` equals the
    record's `reference`, whose `carrier_name` equals the pair's name, and whose `carrier_value`
    equals the pair's value, if it has one. A record must match all pairs.
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
    """An entity set (CSDL 4.01, section 13).

    `read_only`: only commands write its records. `per_company`: it belongs to each company.
    `create_guarded`: a create requires a precondition (operation 6). `single_inline`: a single
    match is also at the top level of the response (operation 7). `key_narrows`: a key restricts
    the collection, and the all-zero key does not (operation 9).
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

    @property
    def filter_only(self) -> tuple[str, ...]:
        """The properties that only `$filter` may use, and no record has."""
        return () if self.pair_filter is None else self.pair_filter.names

    @property
    def tracks_changes(self) -> bool:
        """Whether the company's change log contains the changes of the records."""
        return self.per_company and self.view is None


@dataclass(frozen=True, eq=False, slots=True)
class Model:
    """The entity sets; raises `ModelFault` for a declaration that is not valid."""

    sets: tuple[EntitySet, ...]
    by_name: Mapping[str, EntitySet] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {each.name: each for each in self.sets})
        for fault in self._faults():
            raise ModelFault(fault)

    @property
    def companies(self) -> EntitySet:
        """The set of companies."""
        return next(each for each in self.sets if not each.per_company)

    @property
    def per_company(self) -> tuple[EntitySet, ...]:
        """The sets that belong to each company."""
        return tuple(each for each in self.sets if each.per_company)

    def contained(self, entity_set: EntitySet) -> Mapping[str, EntitySet]:
        """The sets that each record of a set contains, by name: only companies contain sets."""
        return {} if entity_set.per_company else {each.name: each for each in self.per_company}

    @property
    def stored(self) -> tuple[EntitySet, ...]:
        """The sets of a company that are not views, which `load` and `dump` process."""
        return tuple(each for each in self.sets if each.per_company and each.view is None)

    def _faults(self) -> Iterator[str]:
        if len(self.by_name) != len(self.sets):
            yield "two entity sets have the same name"
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
                yield f"the view's base {view.base} is not a stored set"
            elif set(view.columns) != set(entity_set.type.by_name) or not (
                set(view.columns.values()) <= set(base.type.by_name)
            ):
                yield "the view's columns are not its properties, or not properties of the base"
            if not entity_set.read_only:
                yield "a view must be read-only"
        for each in entity_set.type.navigation:
            target = self.by_name.get(each.target)
            own, other = each.on
            if target is None or not {other, *each.only} <= set(target.type.by_name):
                yield f"{each.target} lacks a property of the navigation property {each.name}"
            elif own not in entity_set.type.by_name or each.name in entity_set.type.by_name:
                yield f"the navigation property {each.name} lacks its property or has its name"
        if pairs is not None:
            carrier = self.by_name.get(pairs.carrier)
            needed = {pairs.carrier_reference, pairs.carrier_name, pairs.carrier_value}
            if carrier is None or not needed <= set(carrier.type.by_name):
                yield f"the carrier {pairs.carrier} lacks a property of the pair filter"
            if pairs.reference not in entity_set.type.by_name:
                yield f"the reference {pairs.reference} of the pair filter is not a property"


def _type_faults(entity_type: EntityType) -> Iterator[str]:
    if len(entity_type.by_name) != len(entity_type.properties):
        yield "two properties have the same name"
    named = {entity_type.key}.union(
        *(rule.properties for rule in entity_type.unique),
        *entity_type.indexes,
        *(
            {each.target, each.reference, each.named_by, each.value, *each.only}
            if isinstance(each, Followed)
            else {each.target, each.source}
            for each in entity_type.derivations
        ),
    )
    for name in sorted(named - set(entity_type.by_name)):
        yield f"a rule of {entity_type.name} names {name}, which is not a property"
    for name in {entity_type.key}.union(*(rule.properties for rule in entity_type.unique)) & set(
        entity_type.by_name
    ):
        edm_type = entity_type.by_name[name].type
        if isinstance(edm_type, Text) and (edm_type.max_length or 0) != UNIQUE_TEXT_LENGTH:
            yield f"{name} is in a key or a unique rule and must be a CODE"
    for rule in entity_type.unique:
        if rule.blank_is_free and len(rule.properties) != 1:
            yield f"the rule ({rule.name}) allows empty values but has several properties"
    if sum(each.modified_at for each in entity_type.properties) > 1:
        yield "two properties have the time of the last change"
