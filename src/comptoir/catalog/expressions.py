"""The expressions by which properties follow from others, as in `concat(toupper(name),'!')`."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from comptoir.edm.types import Stored

Value = Callable[[Mapping[str, Stored]], str]
"""The text that an expression has for a record."""

MOST_PARTS = 300
"""The most names, literals and signs of an expression, which may be nested."""

_PART = r"\s*('(?:[^']|'')*'|\w+|[(),])"
_PARTS = re.compile(rf"(?:{_PART})+\s*")
_FUNCTIONS: Mapping[str, tuple[int, Callable[..., str]]] = {
    "toupper": (1, str.upper),
    "tolower": (1, str.lower),
    "trim": (1, str.strip),
    "concat": (2, str.__add__),
}
"""The functions and the number of their arguments; `toupper` makes SS of ß, as Unicode does."""


class Expression(NamedTuple):
    """An expression, and the properties that it needs."""

    names: tuple[str, ...]
    value: Value


def parse(text: str) -> Expression | None:
    """The meaning of a text that names at least one property; None for another, or a long one."""
    parts = re.findall(_PART, text)[::-1]
    if _PARTS.fullmatch(text) is None or len(parts) > MOST_PARTS:
        return None
    names: dict[str, None] = {}
    value = _operand(parts, names)
    return None if value is None or parts or not names else Expression(tuple(names), value)


def _operand(parts: list[str], names: dict[str, None]) -> Value | None:
    """Take an operand off the end of the parts, whose order is reversed."""
    first = parts.pop() if parts else ")"
    if first in "(),":
        return None
    if parts[-1:] == ["("]:
        return _call(first, parts, names)
    if first.startswith("'"):
        literal = first[1:-1].replace("''", "'")
        return lambda _: literal
    names[first] = None
    return lambda record: str(record[first])


def _call(name: str, parts: list[str], names: dict[str, None]) -> Value | None:
    count, function = _FUNCTIONS.get(name, (0, str))
    arguments: list[Value] = []
    while parts and parts.pop() in "(,":
        argument = _operand(parts, names)
        if argument is None or parts[-1:] not in ([","], [")"]):
            return None
        arguments.append(argument)
    if len(arguments) != count:
        return None
    return lambda record: function(*[each(record) for each in arguments])
