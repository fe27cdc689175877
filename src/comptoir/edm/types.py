"""Primitive types, and those of Guids, Booleans, text and streams.

A value has three forms. The *wire* form is JSON, the *text* form is a CSV cell or a key in a URL,
and the *stored* form is the value of a column. The database's comparison of stored forms is the
type's comparison. No value is null: each type has a default instead.

An overlay gives some types to declared properties: they accept less, or have another wire form.
Each is stored in the column of the declared type and compared like it, so services with other
overlays may use the same database. What one of them does not accept, another may have stored.
"""

import base64
import binascii
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from types import MappingProxyType
from typing import cast

import msgspec
from typing_extensions import override

from comptoir.errors import refusal_rows as rows
from comptoir.errors.messages import filled, message, quoted
from comptoir.errors.refusal import ErrorType, Fact, Refusal, RefusalRow
from comptoir.jsonvalue import Json, json_type

Stored = str | int
"""The value of a column: text, a whole number, or 0 and 1 for a Boolean."""

Wire = str | int | bool | msgspec.Raw
"""A value for the JSON encoder."""

JsonSchema = Mapping[str, object]
"""A JSON Schema (2020-12), as in OpenAPI 3.1."""


class EdmError(Exception):
    """A value that its type does not accept: the row of its refusal, and the facts but `name`."""

    def __init__(self, row: RefusalRow, **facts: Fact) -> None:
        super().__init__(row, facts)
        self.row = row
        self.facts = facts

    @override
    def __str__(self) -> str:
        return message(self.problem, self.remedy)

    @property
    def problem(self) -> str:
        """The end of a sentence that begins with the name of the value."""
        return filled(self.row.problem, {**self.facts, "name": ""}).lstrip()

    @property
    def remedy(self) -> str:
        """A sentence."""
        return filled(self.row.remedy, self.facts)

    def refusal(
        self, name: str, target: str, position: int | None = None, error: ErrorType | None = None
    ) -> Refusal:
        """The refusal of the value, which has a name."""
        return self.row(target, position, error=error, more={**self.facts, "name": name})


class PrimitiveType(ABC):
    """A primitive type of OData (CSDL 4.01, section 3.3) with the forms of its values.

    The methods `from_…` raise `EdmError` for a value that the type does not accept.
    """

    edm_name: str
    """The name in `$metadata`, for example `Edm.String`."""

    default: Stored
    """The stored form of an empty value."""

    expected: str
    """A noun phrase for the values, after "must be" in messages."""

    example: str
    """A value as JSON, for messages."""

    quoted = False
    """Whether a key of this type is in quotes in a URL."""

    json_schema: JsonSchema
    """The schema of values in responses."""

    facets: Mapping[str, int] = MappingProxyType({})
    """The facets in `$metadata`, for example `MaxLength` (CSDL 4.01, section 7.2)."""

    bounds: Mapping[str, int | Decimal] = MappingProxyType({})
    """The declared bounds, by the terms of the vocabulary Validation: `Minimum`, `Maximum`."""

    to_wire: Callable[[Stored], Wire] | None = None
    """Converts the stored form to the wire form; None if they are the same."""

    restores = True
    """Whether `from_wire` returns each stored form that `to_wire` was given."""

    narrows = False
    """Whether a record may have a value of the declared type that this type does not accept."""

    form = ""
    """Tells two wire forms of one EDM type apart in stored JSON; empty for the declared types."""

    @property
    def to_ieee754_wire(self) -> Callable[[Stored], Wire] | None:
        """`to_wire` for `IEEE754Compatible=true`: Edm.Decimal and Edm.Int64 are strings.

        See OData JSON Format 4.01, section 3.2.
        """
        return self.to_wire

    def from_ieee754_json(self, value: Json) -> Stored:
        """`from_json` for a body that is `IEEE754Compatible`."""
        return self.from_json(value)

    @property
    def empty_json(self) -> str:
        """The wire form of an empty value, as JSON."""
        return msgspec.json.encode(self.wire(self.default)).decode()

    @abstractmethod
    def from_json(self, value: Json) -> Stored:
        """Convert the wire form to the stored form."""

    @abstractmethod
    def from_text(self, text: str) -> Stored:
        """Convert the text form to the stored form. Only text accepts an empty text."""

    def wire(self, stored: Stored) -> Wire:
        """Convert the stored form to the wire form."""
        return stored if self.to_wire is None else self.to_wire(stored)

    def from_wire(self, value: Json) -> Stored:
        """Convert what `to_wire` returned to the stored form."""
        return self.from_json(value)

    @property
    def accepted_json_schema(self) -> JsonSchema:
        """The schema of values in request bodies."""
        return self.json_schema

    def is_blank_key(self, stored: Stored) -> bool:
        """Whether a value cannot be a key: the empty text and the all-zero Guid."""
        return self.quoted and stored == self.default

    def from_key(self, text: str) -> Stored:
        """Convert a key in a URL, without its quotes, to the stored form."""
        return self.from_text(text)

    def from_texts(self, texts: Sequence[str]) -> list[Stored]:
        """Convert a column of cells to stored forms, and empty cells to the default.

        Equal cells are converted once: columns of business records have few distinct values.
        """
        by_text: dict[str, Stored] = {"": self.default}
        for text in set(texts) - by_text.keys():
            by_text[text] = self.from_text(text)
        return [by_text[text] for text in texts]

    def to_text(self, stored: Stored) -> str:
        """Convert the stored form to the text form."""
        return str(stored)

    def wrong_type(self, value: Json) -> EdmError:
        """The error of null, or of a JSON value of another type."""
        if value is None:
            return EdmError(rows.NULL_VALUE, empty=self.empty_json)
        return EdmError(
            rows.WRONG_JSON, expected=self.expected, json=json_type(value), example=self.example
        )

    def malformed(self, text: str) -> EdmError:
        """The error of a text that is not in the type's text form."""
        example = self.example.strip('"')
        return EdmError(rows.NOT_OF_TYPE, expected=self.expected, value=text, example=example)


class TextualType(PrimitiveType):
    """A primitive type whose wire form is its text form, as a string."""

    @override
    def from_json(self, value: Json) -> Stored:
        if not isinstance(value, str):
            raise self.wrong_type(value)
        return self.from_text(value)


NO_GUID = "00000000-0000-0000-0000-000000000000"
_GUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def is_guid(text: str) -> bool:
    """Whether a text is a Guid, in upper or lower case."""
    return _GUID.fullmatch(text) is not None


class Guid(TextualType):
    """A UUID (RFC 9562) in lower case; the all-zero UUID is the empty value."""

    edm_name = "Edm.Guid"
    default = NO_GUID
    expected = "a Guid"
    example = '"5d115c9c-44e3-4a11-bb43-000d3a2feca1"'
    json_schema = MappingProxyType({"type": "string", "format": "uuid"})

    @override
    def is_blank_key(self, stored: Stored) -> bool:
        return stored == NO_GUID

    @override
    def from_text(self, text: str) -> Stored:
        if _GUID.fullmatch(text) is None:
            raise self.malformed(text)
        return text.lower()


class Boolean(PrimitiveType):
    """True or false, stored as 1 or 0."""

    edm_name = "Edm.Boolean"
    default = 0
    expected = "true or false"
    example = "true"
    json_schema = MappingProxyType({"type": "boolean"})

    @override
    def from_json(self, value: Json) -> Stored:
        if not isinstance(value, bool):
            raise self.wrong_type(value)
        return int(value)

    @override
    def from_text(self, text: str) -> Stored:
        if text not in ("true", "false"):
            raise self.malformed(text)
        return int(text == "true")

    to_wire = bool

    @override
    def to_text(self, stored: Stored) -> str:
        return "true" if stored else "false"


UNIQUE_TEXT_LENGTH = 100
"""The most characters of a text in a key or a unique rule."""

TEXT_LENGTH = 4_000
"""The most characters of any other text."""


class Text(TextualType):
    """Text of up to `max_length` characters, stored as sent and compared by code point.

    `stored_length` is the most characters of a value in the database. It exceeds `max_length` if
    the property was declared with more: files, and other services, may have stored longer values.
    """

    edm_name = "Edm.String"
    quoted = True
    default = ""
    expected = "text"
    example = '"text"'

    def __init__(
        self, max_length: int | None = TEXT_LENGTH, *, stored_length: int | None = None
    ) -> None:
        self.max_length = max_length
        self.stored_length = stored_length or max_length
        self.narrows = self.stored_length != max_length
        self.facets = {} if max_length is None else {"MaxLength": max_length}
        limit = {} if max_length is None else {"maxLength": max_length}
        self.json_schema = {"type": "string", **limit}

    @override
    def from_text(self, text: str) -> Stored:
        if self.max_length is not None and len(text) > self.max_length:
            excess = len(text) - self.max_length
            raise EdmError(
                rows.LONG_TEXT,
                excess=f"{excess} character{'s' * (excess > 1)}",
                length=len(text),
                limit=self.max_length,
                value=text,
            )
        if "\0" in text:
            raise EdmError(rows.NUL_IN_VALUE)
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError as error:
                raise EdmError(rows.SURROGATE, position=error.start + 1) from None
        return text

    @override
    def from_texts(self, texts: Sequence[str]) -> list[Stored]:
        if type(self) is Text:
            joined = "".join(texts)
            limit = self.max_length
            fits = limit is None or len(joined) <= limit or max(map(len, texts)) <= limit
            if fits and "\0" not in joined:
                with suppress(UnicodeEncodeError):
                    if not joined.isascii():
                        joined.encode()
                    return cast("list[Stored]", list(texts))
        return [self.from_text(text) for text in texts]


class Base64Text(Text):
    """Text in Base64 (RFC 4648, section 4, with padding), of any length."""

    expected = "Base64-encoded text"
    example = '"SGVsbG8="'

    def __init__(self) -> None:
        super().__init__(max_length=None)
        self.json_schema = {"type": "string", "contentEncoding": "base64"}

    @override
    def from_text(self, text: str) -> Stored:
        try:
            base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise EdmError(rows.NOT_BASE64_TEXT) from None
        return text


_SLICE = 3 << 16
"""The most bytes that are converted at once, which takes about two milliseconds."""

_NOT_IN_NAME = re.compile(r"[^\w.-]|^[\d.-]")


def encoded_name(name: str) -> str:
    """The name of an enumeration's member as an XML name: `Bar Code` is `Bar_x0020_Code`.

    A name that is encoded already stays as it is.
    """
    return _NOT_IN_NAME.sub(lambda match: f"_x{ord(match[0]):04X}_", name)


def upper_code(text: str) -> str:
    """The text in upper case, as long as before: ß, whose upper case has two letters, stays."""
    if text.isascii():
        return text.upper()
    return "".join(upper if len(upper := each.upper()) == 1 else each for each in text)


class CodeText(Text):
    """A code: text without blanks around it, in upper case."""

    @override
    def from_text(self, text: str) -> Stored:
        return super().from_text(upper_code(text.strip(" ")))


class EmailText(Text):
    """E-mail addresses, separated by semicolons, each with one @ between other characters."""

    @override
    def from_text(self, text: str) -> Stored:
        stored = super().from_text(text)
        for each in text.strip(";").split(";") if text else ():
            address = each.strip(" ")
            name, _, host = address.partition("@")
            if not name or not host or "@" in host or " " in address:
                raise EdmError(rows.NOT_AN_EMAIL, value=address)
        return stored


class PhoneText(Text):
    """A phone number, which has no letters."""

    @override
    def from_text(self, text: str) -> Stored:
        stored = super().from_text(text)
        if any(map(str.isalpha, text)):
            raise EdmError(rows.LETTERS_IN_PHONE, text=text)
        return stored


class EnumText(Text):
    """A member of an enumeration; the first member is the empty value.

    `members` are names and captions. A value may be sent as either of them, or as the encoded
    name. With `named` the wire form is the encoded name, else the caption. With `name`, which has
    its namespace, a property is declared with the enumeration, and stored as the encoded name;
    without, it is declared as text, and stored as the caption. A stored text that is not a member
    is written as it is; with `named`, an empty one is the first member.
    """

    def __init__(
        self,
        members: Sequence[tuple[str, str]],
        *,
        named: bool,
        stored_length: int | None,
        name: str = "",
    ) -> None:
        super().__init__(stored_length)
        self.narrows = True
        self.members, self.name = members, name
        plain, captions = [each for each, _ in members], [caption for _, caption in members]
        names = list(map(encoded_name, plain))
        wire, stored = names if named else captions, names if name else captions
        self.default = stored[0]
        self._stored: dict[str, str] = {"": self.default}
        for spellings in (captions, plain, names) if named else (names, plain, captions):
            self._stored.update(zip(spellings, stored, strict=True))
        self._captions = ",".join(dict.fromkeys(captions))
        self.options = tuple(dict.fromkeys(wire))
        """The members in wire form."""
        self.caption_of: Mapping[str, str] = dict(zip(wire, captions, strict=True))
        """The captions of members by their wire form."""
        self.example = msgspec.json.encode(self.options[-1]).decode()
        self.expected = "one of the options " + ", ".join(map(quoted, self.options))
        if name and named:
            self.edm_name, self.facets = name, {}
            self.json_schema = {"type": "string", "enum": self.options}
        if wire is not stored:
            self._stored_of = dict(zip(wire, stored, strict=True))
            self._wire_of = dict(zip(stored, wire, strict=True))
            self._wire_of.setdefault("", self.options[0])
            self.restores = False
            self.to_wire = lambda stored: self._wire_of.get(str(stored), stored)
            pairs = self._stored_of.items()
            self.form = f"({','.join(f'{sent}={kept}' for sent, kept in pairs)})"

    @property
    def is_declared(self) -> bool:
        """Whether `$metadata` has the type as an enumeration, and not as text."""
        return self.edm_name == self.name

    def from_literal(self, text: str) -> Stored:
        """Convert `Namespace.Name'MEMBER'` (OData URL Conventions 4.01, section 5.1.1.14)."""
        prefix = f"{self.name}'"
        return self.from_text(text[len(prefix) : -1] if text.startswith(prefix) else text)

    def within(self, namespace: str, *, named: bool) -> "EnumText":
        """The same declared enumeration in another namespace, by names or captions."""
        name = f"{namespace}.{self.name.rpartition('.')[2]}"
        return EnumText(self.members, named=named, stored_length=self.stored_length, name=name)

    @property
    @override
    def accepted_json_schema(self) -> JsonSchema:
        return {**self.json_schema, "enum": self.options}

    @override
    def from_wire(self, value: Json) -> Stored:
        return self._stored_of.get(str(value), str(value))

    @override
    def from_text(self, text: str) -> Stored:
        stored = self._stored.get(text)
        if stored is None:
            raise EdmError(
                rows.NOT_AN_OPTION, expected=self.expected, value=text, options=self._captions
            )
        return stored


class Stream(Base64Text):
    """Bytes that clients read and write at an address of their own, and not within records.

    Long ones are converted slice by slice, so that the event loop may serve others in between.
    """

    edm_name = "Edm.Stream"
    media_type = "application/octet-stream"
    restores = False

    @override
    def from_json(self, value: Json) -> Stored:
        raise EdmError(rows.IS_A_STREAM)

    @override
    def from_wire(self, value: Json) -> Stored:
        return super().from_json(value)

    def to_bytes(self, stored: Stored) -> Iterator[bytes]:
        """The bytes of the stored form, in slices."""
        text = str(stored)
        step = _SLICE // 3 * 4
        return (base64.b64decode(text[at : at + step]) for at in range(0, len(text), step))

    def from_bytes(self, content: bytes) -> Iterator[str]:
        """The stored form of bytes, in slices to join."""
        slices = (content[at : at + _SLICE] for at in range(0, len(content), _SLICE))
        return (base64.b64encode(each).decode() for each in slices)


GUID = Guid()
BOOLEAN = Boolean()
TEXT = Text()
CODE = Text(UNIQUE_TEXT_LENGTH)
BASE64_TEXT = Base64Text()
STREAM = Stream()
