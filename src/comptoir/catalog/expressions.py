"""The expressions by which properties follow from others, as in `concat(toupper(name),'!')`."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from comptoir.edm.types import Stored

Value = Callable[[Mapping[str, Stored]], str]
"""The text that an expression has for a record."""

MOST_TOKENS = 300
"""The most names, literals and signs of an expression, which may be nested."""

_TOKEN = r"\s*('(?:[^']|'')*'|\w+|[(),])"  # noqa: S105 - part of an expression
_TOKENS = re.compile(rf"(?:{_TOKEN})+\s*")
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
    tokens = re.findall(_TOKEN, text)[::-1]
    if _TOKENS.fullmatch(text) is None or len(tokens) > MOST_TOKENS:
        return None
    names: dict[str, None] = {}
    value = _operand(tokens, names)
    return None if value is None or tokens or not names else Expression(tuple(names), value)


def _operand(tokens: list[str], names: dict[str, None]) -> Value | None:
    """Take an operand off the end of the tokens, whose order is reversed."""
    first = tokens.pop() if tokens else ")"
    if first in "(),":
        return None
    if tokens[-1:] == ["("]:
        return _call(first, tokens, names)
    if first.startswith("'"):
        literal = first[1:-1].replace("''", "'")
        return lambda _: literal
    names[first] = None
    return lambda record: str(record[first])


def _call(name: str, tokens: list[str], names: dict[str, None]) -> Value | None:
    count, function = _FUNCTIONS.get(name, (0, str))
    arguments: list[Value] = []
    while tokens and tokens.pop() in "(,":
        argument = _operand(tokens, names)
        if argument is None or tokens[-1:] not in ([","], [")"]):
            return None
        arguments.append(argument)
    if len(arguments) != count:
        return None
    return lambda record: function(*[each(record) for each in arguments])
