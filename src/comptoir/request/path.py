"""Paths: `companies(<guid>)/contactsExt(<key>)` (OData URL Conventions 4.01, section 4)."""

import re
from functools import lru_cache
from urllib.parse import unquote_to_bytes

import msgspec

from comptoir.errors import INVALID_URL, Refusal

_SEGMENT = re.compile(r"([$A-Za-z_][\w.]*)(?:\((.*)\))?", re.ASCII | re.DOTALL)
_KEY_PART = re.compile(
    r"(?:([A-Za-z_]\w*)=)?(?:'([^']*(?:''[^']*)*)'(?!')|(@[^\W\d]\w*|[^'@,=()\s]+))(, *|\Z)"
)
_WITHOUT_KEY = frozenset({"$crossjoin", "$filter"})
_UNCLOSED = "a quote is not closed; inside a text it is doubled, ('O''Neil')"
_SLASH_OR_QUOTE = re.compile("/|'|%27")

SEGMENTS_KEPT = 4_096
"""How many parsed segments are kept: paths begin alike, and records are asked for again."""

LONGEST_KEPT = 200
"""The longest segment that is kept, in characters: few keys are longer."""


MOST_PARTS = 20
"""The most values of a key: no kind has as many."""


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
    """One segment of a path: a name and, in parentheses, the parts of a key.

    `expression` is what stands in the parentheses of `$filter(…)` or `$crossjoin(…)` instead. The
    call of a function without arguments has a key of no parts.
    """

    name: str
    key: tuple[KeyPart, ...] | None
    expression: str | None = None


def parse_path(path: str) -> tuple[Segment, ...]:
    """Split a percent-encoded path into its segments; a slash at the end says nothing.

    A slash within a quoted key is part of the key even when it is not encoded, since nothing else
    could be meant. Raises `Refusal` (400) for what is no resource path.
    """
    path = path.removeprefix("/")
    if not path:
        return ()
    path = path.removesuffix("/")
    texts = _split(path) if "'" in path or "%27" in path else path.split("/")
    return tuple([_kept(text) if len(text) <= LONGEST_KEPT else _segment(text) for text in texts])


def _split(path: str) -> list[str]:
    """The path cut at the slashes outside quotes; a quote that stands twice opens and closes."""
    texts: list[str] = []
    start, quoted = 0, False
    for found in _SLASH_OR_QUOTE.finditer(path):
        if found[0] != "/":
            quoted = not quoted
        elif not quoted:
            texts.append(path[start : found.start()])
            start = found.end()
    return [*texts, path[start:]]


def _segment(text: str) -> Segment:
    decoded = _decoded(text)
    match = _SEGMENT.fullmatch(decoded)
    if match is None:
        raise _malformed(decoded, _no_segment(decoded))
    name, predicate = match.groups()
    if predicate is None:
        return Segment(name, None)
    if name in _WITHOUT_KEY:
        return Segment(name, None, predicate)
    if not predicate and "." in name:
        return Segment(name, ())
    return Segment(name, _key(decoded, predicate))


_kept = lru_cache(SEGMENTS_KEPT)(_segment)


def _decoded(text: str) -> str:
    try:
        # a server hands over bytes as Latin-1; those that a client did not encode are UTF-8 too
        text = unquote_to_bytes(text.encode("latin-1")).decode()
    except UnicodeError:
        raise _malformed(text, "its percent-encoding is not UTF-8") from None
    if "\0" in text:
        raise _malformed(text, "it holds NUL")
    return text


def _no_segment(text: str) -> str:
    if not text:
        return "there is nothing between two slashes"
    if text in (".", ".."):
        return "name the resource from the service root on"
    return _UNCLOSED if text.count("'") % 2 else "a segment is a name, or a name and a key in ()"


def _no_key(text: str) -> str:
    if text.count("'") % 2:
        return _UNCLOSED
    return (
        "a key is a Guid, a number or a text in single quotes; several are named and separated by "
        "commas, (a='1',b='2')"
    )


def _key(segment: str, predicate: str) -> tuple[KeyPart, ...]:
    parts: list[KeyPart] = []
    position = 0
    is_last = False
    while not is_last:
        if len(parts) == MOST_PARTS:
            raise _malformed(segment, f"a key has up to {MOST_PARTS} parts")
        match = _KEY_PART.match(predicate, position)
        if match is None:
            raise _malformed(segment, _no_key(segment))
        name, quoted, plain, comma = match.groups()
        if quoted is None:
            parts.append(KeyPart(name, plain, quoted=False))
        else:
            parts.append(KeyPart(name, quoted.replace("''", "'"), quoted=True))
        position = match.end()
        is_last = not comma
    names = [part.name for part in parts]
    if len(parts) > 1 and (None in names or len(set(names)) < len(names)):
        raise _malformed(segment, "the parts of a key have names, each its own: (a='1',b='2')")
    return tuple(parts)


def _malformed(segment: str, rule: str) -> Refusal:
    return Refusal(INVALID_URL, f"The path segment {segment[:80]!r} is malformed: {rule}.")
