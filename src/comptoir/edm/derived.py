"""Types that an overlay gives to declared properties: they accept less, or have another wire form.

Each is stored in the column of the declared type and compared like it, so services with other
overlays may use the same database. What one of them does not accept, another may have stored.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence

import msgspec
from typing_extensions import override

from comptoir.edm.times import DateTimeOffset
from comptoir.edm.types import Base64Text, JsonSchema, Stored, Text, ValueFault, Wire
from comptoir.errors import refusal_rows as rows
from comptoir.errors.messages import quoted
from comptoir.jsonvalue import Json

_SLICE = 3 << 16
"""The most bytes that are converted at once, which takes about two milliseconds."""

_NOT_IN_NAME = re.compile(r"[^\w.-]|^[\d.-]|_(?=x[0-9A-Fa-f]{4}_)")


def encoded_name(name: str) -> str:
    """The name of an enumeration's member as an XML name: `Bar Code` is `Bar_x0020_Code`."""
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

    @override
    def from_texts(self, texts: Sequence[str]) -> list[Stored]:
        return [self.from_text(text) for text in texts]


class EmailText(Text):
    """E-mail addresses, separated by semicolons, each with one @ between other characters."""

    @override
    def from_text(self, text: str) -> Stored:
        stored = super().from_text(text)
        for each in text.strip(";").split(";") if text else ():
            address = each.strip(" ")
            name, _, host = address.partition("@")
            if not name or not host or "@" in host or " " in address:
                raise ValueFault(rows.NOT_AN_EMAIL, value=address)
        return stored

    @override
    def from_texts(self, texts: Sequence[str]) -> list[Stored]:
        return [self.from_text(text) for text in texts]


class PhoneText(Text):
    """A phone number, which has no letters."""

    @override
    def from_text(self, text: str) -> Stored:
        stored = super().from_text(text)
        if any(map(str.isalpha, text)):
            raise ValueFault(rows.LETTERS_IN_PHONE, text=text)
        return stored

    @override
    def from_texts(self, texts: Sequence[str]) -> list[Stored]:
        return [self.from_text(text) for text in texts]


class EnumText(Text):
    """A member of an enumeration, stored as its caption; the first member is the empty value.

    `members` are names and captions. A value may be sent as either of them, or as the encoded
    name. With `named` the wire form is the encoded name, else the caption. A stored text that is
    not a member is written as it is; with `named`, an empty one is the first member.
    """

    def __init__(
        self, members: Sequence[tuple[str, str]], *, named: bool, stored_length: int | None
    ) -> None:
        super().__init__(stored_length)
        self.narrows = True
        self.default = members[0][1]
        self._stored: dict[str, str] = {"": self.default}
        names = {encoded_name(name): caption for name, caption in members}
        captions = {caption: caption for _, caption in members}
        plain = dict(members)
        for spellings in (captions, plain, names) if named else (names, plain, captions):
            self._stored |= spellings
        self._captions = ",".join(captions)
        self.options = tuple(names if named else captions)
        """The members in wire form."""
        self.empty_json = msgspec.json.encode(self.options[0]).decode()
        self.example = msgspec.json.encode(self.options[-1]).decode()
        self.expected = "one of the options " + ", ".join(map(quoted, self.options))
        if named:
            self._caption_of = names
            self._name_of = {caption: name for name, caption in names.items()}
            self._name_of.setdefault("", self.options[0])
            self.restores = False
            self.to_wire = self._to_name
            self.form = f"({','.join(f'{name}={caption}' for name, caption in names.items())})"

    @property
    @override
    def accepted_json_schema(self) -> JsonSchema:
        return {**self.json_schema, "enum": self.options}

    def _to_name(self, stored: Stored) -> Wire:
        return self._name_of.get(str(stored), stored)

    @override
    def from_wire(self, value: Json) -> Stored:
        return self._caption_of.get(str(value), str(value))

    @override
    def from_text(self, text: str) -> Stored:
        stored = self._stored.get(text)
        if stored is None:
            raise ValueFault(
                rows.NOT_AN_OPTION, expected=self.expected, value=text, options=self._captions
            )
        return stored

    @override
    def from_texts(self, texts: Sequence[str]) -> list[Stored]:
        return [self.from_text(text) for text in texts]


class ShortInstant(DateTimeOffset):
    """An instant whose wire form has no zeros at the end of its seconds: `12:30:00.5Z`."""

    empty_json = '"0001-01-01T00:00:00Z"'
    example = '"2026-01-31T12:30:00Z"'
    form = "(short)"

    @staticmethod
    def _wire(stored: Stored) -> Wire:
        seconds, _, fraction = str(stored)[:-1].partition(".")
        fraction = fraction.rstrip("0")
        return f"{seconds}.{fraction}Z" if fraction else f"{seconds}Z"

    to_wire = _wire


class Stream(Base64Text):
    """Bytes that clients read and write at an address of their own, and not within records.

    Long ones are converted slice by slice, so that the event loop may serve others in between.
    """

    edm_name = "Edm.Stream"
    media_type = "application/octet-stream"
    restores = False

    @override
    def from_json(self, value: Json) -> Stored:
        raise ValueFault(rows.IS_A_STREAM)

    def to_bytes(self, stored: Stored) -> Iterator[bytes]:
        """The bytes of the stored form, in slices."""
        text = str(stored)
        step = _SLICE // 3 * 4
        return (b64decode(text[at : at + step]) for at in range(0, len(text), step))

    def from_bytes(self, content: bytes) -> Iterator[str]:
        """The stored form of bytes, in slices to join."""
        slices = (content[at : at + _SLICE] for at in range(0, len(content), _SLICE))
        return (b64encode(each).decode() for each in slices)


SHORT_INSTANT = ShortInstant()
STREAM = Stream()
