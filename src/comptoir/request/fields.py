"""Header fields that are lists of elements with parameters (RFC 9110, 5.6), read leniently.

`a/b;c=d;q=0.5, "e, f";g="h;i"` and the like: Accept, Content-Type, Accept-Encoding, Prefer.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

import msgspec

from comptoir.request.words import BLANKS, lowered

TEXTS_KEPT = 256
"""How many texts of one header are kept with what they mean, for those who send them again."""

LONGEST_KEPT = 500
"""The longest such text, in bytes: what clients send is shorter."""

MOST_PARTS = 500
"""How many elements and parameters of a field are read."""

_QUALITY = re.compile(r"\d{1,4}(?:\.\d{0,20})?|\.\d{1,20}", re.ASCII)

T = TypeVar("T")

_QUOTED = r'"(?:[^"\\]|\\.)*"'
_PART = re.compile(rf'(?:[^",;]|{_QUOTED})*+', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class Element(msgspec.Struct, frozen=True):
    """One element of a list: `name` or `name=value`, with its parameters in their order.

    Names are in lower case; values are without quotes, "" where there is none.
    """

    name: str
    value: str
    parameters: tuple[tuple[str, str], ...]


def elements(text: str) -> list[Element]:
    """The elements of a field; empty ones are left out.

    So is what follows an open quote, and what no client sends: more than `MOST_PARTS`.
    """
    found: list[Element] = []
    parts: list[tuple[str, str]] = []
    position, end, left = 0, len(text), MOST_PARTS
    while position <= end and left:
        left -= 1
        match = _PART.match(text, position)
        position = position if match is None else match.end()
        if position < end and text[position] == '"':
            break
        if match is not None:
            parts.append(_pair(match[0]))
        if position == end or text[position] == ",":
            _close(parts, found)
            parts = []
        position += 1
    return found


def quality(element: Element) -> float:
    """How much an element is liked, from 0 to 1 (RFC 9110, 12.4.2); 1 when it does not say."""
    for name, value in element.parameters:
        if name == "q" and _QUALITY.fullmatch(value):
            return min(float(value), 1.0)
    return 1.0


def kept(read: Callable[[bytes], T]) -> Callable[[bytes], T]:
    """A reader of a header's text that remembers what short texts mean."""
    remembered = lru_cache(TEXTS_KEPT)(read)

    def reading(text: bytes) -> T:
        return remembered(text) if len(text) <= LONGEST_KEPT else read(text)

    return reading


def _close(parts: list[tuple[str, str]], found: list[Element]) -> None:
    (name, value), *parameters = parts
    if name:
        found.append(Element(name, value, tuple(each for each in parameters if each[0])))


def _pair(part: str) -> tuple[str, str]:
    name, _, value = part.partition("=")
    value = value.strip(BLANKS)
    if len(value) > 1 and value[0] == value[-1] == '"':
        value = _ESCAPED.sub(r"\1", value[1:-1])
    return lowered(name.strip(BLANKS)), value
