"""Paths: `companies(<guid>)/contactsExt(<key>)` (OData URL Conventions 4.01, section 4)."""

import re
from functools import lru_cache
from urllib.parse import unquote

import msgspec

from comptoir.errors import INVALID_URL, Refusal

_SEGMENT = re.compile(r"([$A-Za-z_][\w.]*)(?:\((.*)\))?", re.ASCII | re.DOTALL)
_KEY_PART = re.compile(r"(?:([A-Za-z_]\w*)=)?(?:'((?:[^']|'')*)'|([^',=()\s]+))", re.ASCII)

SEGMENTS_KEPT = 4_096
"""How many parsed segments are kept: paths begin alike, and records are asked for again."""


class KeyPart(msgspec.Struct, frozen=True):
    """One value of a key: `code='PCS'` has the name `code`, the text `PCS`, and is quoted."""

    name: str | None
    text: str
    quoted: bool

    @property
    def alias(self) -> str | None:
        """The parameter alias that stands for the value, without its `@`; None for a value."""
        return self.text[1:] if self.text.startswith("@") and not self.quoted else None


class Segment(msgspec.Struct, frozen=True):
    """One segment of a path: a name and, in parentheses, the parts of a key."""

    name: str
    key: tuple[KeyPart, ...] | None


def parse_path(path: str) -> tuple[Segment, ...]:
    """Split a percent-encoded path into its segments; a slash at the end says nothing.

    Raises `Refusal` (400) for what is no resource path.
    """
    texts = path.strip("/").split("/")
    if texts == [""]:
        return ()
    return tuple(_segment(text) for text in texts)


@lru_cache(SEGMENTS_KEPT)
def _segment(text: str) -> Segment:
    if "%" in text:
        try:
            text = unquote(text, errors="strict")
        except UnicodeDecodeError:
            raise _malformed(text, "its percent-encoding is not UTF-8") from None
    match = _SEGMENT.fullmatch(text)
    if match is None:
        raise _malformed(text, "a segment is a name, or a name and a key in parentheses")
    name, predicate = match.groups()
    return Segment(name, None if predicate is None else _key(text, predicate))


def _key(segment: str, predicate: str) -> tuple[KeyPart, ...]:
    parts: list[KeyPart] = []
    position = 0
    while True:
        match = _KEY_PART.match(predicate, position)
        if match is None:
            raise _malformed(segment, "a key is a Guid, a number or a text in single quotes")
        name, quoted, plain = match.groups()
        if quoted is None:
            parts.append(KeyPart(name, plain, quoted=False))
        else:
            parts.append(KeyPart(name, quoted.replace("''", "'"), quoted=True))
        position = match.end()
        if position == len(predicate):
            return tuple(parts)
        if predicate[position] != ",":
            raise _malformed(segment, "the parts of a key are separated by commas")
        position += 1


def _malformed(segment: str, rule: str) -> Refusal:
    return Refusal(INVALID_URL, f"The path segment {segment[:80]!r} is malformed: {rule}.")
