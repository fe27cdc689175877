"""The options of a catalog's file. `docs/reference/catalogs.md` describes them for their users."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from comptoir.edm.model import PairFilter, View
from comptoir.profiles.record import CONTAINER, NAMESPACE

Table = Mapping[str, object]


class FileOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The file."""

    comptoir: Literal[1]
    base: Literal["none", "built-in"] = "none"
    namespace: str = NAMESPACE
    container: str = CONTAINER
    sets: Table = {}
    enums: Table = {}


class UniqueOptions(msgspec.Struct, frozen=True, kw_only=True):
    """An alternate key."""

    properties: tuple[str, ...]
    blank_is_free: bool = False


class SetOptions(msgspec.Struct, frozen=True, kw_only=True):
    """An entity set with its entity type."""

    type: str
    properties: Table
    description: str = ""
    caption: str = ""
    key: str = "id"
    unique: tuple[tuple[str, ...] | UniqueOptions, ...] = ()
    indexes: tuple[tuple[str, ...], ...] = ()
    navigation: Table = {}
    actions: Table = {}
    read_only: bool = False
    create_guarded: bool = False
    single_inline: bool = False
    key_narrows: bool = False
    view: View | None = None
    pair_filter: PairFilter | None = None
    columns: tuple[str, ...] = ()
    if_match: bool = True
    business_central: Table | None = None


class PropertyOptions(msgspec.Struct, frozen=True, kw_only=True):
    """A property; `computed_default` and `derived` are expressions."""

    type: str
    description: str = ""
    caption: str = ""
    required: bool = False
    modified_at: bool = False
    kept_on_create: bool = False
    numbered: bool = False
    digits: bool = False
    secret: bool = False
    suggested: tuple[str, ...] = ()
    computed_default: str = ""
    derived: str = ""
    default: str | bool | int | float | None = None
    minimum: int | float | None = None
    maximum: int | float | None = None
    code: bool = False
    created_at: bool = False
    immutable: bool = False
    computed: bool = False


class NavigationOptions(msgspec.Struct, frozen=True, kw_only=True):
    """A navigation property."""

    to: str
    on: Mapping[str, str]
    only: Mapping[str, str] = {}
    description: str = ""
    contained: bool = False
    check: bool = False


class ActionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """An action of the records of a set; without `change` it is declared and not supported."""

    change: Mapping[str, str | bool | int | float] = {}


class EnumOptions(msgspec.Struct, frozen=True, kw_only=True):
    """An enumeration; a member has a name, or a name and a caption."""

    members: tuple[str | tuple[str, str], ...]
    source: str = ""


class TableOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The table of Business Central that an entity set shows."""

    table: int
    caption: str
    properties: Table
    source: str = ""
    alias: str = ""
    periods: tuple[tuple[str, str], ...] = ()
    used_in: Mapping[str, str] = {}


class NamedOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The set and the property of the records that the values of a field name."""

    set: str
    by: str
    only: Mapping[str, str] = {}
    when: Mapping[str, str] = {}


class FieldOptions(msgspec.Struct, frozen=True, kw_only=True):
    """A field of a table of Business Central."""

    caption: str
    length: int | None = None
    code: bool = False
    enum: str = ""
    required: bool = False
    form: Literal["", "email", "phone"] = ""
    names: NamedOptions | None = None
    ours: bool = False
