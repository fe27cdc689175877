"""The base of the readers of query options: the text, the position, and refusals of errors."""

import re
from collections.abc import Iterable

from comptoir.errors import refusal_rows as rows
from comptoir.errors.messages import SHOWN, quoted
from comptoir.errors.refusal import Fact, Facts, Refusal, RefusalRow
from comptoir.request.expression.lexer import OPERATOR_WORD, after_blanks

_EXAMPLE = "name eq 'A'"
_EXAMPLE_ORDER = "name desc,number"

# the first pattern that matches where a value is missing has the row
_NO_VALUE = tuple(
    (re.compile(pattern, re.IGNORECASE), row)
    for pattern, row in (
        (r"'", rows.VALUE_OPEN),
        (r"\{", rows.VALUE_BRACE),
        (r'"', rows.VALUE_QUOTES),
        (r"[+-]?[0-9]+(?:\.[0-9]+)?[mfld](?!\w)", rows.VALUE_SUFFIX),
        (r"-?[0-9]{4,}-[0-9]{2}-[0-9]{2}T", rows.VALUE_DATE_TIME),
        (r"-?[0-9]{4}-", rows.VALUE_DATE),
        (r"[0-9a-f]{8,}-", rows.VALUE_GUID),
        (r"[0-9]+:", rows.VALUE_TIME),
        (r"[+-]?[.0-9]", rows.VALUE_NUMBER),
        (r"[)\],:]", rows.VALUE_DELIMITER),
        (r"[*/+%<>=!&|]", rows.VALUE_SIGN),
        (r"", rows.NO_VALUE),
    )
)

_OTHER_OPERATORS = {
    word: operator
    for operator, words in {
        "eq": ("=", "==", "===", "is", "equals"),
        "ne": ("!=", "<>"),
        "lt": ("<",),
        "le": ("<=", "lte"),
        "gt": (">",),
        "ge": (">=", "gte"),
        "and": ("&", "&&"),
        "or": ("|", "||"),
        "add": ("+",),
        "sub": ("-",),
        "mul": ("*",),
        "div": ("/",),
        "mod": ("%",),
    }.items()
    for word in words
}
_OTHER_FORMS = {
    "like": "`contains(name,'A')`, `startswith(name,'A')` or `endswith(name,'A')`",
    "contains": "`contains(name,'A')`",
    "startswith": "`startswith(name,'A')`",
    "endswith": "`endswith(name,'A')`",
    "between": "`number ge 1 and number le 9`",
    "not": "`not (name in ('A','B'))` or `not (name eq 'A')`",
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

    def empty(self, example: str) -> Refusal:
        """400: a text without content."""
        return rows.EMPTY_TEXT(self.option, option=self.option, example=example)

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

    def unexpected(self, position: int, expected: str, example: str) -> Refusal:
        """400: something other than what `expected` describes follows `position`."""
        return self.misplaced(rows.UNEXPECTED, position, expected, example=example)

    def misplaced(
        self, row: RefusalRow, position: int, expected: str, shown: str = "", /, **facts: Fact
    ) -> Refusal:
        """400: as `unexpected`, with another row; `shown` is what to show of the text."""
        start = after_blanks(self.text, position)
        found = shown or self._found(start)
        before = _BEFORE.search(self.text, max(0, start - 2 * SHOWN), start)
        facts["after"] = f" after {quoted(before[0].strip())}" if before else ""
        facts["found"] = quoted(found) if found else "the end of the text"
        return self.refuse(row, start, known=(), expected=expected, **facts)

    def no_value(self, position: int) -> Refusal:
        """400: a value is expected at `position`."""
        text, start = self.text, after_blanks(self.text, position)
        if start == len(text):
            example = _EXAMPLE_ORDER if self.option == "$orderby" else _EXAMPLE
            if not text.strip(" \t"):
                return self.empty(example)
            return self.misplaced(rows.VALUE_ENDS, start, "a value", example=example)
        found = _WORD.match(text, start)
        row = next(row for pattern, row in _NO_VALUE if pattern.match(text, start))
        return self.misplaced(row, start, "a value", found[0] if found else text[start])

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
            return self.misplaced(rows.QUOTE_IN_TEXT, start, wanted)
        row, facts = _instead(found, delimiters)
        return self.misplaced(row, start, wanted, **facts)

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

    def _no_blank(self, position: int, side: str, word: str) -> Refusal:
        return self.refuse(rows.NO_BLANK, position, side=side, word=word)

    def _found(self, start: int) -> str:
        """The word, text or sign at `start`; empty at the end."""
        found = _FOUND.match(self.text, start)
        return found[0] if found else ""


def _instead(found: str, delimiters: str) -> tuple[RefusalRow, Facts]:
    """The row, with facts, for `found` after a value."""
    word = found.lower()
    if word in _OTHER_OPERATORS:
        return rows.OTHER_OPERATOR, {"operator": _OTHER_OPERATORS[word]}
    if word in _OTHER_FORMS:
        return rows.OTHER_FORM, {"form": _OTHER_FORMS[word]}
    if word in ("asc", "desc"):
        return rows.DIRECTION_INSIDE, {}
    if word == ":":
        return rows.TIME_OF_DAY, {}
    if re.fullmatch(r"'[^']*", word):
        return rows.OPEN_TEXT, {}
    if ":" in delimiters:
        return rows.UNEXPECTED, {"example": "case(number gt 0:'A',true:'B')"}
    if "," in delimiters:
        return rows.OPEN_LIST, {}
    return rows.UNJOINED, {"example": _EXAMPLE}


def _broken_guid(text: str, hyphen: int) -> re.Match[str] | None:
    """A malformed Guid whose first hyphen ended the value before it."""
    if text[hyphen] != "-":
        return None
    start = hyphen
    while start > max(0, hyphen - _LONGEST_BEFORE_HYPHEN) and text[start - 1].isalnum():
        start -= 1
    return _LIKE_A_GUID.match(text, start)
