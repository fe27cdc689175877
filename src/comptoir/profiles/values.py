"""The parts of a profile about values: what properties accept, and how values are written."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Self

NAMESPACE, CONTAINER = "Comptoir", "Container"
"""The names of the schema and of its container, as the model is declared."""

Confidence = Literal["code", "ours"]
"""`code`: read in the other product's public source. `ours`: nobody says, so it may change."""


@dataclass(frozen=True, slots=True)
class EnumMember:
    """A member of an enumeration: the name in its declaration, and the caption for people."""

    name: str
    caption: str


@dataclass(frozen=True, slots=True)
class Enumeration:
    """Members in the order of their numbers; the first one is the empty value."""

    source: str
    members: tuple[EnumMember, ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """A value names a record: the one of `entity_set` with this value in `named_by`.

    `only`: that record also has a value in another property. `when`: the rule applies if the
    record with the value has another one. Values of enumerations are captions.
    """

    entity_set: str
    named_by: str
    only: tuple[str, str] | None = None
    when: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class FieldRule:
    """The values that a property accepts; the caption is its name in messages.

    `length` counts characters. A `code` is stored without blanks around it, in upper case.
    `mandatory`: never blank. `rule` names a check of the value.
    """

    caption: str
    length: int | None = None
    code: bool = False
    enumeration: Enumeration | None = None
    relations: tuple[Relation, ...] = ()
    mandatory: bool = False
    rule: Literal["", "email", "phone"] = ""
    confidence: Confidence = "code"


@dataclass(frozen=True, slots=True)
class TableRule:
    """The table that an entity set shows: its number, its caption, and its properties' rules.

    `periods` are pairs of dates, the first of which is not after the second. A record is not
    deleted while a property in `used_in` (a set and its property) has the value of its key.
    """

    number: int
    caption: str
    source: str
    fields: Mapping[str, FieldRule]
    periods: tuple[tuple[str, str], ...] = ()
    used_in: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Values:
    """The tables by entity set, and other names of sets; none in the standard profile."""

    tables: Mapping[str, TableRule] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)

    def without_relations(self) -> Self:
        """The same tables, in which a value may name a record that does not exist."""
        tables = {
            name: replace(
                table,
                fields={each: replace(rule, relations=()) for each, rule in table.fields.items()},
            )
            for name, table in self.tables.items()
        }
        return replace(self, tables=tables)


@dataclass(frozen=True, slots=True)
class ShownProperty:
    """A further property of companies, with values that the service has in another form.

    `shows` is the property with the value, or `number` for that of the record's last change. If it
    is blank, the service does not know the value, and the property is empty.
    """

    type: Literal["text", "number", "id", "instant"]
    shows: str
    description: str


@dataclass(frozen=True, slots=True)
class ValueForms:
    """The forms of enumerations, instants and entity tags.

    `enumerations`: captions, or encoded names. `instants`: with milliseconds, or without the zeros
    at their end. Properties in `captioned`, such as `customersExt.blocked`, have captions in any
    case. `interface_extensions`: what the interface has of its own, such as the one price at the
    top level of its list, the key of filtered item attributes that narrows them, and texts in
    Base64, which are streams without it. `of_companies` are the properties of companies that are
    not declared. `namespace` is that of the entity types, and `container` the name of their
    container. `edit_terms`: `$metadata` also says by the terms `AllowEdit` and `AllowEditOnCreate`
    of this namespace which properties clients may set. `keeps_own`: a calculated value that was set
    by hand remains when its source changes.
    """

    enumerations: Literal["captions", "names"]
    instants: Literal["milliseconds", "short"]
    captioned: frozenset[str]
    tags: Literal["plain", "base64"]
    interface_extensions: bool
    of_companies: Mapping[str, ShownProperty]
    namespace: str
    container: str
    edit_terms: bool
    keeps_own: bool

    def renamed(self) -> Self:
        """The same forms, with enumerations by captions in place of names, or the reverse."""
        return replace(self, enumerations="captions" if self.enumerations == "names" else "names")
