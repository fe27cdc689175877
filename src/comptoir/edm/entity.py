"""What a kind is: Property, NavigationProperty, rules, EntityType (CSDL 4.01, sections 6 to 8)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from comptoir.edm.primitive import PrimitiveType, Stored
from comptoir.edm.text import Base64Text, Text


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
