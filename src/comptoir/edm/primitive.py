"""What a primitive type is: how a value is read, stored, compared and written.

A value has four forms. The *wire* form is JSON; the *text* form is a CSV cell or a key in a URL;
the *stored* form is what a column holds, chosen so that the database's own comparison is the
type's comparison; the *default* is the stored form of "no value". Nothing is ever null.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import msgspec
from typing_extensions import override

from comptoir.jsonvalue import Json, json_kind

Stored = str | int
"""What a column holds: text, a whole number, or 0 and 1 for a Boolean."""

Wire = str | int | bool | msgspec.Raw
"""What the JSON encoder is given."""

JsonSchema = Mapping[str, object]
"""A schema in the words of JSON Schema 2020-12, as OpenAPI 3.1 has them."""


class ValueFault(Exception):  # noqa: N818 - says what is wrong with a value, not with the program
    """A value that its type does not take. The message completes "<property> …"."""


class PrimitiveType(ABC):
    """A primitive type of OData (CSDL 4.01, section 3.3) with the four forms of its values."""

    edm_name: str
    """The name in `$metadata`, for example `Edm.String`."""

    default: Stored
    """The stored form of "no value"."""

    no_value: str
    """The wire form of "no value", as a message shows it."""

    expected: str
    """What the type takes, as a message says it: "must be …"."""

    quoted = False
    """Whether a key of this type stands in quotes in a URL."""

    facets: Mapping[str, int] = MappingProxyType({})
    """What bounds the values in `$metadata`, for example `MaxLength` (CSDL 4.01, section 7.2)."""

    to_wire: Callable[[Stored], Wire] | None = None
    """Stored to wire form; None when the two are the same."""

    @property
    def to_ieee754_wire(self) -> Callable[[Stored], Wire] | None:
        """`to_wire` for `IEEE754Compatible=true`: what a double does not hold is a text.

        That is Edm.Decimal and Edm.Int64 (OData JSON Format 4.01, section 3.2).
        """
        return self.to_wire

    def from_ieee754_json(self, value: Json) -> Stored:
        """`from_json` for a body that is `IEEE754Compatible`; raises `ValueFault`."""
        return self.from_json(value)

    @abstractmethod
    def from_json(self, value: Json) -> Stored:
        """Wire form to stored form; raises `ValueFault`."""

    @abstractmethod
    def from_text(self, text: str) -> Stored:
        """Text form to stored form; raises `ValueFault`. The empty text is not a value here."""

    @property
    @abstractmethod
    def json_schema(self) -> JsonSchema:
        """The wire forms that answers hold."""

    @property
    def accepted_json_schema(self) -> JsonSchema:
        """The wire forms that bodies may hold."""
        return self.json_schema

    def is_no_key(self, stored: Stored) -> bool:
        """Whether a value names no record: the empty text and the all-zero Guid do not."""
        return self.quoted and stored == self.default

    def from_key(self, text: str) -> Stored:
        """A key in a URL, without its quotes, to stored form; raises `ValueFault`."""
        return self.from_text(text)

    def from_texts(self, texts: Sequence[str]) -> list[Stored]:
        """A column of cells to stored forms, the empty cell to the default; raises `ValueFault`.

        Equal cells are read once: columns of business records repeat themselves.
        """
        known: dict[str, Stored] = {"": self.default}
        for text in set(texts) - known.keys():
            known[text] = self.from_text(text)
        return [known[text] for text in texts]

    def to_text(self, stored: Stored) -> str:
        """Stored form to text form, such that `from_text` gives the stored form again."""
        return str(stored)

    def wrong_kind(self, value: Json) -> ValueFault:
        """The fault of a JSON value of another kind; a null is told what clears the property."""
        if value is None:
            return ValueFault(f"is never null. Send {self.no_value} to clear it.")
        return ValueFault(f"must be {self.expected}, but {json_kind(value)} was sent.")


class WrittenType(PrimitiveType):
    """A primitive type whose wire form is text, the same as its text form."""

    @override
    def from_json(self, value: Json) -> Stored:
        if not isinstance(value, str):
            raise self.wrong_kind(value)
        return self.from_text(value)
