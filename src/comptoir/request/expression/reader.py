"""The base of the readers of query options: the text, the position, and refusals of errors."""

import re
from collections.abc import Iterable

from comptoir.errors import refusal_rows as rows
from comptoir.errors.messages import SHOWN, quoted
from comptoir.errors.refusal import Fact, Refusal, RefusalRow
from comptoir.request.expression.lexer import OPERATOR_WORD, after_blanks

_EXAMPLE = "Write for example `name eq 'A'`."
_EXAMPLE_ORDER = "Write for example `name desc,number`."
_CLOSE_TEXT = "Close the text with `'`, and double a quote inside it: 'O''Neil'."

# the first pattern that matches where a value is missing has the remedy
_VALUE_REMEDIES = tuple(
    (re.compile(pattern, re.IGNORECASE), remedy)
    for pattern, remedy in (
        (r"'", _CLOSE_TEXT),
        (r"\{", "Write a Guid without braces, and a list in parentheses: ('A','B')."),
        (r'"', "Put text in single quotes: 'A'. In a list in brackets, close it with `\"`."),
        (r"[+-]?[0-9]+(?:\.[0-9]+)?[mfld](?!\w)", "Write the number without a suffix: 1.5."),
        (
            r"-?[0-9]{4,}-[0-9]{2}-[0-9]{2}T",
            "Write a date-time with valid parts and `Z` or an offset: 2024-12-31T23:59:59Z.",
        ),
        (r"-?[0-9]{4}-", "A date has a year of four digits, month and day: 2024-12-31."),
        (r"[0-9a-f]{8,}-", rows.NOT_A_GUID.remedy),
        (r"[0-9]+:", "A time of day has hours, minutes and seconds: 23:59:59."),
        (r"[+-]?[.0-9]", "Write numbers as 12, -12.5 or 1.2e3, and subtract with ` sub `."),
        (r"[)\],:]", "Add a value before it, or remove it."),
        (r"[*/+%<>=!&|]", f"Operators are words between two values. {_EXAMPLE}"),
    )
)

_OPERATOR_REMEDIES = {
    "=": "eq",
    "==": "eq",
    "===": "eq",
    "is": "eq",
    "equals": "eq",
    "!=": "ne",
    "<>": "ne",
    "<": "lt",
    "<=": "le",
    "lte": "le",
    ">": "gt",
    ">=": "ge",
    "gte": "ge",
    "&": "and",
    "&&": "and",
    "|": "or",
    "||": "or",
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "%": "mod",
}
_PHRASE_REMEDIES = {
    "like": "Write `contains(name,'A')`, `startswith(name,'A')` or `endswith(name,'A')`.",
    "contains": "Write `contains(name,'A')`.",
    "startswith": "Write `startswith(name,'A')`.",
    "endswith": "Write `endswith(name,'A')`.",
    "between": "Write `number ge 1 and number le 9`.",
    ":": "A time of day has hours, minutes and seconds: 23:59:59.",
    "not": "Write `not (name in ('A','B'))` or `not (name eq 'A')`.",
    "asc": "Put the direction at the end of an item of `$orderby`.",
    "desc": "Put the direction at the end of an item of `$orderby`.",
}
_OLD_LITERALS = {
    "guid": "5d115c9c-44e3-ea11-bb43-000d3a2feca1",
    "datetime": "2024-12-31T23:59:59Z",
    "datetimeoffset": "2024-12-31T23:59:59Z",
    "date": "2024-12-31",
    "time": "duration'PT1H' or 23:59:59",
    "timeofday": "23:59:59",
    "decimal": "1.5",
    "x": "binary'T0RhdGE'",
}
_FOUND = re.compile(r"'[^']*'?|\w+|[=<>!&|]+|.", re.DOTALL)
_CLOSING = frozenset(")]},:;")
_WORD = re.compile(r"[)\],:]|[^ \t]+")
_LIKE_A_GUID = re.compile(r"(?=[\w-]{20})[0-9a-fA-F]+(?:-\w+){2,}")
_LONGEST_BEFORE_HYPHEN = 36
_BEFORE = re.compile(rf"[^ \t]{{1,{SHOWN}}}[ \t]*\Z")


class OptionReader:
    """Reads the decoded text of a query option from left to right.

    `position` is the offset of what comes next. The methods of this class make the refusals of
    errors in the text.
    """

    __slots__ = ("option", "position", "text")

    def __init__(self, text: str, option: str, position: int = 0) -> None:
        self.text = text
        self.option = option
        self.position = position

    def skip_blanks(self) -> int:
        """Step over spaces and tabs; returns the new position."""
        self.position = after_blanks(self.text, self.position)
        return self.position

    def at_end(self) -> bool:
        """Whether only spaces and tabs follow."""
        return after_blanks(self.text, self.position) == len(self.text)

    def empty(self, advice: str) -> Refusal:
        """400: a text without content."""
        return rows.EMPTY_TEXT(self.option, option=self.option, advice=advice)

    def refuse(
        self, row: RefusalRow, at: int, /, *, known: Iterable[str] = (), **facts: Fact
    ) -> Refusal:
        """The refusal of what is at `at`."""
        end = at + (len(self._found(at)) if row.group == "SYNTAX" else 0)
        more = {**facts, "position": end, "text": self.text}
        return row(self.option, at, known=known, more=more)

    def unsupported(self, construct: str, at: int) -> Refusal:
        """501: valid OData at `at` that the service does not support."""
        return rows.NOT_SUPPORTED(self.option, at, construct=construct)

    def unexpected(self, position: int, expected: str, remedy: str) -> Refusal:
        """400: something other than what `expected` describes follows `position`."""
        start = after_blanks(self.text, position)
        return self._unexpected(rows.UNEXPECTED, start, expected, self._found(start), remedy)

    def no_value(self, position: int) -> Refusal:
        """400: a value is expected at `position`."""
        text, start = self.text, after_blanks(self.text, position)
        remedy = _EXAMPLE_ORDER if self.option == "$orderby" else _EXAMPLE
        if not text.strip(" \t"):
            return self.empty(remedy)
        shown = ""
        if start < len(text):
            found = _WORD.match(text, start)
            shown = found[0] if found else text[start]
            remedy = "A value is a property, a literal, a function or an expression in parentheses."
            for pattern, each in _VALUE_REMEDIES:
                if pattern.match(text, start):
                    remedy = each
                    break
        return self._unexpected(rows.NO_VALUE, start, "a value", shown, remedy)

    def no_operator(self, position: int, delimiters: str, opened: int) -> Refusal:
        """400: what follows a value at `position` neither joins it to another nor ends it.

        `delimiters` could follow too; `opened` is the offset of the innermost open bracket, or -1.
        """
        text, start = self.text, after_blanks(self.text, position)
        if start == len(text):
            closing = "]" if text[opened] == "[" else ")"
            return self.refuse(rows.NOT_CLOSED, opened, opening=text[opened], closing=closing)
        if text[start] in ")]" and (opened < 0 or text[opened] + text[start] not in ("()", "[]")):
            return self.refuse(rows.NOT_OPEN, start, closing=text[start])
        guid = _broken_guid(text, start)
        if guid is not None:
            return self.refuse(rows.NOT_A_GUID, guid.start(), guid=guid[0])
        word = OPERATOR_WORD.match(text, start)
        if word and word.end() == len(text):
            return self.no_value(len(text))
        if word:
            side = "before" if start == position else "after"
            return self._no_blank(start, side, word[0])
        marks = [f"'{mark}'" for mark in delimiters]
        wanted = " or ".join([", ".join(["an operator", *marks[:-1]]), *marks[-1:]])
        found = self._found(start)
        if start == position and text[start - 1] == "'" and text[start] not in _CLOSING:
            remedy = "Double a quote inside a text: 'O''Neil'."
        else:
            remedy = _operator_remedy(found, delimiters)
        return self._unexpected(rows.UNEXPECTED, start, wanted, found, remedy)

    def no_order(self, position: int, *, directed: bool = False) -> Refusal:
        """400: what follows an item of `$orderby` at `position` does not belong to an item.

        `directed`: the item ends with its direction.
        """
        expected = "','" if directed else "an operator, 'asc', 'desc' or ','"
        return self.unexpected(position, expected, _EXAMPLE_ORDER)

    def bad_prefix(self, prefix: str, position: int) -> Refusal:
        """400, 501: `prefix`, before a quote, is not that of a literal."""
        word = prefix.lower()
        if word in ("geography", "geometry"):
            return self.unsupported(f"A {word} literal", position)
        if word in _OLD_LITERALS:
            literal = _OLD_LITERALS[word]
            return self.refuse(rows.OLD_PREFIX, position, prefix=prefix, literal=literal)
        if OPERATOR_WORD.fullmatch(prefix):
            return self._no_blank(position, "after", prefix)
        return self.refuse(rows.UNKNOWN_PREFIX, position, prefix=prefix)

    def bad_quoted(self, prefix: str, position: int) -> Refusal:
        """400: the quoted text of a literal does not have the form of its type."""
        examples = {"duration": "duration'P1DT12H'", "binary": "binary'T0RhdGE='"}
        example = examples.get(prefix.lower(), "Ns.Color'Red,Blue'")
        return self.refuse(rows.MALFORMED_LITERAL, position, prefix=prefix, example=example)

    def _unexpected(
        self, row: RefusalRow, start: int, expected: str, found: str, advice: str
    ) -> Refusal:
        before = _BEFORE.search(self.text, max(0, start - 2 * SHOWN), start)
        after = f" after {quoted(before[0].strip())}" if before else ""
        shown = quoted(found) if found else "the end of the text"
        return self.refuse(row, start, expected=expected, after=after, found=shown, advice=advice)

    def _no_blank(self, position: int, side: str, word: str) -> Refusal:
        return self.refuse(rows.NO_BLANK, position, side=side, word=word)

    def _found(self, start: int) -> str:
        """The word, text or sign at `start`; empty at the end."""
        found = _FOUND.match(self.text, start)
        return found[0] if found else ""


def _operator_remedy(found: str, delimiters: str) -> str:
    """The remedy for `found` after a value."""
    word = found.lower()
    if word in _OPERATOR_REMEDIES:
        return f"Write ` {_OPERATOR_REMEDIES[word]} ` with spaces around it."
    if word in _PHRASE_REMEDIES:
        return _PHRASE_REMEDIES[word]
    if re.fullmatch(r"'[^']*", word):
        return _CLOSE_TEXT
    if ":" in delimiters:
        return "Write for example `case(number gt 0:'A',true:'B')`."
    if "," in delimiters:
        return "Separate members by `,`, and close the bracket after the last one."
    return f"{_EXAMPLE[:-1]} and join conditions with ` and ` or ` or `."


def _broken_guid(text: str, hyphen: int) -> re.Match[str] | None:
    """A malformed Guid whose first hyphen ended the value before it."""
    if text[hyphen] != "-":
        return None
    start = hyphen
    while start > max(0, hyphen - _LONGEST_BEFORE_HYPHEN) and text[start - 1].isalnum():
        start -= 1
    return _LIKE_A_GUID.match(text, start)
