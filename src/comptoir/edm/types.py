"""What a primitive type is: how a value is read, stored, compared and written.

A value has four forms. The *wire* form is JSON; the *text* form is a CSV cell or a key in a URL;
the *stored* form is what a column holds, chosen so that the database's own comparison is the
type's comparison; the *default* is the stored form of "no value". Nothing is ever null.
"""

import base64
import binascii
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import cast

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


NO_GUID = "00000000-0000-0000-0000-000000000000"
_GUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def is_guid(text: str) -> bool:
    """Whether a text has the form of a Guid, in either case."""
    return _GUID.fullmatch(text) is not None


class Guid(WrittenType):
    """A UUID (RFC 9562) in lower case; the all-zero one is no reference."""

    edm_name = "Edm.Guid"
    default = NO_GUID
    no_value = f'"{NO_GUID}"'
    expected = "a Guid"

    @property
    @override
    def json_schema(self) -> JsonSchema:
        return {"type": "string", "format": "uuid"}

    @override
    def is_no_key(self, stored: Stored) -> bool:
        return stored == NO_GUID

    @override
    def from_text(self, text: str) -> Stored:
        if _GUID.fullmatch(text) is None:
            raise ValueFault(
                f"must be a Guid of the form {NO_GUID[:8]}-0000-…, but {text[:40]!r} is not."
            )
        return text.lower()


class Boolean(PrimitiveType):
    """True or false; stored as 1 or 0."""

    edm_name = "Edm.Boolean"
    default = 0
    no_value = "false"
    expected = "true or false"

    @property
    @override
    def json_schema(self) -> JsonSchema:
        return {"type": "boolean"}

    @override
    def from_json(self, value: Json) -> Stored:
        if not isinstance(value, bool):
            raise self.wrong_kind(value)
        return int(value)

    @override
    def from_text(self, text: str) -> Stored:
        if text not in ("true", "false"):
            raise ValueFault(f"must be true or false, but {text[:40]!r} is neither.")
        return int(text == "true")

    @staticmethod
    def _wire(stored: Stored) -> Wire:
        return bool(stored)

    to_wire = _wire

    @override
    def to_text(self, stored: Stored) -> str:
        return "true" if stored else "false"


UNIQUE_TEXT_LENGTH = 100
"""The most characters of a text that stands in a key or a unique rule."""

TEXT_LENGTH = 4_000
"""The most characters of any other text."""


class Text(WrittenType):
    """Text of up to `max_length` characters; NUL and lone surrogates are refused."""

    edm_name = "Edm.String"
    quoted = True
    default = ""
    no_value = '""'
    expected = "text"

    def __init__(self, max_length: int | None = TEXT_LENGTH) -> None:
        self.max_length = max_length
        self.facets = {} if max_length is None else {"MaxLength": max_length}

    @property
    @override
    def json_schema(self) -> JsonSchema:
        limit = {} if self.max_length is None else {"maxLength": self.max_length}
        return {"type": "string", **limit}

    @override
    def from_text(self, text: str) -> Stored:
        if self.max_length is not None and len(text) > self.max_length:
            raise ValueFault(
                f"holds up to {self.max_length} characters, but {len(text)} were sent. Shorten it."
            )
        if "\0" in text:
            raise ValueFault("holds a NUL character, which no text may. Remove it.")
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError as fault:
                raise ValueFault(
                    f"holds half a surrogate pair at character {fault.start + 1}. "
                    "Send whole Unicode characters."
                ) from None
        return text

    @override
    def from_texts(self, texts: Sequence[str]) -> list[Stored]:
        joined = "".join(texts)
        limit = self.max_length
        if (limit is None or max(map(len, texts), default=0) <= limit) and "\0" not in joined:
            try:
                joined.encode()
            except UnicodeEncodeError:
                pass
            else:
                return cast("list[Stored]", list(texts))
        return [self.from_text(text) for text in texts]


class Base64Text(Text):
    """Text that is Base64 (RFC 4648, section 4, with padding), as long as the body may be."""

    expected = "Base64-encoded text"

    def __init__(self) -> None:
        super().__init__(max_length=None)

    @property
    @override
    def json_schema(self) -> JsonSchema:
        return {"type": "string", "contentEncoding": "base64"}

    @override
    def from_text(self, text: str) -> Stored:
        try:
            base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise ValueFault(
                "must be Base64-encoded text (RFC 4648, with padding). Encode the text's UTF-8."
            ) from None
        return text

    @override
    def from_texts(self, texts: Sequence[str]) -> list[Stored]:
        return [self.from_text(text) for text in texts]


GUID = Guid()
BOOLEAN = Boolean()
TEXT = Text()
CODE = Text(UNIQUE_TEXT_LENGTH)
BASE64_TEXT = Base64Text()
