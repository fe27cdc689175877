"""The options of a catalog's file, with what `docs/reference/catalogs.md` says of them."""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

from comptoir.edm.model import PairFilter, View
from comptoir.profiles.record import CONTAINER, NAMESPACE, FieldOptions, NamedOptions, about

Text = Annotated[str, about("A text for people, which `$metadata` has too.")]
Caption = Annotated[str, about("The name for people.")]
Literals = str | bool | int | float


class PropertyOptions(msgspec.Struct, frozen=True, kw_only=True):
    """A property."""

    type: Annotated[str, about("The type, from the list below.")]
    description: Text = ""
    caption: Caption = ""
    required: Annotated[bool, about("Never empty.")] = False
    default: Annotated[Literals | None, about("The value if a create omits the property.")] = None
    minimum: Annotated[int | float | None, about("The smallest number.")] = None
    maximum: Annotated[int | float | None, about("The largest number.")] = None
    code: Annotated[bool, about("A text without blanks around it, in upper case.")] = False
    immutable: Annotated[bool, about("Set by a create alone.")] = False
    computed: Annotated[bool, about("Set by `load` alone, ignored in bodies.")] = False
    derived: Annotated[
        str,
        about(
            "The expression that sets the property: of `toupper`, `tolower`, `trim`, "
            "`concat`, properties and 'texts', or `NAVIGATION/PROPERTY` of the same set."
        ),
    ] = ""
    computed_default: Annotated[str, about("The same, if the body omits the property.")] = ""
    modified_at: Annotated[bool, about("The time of the last change.")] = False
    created_at: Annotated[bool, about("The time of the create.")] = False
    kept_on_create: Annotated[bool, about("The body of a create may set such a time.")] = False
    numbered: Annotated[bool, about("The next free number if a create omits the property.")] = False
    digits: Annotated[bool, about("A text of digits is accepted too (operation 11).")] = False
    secret: Annotated[bool, about("Not in logs, dumps and queries, `$select` aside.")] = False
    suggested: Annotated[tuple[str, ...], about("Usual values; others are valid too.")] = ()


class NavigationOptions(msgspec.Struct, frozen=True, kw_only=True):
    """A navigation property."""

    to: Annotated[str, about("The set of the related record, or `set[]` for many.")]
    on: Annotated[
        Mapping[str, str],
        about(
            "A property, and the one of the related records with the same value. "
            "Without it, the navigation property is declared, and returns 501."
        ),
    ] = {}
    only: Annotated[Mapping[str, str], about("Values that the related records have.")] = {}
    description: Text = ""
    contained: Annotated[
        bool, about("The records are created at the address of theirs too, and deleted with it.")
    ] = False
    check: Annotated[bool, about("A value that is not empty must name a record.")] = False


class ActionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """An action of the records of a set."""

    change: Annotated[
        Mapping[str, Literals],
        about("The values that it sets. Without them it is declared, and returns 501."),
    ] = {}


class EnumOptions(msgspec.Struct, frozen=True, kw_only=True):
    """An enumeration."""

    members: Annotated[
        tuple[str | tuple[str, str], ...],
        about("The members: names, or names with captions. The first is the empty value."),
    ]
    source: Annotated[str, about("The file that declares it in Business Central's source.")] = ""

    @property
    def captioned(self) -> list[tuple[str, str]]:
        """The names and captions of the members."""
        return [(each, each) if isinstance(each, str) else each for each in self.members]


class TableOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The table of Business Central that an entity set shows, for the profile."""

    table: Annotated[int, about("Its number.")]
    caption: Annotated[str, about("Its name, for messages.")]
    properties: Annotated[Mapping[str, FieldOptions], about("Its fields by property.")]
    source: Annotated[str, about("The file that declares it in Business Central's source.")] = ""
    alias: Annotated[str, about("Another name of the set in addresses.")] = ""
    periods: Annotated[
        tuple[tuple[str, str], ...],
        about("Pairs of dates, of which the first is not after the second."),
    ] = ()
    used_in: Annotated[
        Mapping[str, str], about("Sets and properties that have keys of records, which stay then.")
    ] = {}


class UniqueOptions(msgspec.Struct, frozen=True, kw_only=True):
    """An alternate key, if it is more than a list of names."""

    properties: Annotated[tuple[str, ...], about("The names of the properties.")]
    blank_is_free: Annotated[
        bool, about("Several records may have an empty value; for one property.")
    ] = False


class SetOptions(msgspec.Struct, frozen=True, kw_only=True):
    """An entity set with its entity type."""

    type: Annotated[str, about("The name of the entity type.")]
    properties: Annotated[
        Mapping[str, PropertyOptions],
        about("The properties by name, each its type alone or a table."),
    ]
    description: Text = ""
    caption: Caption = ""
    list_caption: Annotated[str, about("The name of the list for people, such as `Vendors`.")] = ""
    key: Annotated[str, about("The property with the key: a `Guid`, an `Int32`, or a text.")] = "id"
    unique: Annotated[
        tuple[tuple[str, ...] | UniqueOptions, ...],
        about("The alternate keys: lists of properties, whose values are unique."),
    ] = ()
    indexes: Annotated[
        tuple[tuple[str, ...], ...],
        about("Lists of properties by which filters and orders are fast."),
    ] = ()
    navigation: Annotated[
        Mapping[str, NavigationOptions], about("The navigation properties by name.")
    ] = {}
    actions: Annotated[Mapping[str, ActionOptions], about("The actions of a record by name.")] = {}
    read_only: Annotated[bool, about("Clients do not write it, and `load` does.")] = False
    if_match: Annotated[
        bool, about("Updates and deletes need an ETag, unless the profile does not.")
    ] = True
    columns: Annotated[
        tuple[str, ...], about("The properties that lists in the console show.")
    ] = ()
    create_guarded: Annotated[
        bool, about("A create needs `If-Match`, as operation 6 of the interface.")
    ] = False
    single_inline: Annotated[
        bool, about("A single match is also at the top level of the response (operation 7).")
    ] = False
    key_narrows: Annotated[bool, about("A key restricts the collection (operation 9).")] = False
    view: Annotated[View | None, about("The set that this one shows, by `base` and `columns`.")] = (
        None
    )
    pair_filter: Annotated[
        PairFilter | None,
        about("Numbered pairs of properties that `$filter` alone has (operation 9)."),
    ] = None
    business_central: Annotated[
        TableOptions | None, about("The table of Business Central that the set shows.")
    ] = None


class FileOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The file."""

    comptoir: Annotated[Literal[1], about("The version of the format.")]
    base: Annotated[
        Literal["none", "built-in", "business-central-v2"],
        about("The shipped catalog that the file adds to."),
    ] = "none"
    namespace: Annotated[str, about("The namespace of the types.")] = NAMESPACE
    container: Annotated[str, about("The name of the entity container.")] = CONTAINER
    sets: Annotated[Mapping[str, SetOptions], about("The entity sets by name.")] = {}
    enums: Annotated[
        Mapping[str, EnumOptions],
        about("The enumerations by name, each a list of members or a table."),
    ] = {}


TABLES: tuple[type[msgspec.Struct], ...] = (
    FileOptions, SetOptions, PropertyOptions, NavigationOptions, ActionOptions, UniqueOptions,
    EnumOptions, TableOptions, FieldOptions, NamedOptions,
)  # fmt: skip
"""The tables of a file."""

SHORT: Mapping[type[msgspec.Struct], tuple[type, str]] = {
    PropertyOptions: (str, "type"),
    EnumOptions: (list, "members"),
}
"""The tables that may be written as the value of one of their options."""


def json_schema() -> Mapping[str, object]:
    """The JSON Schema (2020-12) of a file, by which editors complete and check it."""
    _, components = msgspec.json.schema_components(TABLES, ref_template="#/$defs/{name}")
    for each in components.values():
        each["additionalProperties"] = False
    # an addition to a set of a base does not repeat what that declares
    del components[SetOptions.__name__]["required"]
    for kind, (_, option) in SHORT.items():
        table = components[kind.__name__]
        components[kind.__name__] = {"anyOf": [table["properties"][option], table]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$ref": f"#/$defs/{FileOptions.__name__}",
        "$defs": components,
    }
