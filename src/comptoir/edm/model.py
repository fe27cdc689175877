"""The model: entity types, entity sets and their rules (CSDL 4.01, sections 6 to 8 and 13)."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

import msgspec

from comptoir.edm.types import Base64Text, Guid, PrimitiveType, Stored, Stream, Text
from comptoir.profiles.record import CONTAINER, NAMESPACE, Values

LAST_CHANGE = "@last_change"
"""The source of a property with the number of the record's last change."""


class Company(msgspec.Struct, frozen=True):
    """A company that exists: its id, and the incarnation that the tags of its records contain."""

    id: str
    incarnation: str


def _derive(part: object, **fields: object) -> None:
    """Set fields of a frozen object that follow from others, so that reading them costs nothing."""
    for name, value in fields.items():
        object.__setattr__(part, name, value)


@dataclass(frozen=True, eq=False, slots=True)
class Property:
    """A structural property (CSDL 4.01, section 7).

    `required`: never empty. `default`: the value if a create omits it, instead of the empty one.
    `modified_at`: the time of the last change, which the service sets; `created_at`: that of the
    create. With `kept_on_create` the body of a create may set them. `numbered`: the next free
    number if a create omits it. `immutable`: set by a create alone. `computed`: set by the service
    or by files, and never by a body. `secret`: excluded from logs, change records, queries and
    dumps. `suggested`: usual values; others are valid too. `caption` is the name for people, by
    default `name`. `shows`: the property has no column, but the value of another property, of
    `LAST_CHANGE`, or if it is blank, an empty value in each record.
    """

    name: str
    type: PrimitiveType
    description: str = ""
    required: bool = False
    default: Stored | None = None
    modified_at: bool = False
    created_at: bool = False
    kept_on_create: bool = False
    numbered: bool = False
    immutable: bool = False
    computed: bool = False
    secret: bool = False
    suggested: tuple[str, ...] = ()
    caption: str = ""
    shows: str | None = None
    initial: Stored = field(init=False)
    """The value of a record whose create omits the property, unless the service sets it."""
    is_stamp: bool = field(init=False)
    """Whether the service sets the time of a write."""
    is_restricted: bool = field(init=False)
    """Whether the body of some writes may not set the value, even if it is not the key."""

    def __post_init__(self) -> None:
        _derive(
            self,
            caption=self.caption or self.name,
            initial=self.type.default if self.default is None else self.default,
            is_stamp=self.modified_at or self.created_at,
            is_restricted=self.modified_at or self.created_at or self.immutable or self.computed,
        )

    @property
    def is_computed(self) -> bool:
        """Whether only the service sets the value."""
        is_set = self.computed or (self.is_stamp and not self.kept_on_create)
        return is_set or self.shows is not None

    @property
    def is_replaced(self) -> bool:
        """Whether a replacement of the record that omits the property resets it."""
        return not (self.is_restricted or self.numbered or self.is_stream)

    @property
    def is_stream(self) -> bool:
        """Whether records have the addresses of the value instead of the value."""
        return isinstance(self.type, Stream)

    @property
    def is_queried(self) -> bool:
        """Whether all query options may use the property, and not only `$select`."""
        return not self.secret and not self.is_stream

    @property
    def is_unlimited(self) -> bool:
        """Whether it is text of any length, by which records are neither sorted nor grouped."""
        return isinstance(self.type, Text) and self.type.max_length is None


class NavigationProperty(msgspec.Struct, frozen=True, eq=False):
    """A relation to the records of the set `target` with an equal value (CSDL 4.01, section 8).

    `on` names a property of the record and the property of the related records that has the same
    value; an empty value relates no records. The related records also have the values of `only`.
    Without `collection` at most one record is related. `contained` records are also created at the
    address of their record, and deleted with it.
    """

    name: str
    target: str
    on: tuple[str, str]
    description: str = ""
    collection: bool = True
    only: Mapping[str, Stored] = {}
    contained: bool = False


class Action(msgspec.Struct, frozen=True, eq=False):
    """An action that is bound to a record (CSDL 4.01, section 12).

    It sets the values of `change`. Without them it is declared, and not supported.
    """

    name: str
    change: Mapping[str, Stored]


class UniqueRule(msgspec.Struct, frozen=True, eq=False):
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
    """Sets `target` to `function(record)` if a source changes and the body omits the target.

    The function needs the values of `sources`. With `keeps_own`, only if the target was blank, or
    the value for the former sources.
    """

    target: str
    sources: tuple[str, ...]
    function: Callable[[Mapping[str, Stored]], str]
    expression: str
    keeps_own: bool = False


class Followed(msgspec.Struct, frozen=True, eq=False):
    """Copies `value` to `target` from the record of the same entity type that `reference` names.

    That record has the value of `reference` in its property `named_by`, and the values of `only`.
    It may be the record itself. If there is none, the target is an ordinary property, or empty if
    it is computed.
    """

    target: str
    reference: str
    named_by: str
    value: str
    only: Mapping[str, Stored]
    expression: str


Derivation = Calculated | Followed


class Reference(msgspec.Struct, frozen=True, eq=False):
    """A property whose value, unless it is blank, names a record of the set `target` by `named_by`.

    That record also has the value of `only`, and the record with the reference that of `when`.
    """

    property: str
    target: str
    named_by: str
    caption: str
    only: tuple[str, Stored] | None = None
    when: tuple[str, Stored] | None = None

    def applies(self, record: Mapping[str, Stored], changed: AbstractSet[str]) -> bool:
        """Whether a write that changes these properties of a record changes what it references."""
        if self.when is not None:
            name, value = self.when
            return record[name] == value and not changed.isdisjoint((self.property, name))
        return self.property in changed

    def is_met_by(self, record: Mapping[str, Stored], value: Stored) -> bool:
        """Whether a record of the target is the one that the value names."""
        only = self.only is None or record[self.only[0]] == self.only[1]
        return only and record[self.named_by] == value


class Referrer(msgspec.Struct, frozen=True, eq=False):
    """A property of a set that has the keys of records: while it has one, that record is used."""

    entity_set: str
    property: str


@dataclass(frozen=True, eq=False, slots=True)
class EntityType:
    """An entity type (CSDL 4.01, section 6): its properties in the order of responses, and rules.

    `indexes` are lists of properties with an index, besides the key and the unique rules. `caption`
    is the name for people, by default `name`, and `table` has a number before it. `periods` are
    pairs of dates, the first of which is not after the second, unless that is blank. Records in use
    by `referrers` are not deleted. `columns` are the properties that lists for people show.
    `unserved` are navigation properties that lack `on`: they are declared, and not supported.
    """

    name: str
    description: str
    properties: tuple[Property, ...]
    key: str = "id"
    unique: tuple[UniqueRule, ...] = ()
    indexes: tuple[tuple[str, ...], ...] = ()
    derivations: tuple[Derivation, ...] = ()
    navigation: tuple[NavigationProperty, ...] = ()
    unserved: Mapping[str, NavigationProperty] = field(default_factory=dict)
    actions: tuple[Action, ...] = ()
    caption: str = ""
    table: str = ""
    references: tuple[Reference, ...] = ()
    referrers: tuple[Referrer, ...] = ()
    periods: tuple[tuple[str, str], ...] = ()
    columns: tuple[str, ...] = ()
    namespace: str = NAMESPACE
    by_name: Mapping[str, Property] = field(init=False)
    related: Mapping[str, NavigationProperty] = field(init=False)
    """The navigation properties by name, without the unserved ones."""
    column_of: Mapping[str, int] = field(init=False)
    """The index in a stored row of each property's value; index 0 is the record's version."""
    modified_at: Property | None = field(init=False)
    """The property with the time of the last change."""
    stamps: tuple[str, ...] = field(init=False)
    """The properties that a create sets to its time."""
    key_property: Property = field(init=False)
    required: tuple[Property, ...] = field(init=False)
    """The properties without which no record is created."""
    searched: tuple[str, ...] = field(init=False)
    """The properties that `$search` includes: text that is neither secret nor encoded."""
    has_rules: bool = field(init=False)
    """Whether values of a record are compared with each other, or with those of other records."""

    def __post_init__(self) -> None:
        by_name = {each.name: each for each in self.properties}
        _derive(
            self,
            caption=self.caption or self.name,
            table=self.table or self.caption or self.name,
            by_name=by_name,
            related={each.name: each for each in self.navigation},
            column_of={each.name: column for column, each in enumerate(self.properties, 1)},
            modified_at=next((each for each in self.properties if each.modified_at), None),
            stamps=tuple(each.name for each in self.properties if each.is_stamp),
            key_property=by_name.get(self.key),
            required=tuple(each for each in self.properties if each.required),
            searched=tuple(
                each.name
                for each in self.properties
                if isinstance(each.type, Text)
                and not isinstance(each.type, Base64Text)
                and not each.secret
                and each.shows is None
            ),
            has_rules=bool(self.references or self.periods),
        )

    @property
    def qualified_name(self) -> str:
        """The name with its namespace."""
        return f"{self.namespace}.{self.name}"

    @property
    def queried(self) -> tuple[str, ...]:
        """The properties that all query options may use."""
        return tuple(each.name for each in self.properties if each.is_queried)

    @property
    def unqueried(self) -> tuple[str, ...]:
        """The properties that only `$select` may use."""
        return tuple(each.name for each in self.properties if not each.is_queried)

    @property
    def streams(self) -> tuple[str, ...]:
        """The properties that are streams."""
        return tuple(each.name for each in self.properties if each.is_stream)

    @property
    def identification(self) -> tuple[str, ...]:
        """The properties by which people identify a record: a unique rule, or else the key."""
        return self.unique[0].properties if self.unique else (self.key,)

    def captioned(self, names: Sequence[str], record: Mapping[str, Stored], form: str) -> str:
        """Values of a record for messages: `form` of each caption and value, with commas."""
        listed = [self.by_name[name] for name in names]
        return ",".join(
            form.format(each.caption, each.type.to_text(record.get(each.name, each.type.default)))
            for each in listed
        )

    def has_computed_default(self, declared: Property) -> bool:
        """Whether the service sets the property's value if a create omits it."""
        return (
            declared.numbered
            or declared.kept_on_create
            or (declared.name == self.key and isinstance(declared.type, Guid))
            or any(each.target == declared.name for each in self.derivations)
        )

    def accepts(self, declared: Property, *, creating: bool, any_key: bool) -> bool:
        """Whether the body of a create or of an update may set a property.

        With `any_key`, that of a create may set the key also if it is a Guid.
        """
        if declared.is_stamp:
            return creating and declared.kept_on_create
        if declared.computed:
            return False
        if declared.name != self.key:
            return creating or not declared.immutable
        return creating and (any_key or not isinstance(declared.type, Guid))


class View(msgspec.Struct, frozen=True, eq=False):
    """The records of the set `base`, with renamed properties."""

    base: str
    columns: Mapping[str, str]
    """Each property of the view, and the property of the base that it shows."""


class PairFilter(msgspec.Struct, frozen=True, eq=False):
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

    `read_only`: clients write at most the streams of its records. `per_company`: it belongs to each
    company. `create_guarded`: a create requires a precondition (operation 6). `single_inline`: a
    single match is also at the top level of the response (operation 7). `key_narrows`: a key
    restricts the collection, and the all-zero key does not (operation 9). `if_match`: writes
    require an ETag, unless the profile does not. `encodes_tags`: entity tags are in Base64.
    `caption` is the name of the list for people, which may be empty.
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
    if_match: bool = True
    encodes_tags: bool = False
    caption: str = ""

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
    """The entity sets.

    `aliases` are other names that a path may have for a set. `container` is the name of the entity
    container (CSDL 4.01, section 13). `tables` are those of the other product that the sets show.
    `source` is the catalog that declares the sets, in JSON and without its base; blank if nothing
    does.
    """

    sets: tuple[EntitySet, ...]
    aliases: Mapping[str, str] = field(default_factory=dict)
    container: str = CONTAINER
    tables: Values = field(default_factory=Values)
    source: str = ""
    by_name: Mapping[str, EntitySet] = field(init=False)

    def __post_init__(self) -> None:
        named = {each.name: each for each in self.sets}
        aliases = {alias: named[name] for alias, name in self.aliases.items() if name in named}
        _derive(self, by_name={**aliases, **named})

    @property
    def namespace(self) -> str:
        """The namespace of the entity types."""
        return self.sets[0].type.namespace

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
