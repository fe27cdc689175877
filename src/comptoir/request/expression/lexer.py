"""The tokens of an expression (OData 4.01 ABNF, chapters 4 and 7), as two regular expressions.

The library odata-query is not used: it rejects `allowLineDiscount eq true` and `0001-01-01`, and
its lexer is end-of-life.

Operands and operators have an expression each, since a word means something else in either place:
in `eq eq 1` the first `eq` is a property. The parser knows which one it expects, so no name is
reserved. The name of the group that matched is the token type.
"""

import re
from typing import get_args

from comptoir.request.expression.tree import Literal, LiteralType

_OPERATORS = "and|or|eq|ne|lt|le|gt|ge|has|add|sub|mul|divby|div|mod|in"
_DATE = "-?(?:0[0-9]{3}|[1-9][0-9]{3,})-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_MINUTES = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
_TIME = rf"{_MINUTES}(?::(?:[0-5][0-9]|60)(?:\.[0-9]{{1,12}})?)?"
_NAME = r"[^\W\d]\w*"
_END = r"(?![\w.-])"

# (?!') ends a string at its last quote when its closing quote is missing, too.
OPERAND = re.compile(
    rf"""
      (?P<guid>[0-9a-fA-F]{{8}}-(?:[0-9a-fA-F]{{4}}-){{3}}[0-9a-fA-F]{{12}}{_END})
    | (?P<not>(?ai:not)(?:(?=\()|[ \t]+(?!(?ai:{_OPERATORS})[ \t]|[),:\]]|\Z)))
    | (?P<name>{_NAME}(?:/{_NAME})*)
    | (?P<string>'[^']*(?:''[^']*)*'(?!'))
    | (?P<datetimeoffset>{_DATE}[Tt]{_TIME}(?:[Zz]|[+\- ]{_MINUTES}){_END})
    | (?P<date>{_DATE}{_END})
    | (?P<timeofday>{_TIME}{_END})
    | (?P<double>[+-]?[0-9]+(?:\.[0-9]+)?[eE][+-]?[0-9]+[dDfF]?{_END}|-INF{_END})
    | (?P<decimal>[+-]?[0-9]+(?:\.[0-9]+[dDfFmM]?|[dDfFmM]){_END})
    | (?P<integer>[+-]?[0-9]+[lL]?{_END})
    | (?P<parenthesis>\([ \t]*)
    | (?P<minus>-[ \t]*)
    | (?P<parameter>@{_NAME})
    | (?P<reserved>\${_NAME})
    | (?P<array>\[[ \t]*)
    | (?P<object>\{{)
    | (?P<json>"[^"\\]*(?:\\.[^"\\]*)*")
    """,
    re.VERBOSE,
)
"""The start of an operand, or a prefix operator.

Numbers may have a suffix of OData 3, which some clients still write: `1.5m`, `5L`.
"""

OPERATOR = re.compile(rf"[ \t]+({_OPERATORS})[ \t]+", re.IGNORECASE | re.ASCII)
"""An infix operator between the blanks that the ABNF requires around it."""

OPERATOR_WORD = re.compile(rf"(?:{_OPERATORS})(?!\w)", re.IGNORECASE | re.ASCII)
"""An infix operator without the blanks around it."""

DELIMITER = re.compile(r"[ \t]*([)\]]|[,:][ \t]*)")
"""The delimiter after an operand inside brackets, with the blanks around it."""

DIRECTION = re.compile(r"[ \t]+(asc|desc)(?!\w)", re.IGNORECASE | re.ASCII)
"""The direction of an item of `$orderby`."""

LAMBDA_VARIABLE = re.compile(rf"({_NAME})[ \t]*:[ \t]*")
"""The variable that opens the predicate of `any` and `all`."""

LONG_PATH = re.compile(rf"\$?{_NAME}(?:\.{_NAME})*(?:/[$@]?{_NAME}(?:\.{_NAME})*)*")
"""A path with all that the standard allows in it: types, `$count`, annotations."""

QUOTED = re.compile(r"'[^']*(?:''[^']*)*'(?!')")
"""The quoted part of a literal whose prefix names its type."""

AFTER_NAME = frozenset("(./'")
"""Characters after a name that is not just a property or the word for a value."""

LITERAL_TYPES: dict[str | None, LiteralType] = {
    each: each for each in get_args(LiteralType) if each in OPERAND.groupindex
}
"""The groups of `OPERAND` that are literals."""

LITERAL_WORDS: dict[str, LiteralType] = {
    "null": "null", "INF": "double", "NaN": "double", "true": "boolean", "false": "boolean",
}  # fmt: skip
"""Words for values, and their types."""

QUOTED_FORMS = {
    "duration": re.compile(
        r"[+ -]?P(?=[0-9T])(?:[0-9]+D)?"
        r"(?:T(?=[0-9])(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+(?:\.[0-9]+)?S)?)?",
        re.IGNORECASE | re.ASCII,
    ),
    "binary": re.compile(r"[A-Za-z0-9_-]*={0,2}"),
}
"""The forms of quoted texts by the prefix of the literal."""

ENUM_FORM = re.compile(r"(?:[^\W\d]\w*|-?[0-9]+)(?:,(?:[^\W\d]\w*|-?[0-9]+))*")
"""The quoted text of an enumeration literal: names or numbers of its members."""

_BLANKS = re.compile(r"[ \t]*")


def after_blanks(text: str, position: int) -> int:
    """The offset of the first character at or after `position` that is not a blank."""
    found = _BLANKS.match(text, position)
    return found.end() if found else position


def duration_text(quoted: str) -> str:
    """The canonical text of a well-formed duration."""
    return quoted.upper().lstrip("+ ")


_SUFFIXED: frozenset[LiteralType] = frozenset({"decimal", "double", "integer"})


def literal(literal_type: LiteralType, text: str, start: int) -> Literal:
    """The literal that the group `literal_type` of `OPERAND` matched at `start`."""
    if literal_type == "string":
        text = text[1:-1].replace("''", "'")
    elif literal_type == "datetimeoffset":
        # a `+` in a query arrives as a blank
        text = text.upper().replace(" ", "+")
    elif literal_type in _SUFFIXED:
        text = _number(literal_type, text)
    return Literal(literal_type, text, start)


def _number(literal_type: LiteralType, text: str) -> str:
    """A number without its sign `+` and its suffix; a decimal point keeps the type decimal."""
    text = text.removeprefix("+")
    if text != "-INF":
        text = text.rstrip("dDfFlLmM")
    return f"{text}.0" if literal_type == "decimal" and "." not in text else text
