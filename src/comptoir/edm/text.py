"""Text: `Edm.String`, kept as sent, compared by code point."""

import base64
import binascii
from collections.abc import Sequence
from typing import cast

from typing_extensions import override

from comptoir.edm.primitive import JsonSchema, Stored, ValueFault, WrittenType

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


TEXT = Text()
CODE = Text(UNIQUE_TEXT_LENGTH)
BASE64_TEXT = Base64Text()
