"""What `$metadata` says, free of its formats: elements of the model with their annotations.

The names are those of CSDL 4.01. `describe` makes a description, `to_xml` and `to_json` write it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

_CANONICAL = "https://oasis-tcs.github.io/odata-vocabularies/vocabularies"
_VOCABULARY = "Org.OData.{}.V1"


def full_name(name: str) -> str:
    """A name of a vocabulary in full: `Org.OData.Core.V1.Description` for `Core.Description`.

    Documents declare no aliases. Some clients know none, and where one is declared, CSDL JSON
    must use it throughout (OData CSDL JSON 4.01, section 4.2).
    """
    vocabulary, _, simple = name.partition(".")
    return f"{_VOCABULARY.format(vocabulary)}.{simple}"


@dataclass(frozen=True, slots=True)
class PropertyPath:
    """A value that is the name of a property."""

    name: str


@dataclass(frozen=True, slots=True)
class Member:
    """A value of an enumeration: its type and the name of a member."""

    type: str
    name: str


@dataclass(frozen=True, slots=True)
class Record:
    """A value made of named values; `type` is named where the term leaves it open."""

    values: Mapping[str, "Value"]
    type: str = ""


Value = bool | int | str | PropertyPath | Member | Record | tuple["Value", ...]
"""The value of an annotation (CSDL 4.01, section 14); a tuple is a collection."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """A term, qualified by its vocabulary's short name, applied with a value."""

    term: str
    value: Value
    qualifier: str = ""


Annotations = tuple[Annotation, ...]


@dataclass(frozen=True, slots=True)
class PropertyElement:
    """A structural property: its primitive type and the facets of it (CSDL 4.01, section 7)."""

    name: str
    type: str
    facets: Mapping[str, int]
    annotations: Annotations
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class NavigationElement:
    """A navigation property; `type` is the entity type's name without its namespace (section 8)."""

    name: str
    type: str
    annotations: Annotations
    collection: bool = True
    contains: bool = False
    partner: str = ""


@dataclass(frozen=True, slots=True)
class TypeElement:
    """An entity type with its key property (CSDL 4.01, section 6)."""

    name: str
    key: str
    properties: tuple[PropertyElement, ...]
    navigation: tuple[NavigationElement, ...]
    annotations: Annotations


@dataclass(frozen=True, slots=True)
class SetElement:
    """An entity set; `bindings` is navigation property to set, both by name (section 13.2)."""

    name: str
    type: str
    in_service_document: bool
    bindings: Mapping[str, str]
    annotations: Annotations


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A vocabulary of OASIS whose terms are used, by its short name, such as `Core`."""

    name: str

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return _VOCABULARY.format(self.name)

    @property
    def url(self) -> str:
        """Where it is documented, without `.xml` or `.json`."""
        return f"{_CANONICAL}/{self.namespace}"


@dataclass(frozen=True, slots=True)
class Description:
    """A whole document: one schema, its types, and one container."""

    namespace: str
    container: str
    types: tuple[TypeElement, ...]
    sets: tuple[SetElement, ...]
    annotations: Annotations
    vocabularies: tuple[Vocabulary, ...]
