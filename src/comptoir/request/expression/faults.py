"""What is said to whoever wrote an expression that cannot be read: found, expected, remedy.

Every function returns the `Refusal` to raise. Columns count from 1.
"""

import re

from comptoir.errors import INVALID_URL, NOT_IMPLEMENTED, Refusal
from comptoir.request.expression.lexer import OPERATOR_WORD, after_blanks

_SHOWN = 20
_EXAMPLE = "Write for example `name eq 'A'`."
_EXAMPLE_ORDER = "Write for example `name desc,number`."
_CLOSE_TEXT = "Close the text with `'`, and double a quote inside it: 'O''Neil'."
_GUID = "A Guid has 8-4-4-4-12 hexadecimal digits: 5d115c9c-44e3-ea11-bb43-000d3a2feca1."

# Tried in this order at the place where no value could be read.
_VALUE_REMEDIES = tuple(
    (re.compile(pattern, re.IGNORECASE), remedy)
    for pattern, remedy in (
        (r"'", _CLOSE_TEXT),
        (r"\{", "A Guid has no braces, and a list stands in parentheses: ('A','B')."),
        (r'"', "Text stands in single quotes: 'A'. In a list in brackets, close it with `\"`."),
        (r"[+-]?[0-9]+(?:\.[0-9]+)?[mfld](?!\w)", "Write the number without a suffix: 1.5."),
        (
            r"-?[0-9]{4,}-[0-9]{2}-[0-9]{2}T",
            "Write a date-time with valid parts and `Z` or an offset: 2024-12-31T23:59:59Z.",
        ),
        (r"-?[0-9]{4}-", "A date has four digits, month and day: 2024-12-31."),
        (r"[0-9a-f]{8,}-", _GUID),
        (r"[0-9]+:", "A time of day has hours, minutes and seconds: 23:59:59."),
        (r"[+-]?[.0-9]", "Numbers are written 12, -12.5 or 1.2e3, and subtracted with ` sub `."),
        (r"[)\],:]", "A value is missing before it, or it is one too many."),
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
    "asc": "A direction belongs at the end of an item of `$orderby`.",
    "desc": "A direction belongs at the end of an item of `$orderby`.",
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
_WORD = re.compile(r"[^ \t]+")
_LIKE_A_GUID = re.compile(r"(?=[\w-]{20})[0-9a-fA-F]+(?:-\w+){2,}")
_LONGEST_BEFORE_HYPHEN = 36
_BEFORE = re.compile(rf"[^ \t]{{1,{_SHOWN}}}[ \t]*\Z")


def _quote(text: str) -> str:
    """`text` in backquotes, cut to what a message bears."""
    return f"`{text}`" if len(text) <= _SHOWN else f"`{text[: _SHOWN - 1]}…`"


def _place(text: str, position: int) -> str:
    """Where `position` is: the words before it, and its column."""
    before = _BEFORE.search(text, max(0, position - 2 * _SHOWN), position)
    after = f" after `{before[0].strip()}`" if before else ""
    return f"{after} at column {position + 1}"


def _refusal(option: str, message: str) -> Refusal:
    return Refusal(INVALID_URL, f"{option}: {message}", target=option)


def no_value(text: str, position: int, option: str) -> Refusal:
    """Nothing at `position` can be a value."""
    if not text.strip(" \t"):
        example = _EXAMPLE_ORDER if option == "$orderby" else _EXAMPLE
        return _refusal(option, f"the expression is empty. {example}")
    start = after_blanks(text, position)
    expected = f"expected a value{_place(text, start)}"
    if start == len(text):
        return _refusal(option, f"{expected}, but the text ends. {_EXAMPLE}")
    found = _WORD.match(text, start)
    shown = _quote(found[0] if found else text[start])
    for pattern, remedy in _VALUE_REMEDIES:
        if pattern.match(text, start):
            return _refusal(option, f"{expected}, but found {shown}. {remedy}")
    return _refusal(
        option,
        f"{expected}, but found {shown}. "
        "A value is a property, a literal, a function or an expression in parentheses.",
    )


def no_operator(text: str, position: int, expected: str, opened: int, option: str) -> Refusal:
    """What follows a value at `position` neither joins it to another nor ends it.

    `expected` holds the delimiters that could have stood there as well, `opened` is the offset of
    the innermost open bracket, or -1.
    """
    start = after_blanks(text, position)
    if start == len(text):
        return _unclosed(text, opened, start, option)
    if text[start] in ")]" and (opened < 0 or text[opened] + text[start] not in ("()", "[]")):
        return _refusal(
            option,
            f"the `{text[start]}` at column {start + 1} closes nothing that is open there. "
            "Remove it, or open a bracket before it.",
        )
    guid = _broken_guid(text, start)
    if guid is not None:
        shown = _quote(guid[0])
        return _refusal(option, f"{shown} at column {guid.start() + 1} is no Guid. {_GUID}")
    word = OPERATOR_WORD.match(text, start)
    if word and word.end() == len(text):
        return no_value(text, len(text), option)
    if word:
        side = "before" if start == position else "after"
        return _refusal(
            option, f"expected a blank {side} `{word[0]}` at column {start + 1}. {_EXAMPLE}"
        )
    wanted = " or ".join(["an operator", *(f"`{mark}`" for mark in expected)])
    found = _found(text, start)
    if start == position and text[start - 1] == "'":
        remedy = "Double a quote inside a text: 'O''Neil'."
    else:
        remedy = _operator_remedy(found, expected)
    return _refusal(
        option,
        f"expected {wanted}{_place(text, start)}, but found {_quote(found)}. {remedy}",
    )


def no_order(text: str, position: int, option: str) -> Refusal:
    """What follows an item of `$orderby` at `position` belongs to no item."""
    start = after_blanks(text, position)
    return _refusal(
        option,
        f"expected an operator, `asc`, `desc` or `,`{_place(text, start)}, "
        f"but found {_quote(_found(text, start))}. {_EXAMPLE_ORDER}",
    )


def misplaced(text: str, position: int, expected: str, remedy: str, option: str) -> Refusal:
    """What `expected` says was to stand at `position`; `remedy` is a sentence."""
    start = after_blanks(text, position)
    found = "the text ends" if start == len(text) else f"found {_quote(_found(text, start))}"
    return _refusal(option, f"expected {expected}{_place(text, start)}, but {found}. {remedy}")


def misused(position: int, message: str, option: str) -> Refusal:
    """What stands at `position` cannot stand there; `message` says why, and what to do."""
    return _refusal(option, f"at column {position + 1}, {message}")


def _found(text: str, start: int) -> str:
    """The word, text or sign at `start`."""
    found = _FOUND.match(text, start)
    return found[0] if found else ""


def _operator_remedy(found: str, expected: str) -> str:
    """What to write instead of `found` after a value."""
    word = found.lower()
    if word in _OPERATOR_REMEDIES:
        return f"Write ` {_OPERATOR_REMEDIES[word]} ` between blanks."
    if word in _PHRASE_REMEDIES:
        return _PHRASE_REMEDIES[word]
    if re.fullmatch(r"'[^']*", word):
        return _CLOSE_TEXT
    if ":" in expected:
        return "Write for example `case(number gt 0:'A',true:'B')`."
    if "," in expected:
        return "Separate members by `,`, and close the bracket when there are no more."
    return f"{_EXAMPLE[:-1]} and join conditions with ` and ` or ` or `."


def _broken_guid(text: str, hyphen: int) -> re.Match[str] | None:
    """What is meant as a Guid, whose first hyphen ended the value before it."""
    if text[hyphen] != "-":
        return None
    start = hyphen
    while start > max(0, hyphen - _LONGEST_BEFORE_HYPHEN) and text[start - 1].isalnum():
        start -= 1
    return _LIKE_A_GUID.match(text, start)


def _unclosed(text: str, opened: int, end: int, option: str) -> Refusal:
    closing = "]" if text[opened] == "[" else ")"
    return _refusal(
        option,
        f"the `{text[opened]}` at column {opened + 1} is not closed: "
        f"expected `{closing}` at column {end + 1}, but the text ends.",
    )


def too_deep(position: int, depth: int, option: str) -> Refusal:
    """The bracket at `position` would be open inside `depth` others."""
    return _refusal(
        option,
        f"the bracket at column {position + 1} is nested more than {depth} deep. "
        "Write the expression flatter: a chain of `and` or `or` needs no parentheses.",
    )


def too_tall(position: int, height: int, option: str) -> Refusal:
    """The operators above the value at `position` are more than `height`."""
    return _refusal(
        option,
        f"more than {height} operators and calls apply in turn to the value at "
        f"column {position + 1}. Write the expression with fewer of them.",
    )


def too_many_nodes(position: int, nodes: int, option: str) -> Refusal:
    """The expression goes on at `position` after `nodes` nodes."""
    return _refusal(
        option,
        f"the expression has more than {nodes} parts at column {position + 1}. "
        "Replace alternatives by a list, `name in ('A','B')`, or split the request.",
    )


def too_long_list(position: int, members: int, option: str) -> Refusal:
    """The list that opens at `position` has more than `members` members."""
    return _refusal(
        option,
        f"the list at column {position + 1} has more than {members} members. "
        "Split it over several requests.",
    )


def bad_prefix(prefix: str, position: int, option: str) -> Refusal:
    """`prefix`, at `position`, is followed by a quote, but marks no type of literal."""
    word = prefix.lower()
    if word in ("geography", "geometry"):
        return not_supported(f"a {word} literal", position, option)
    if word in _OLD_LITERALS:
        return _refusal(
            option,
            f"the literal `{_cut(prefix)}'…'` at column {position + 1} is of an older OData. "
            f"Since OData 4.0 it is written without prefix or otherwise: {_OLD_LITERALS[word]}.",
        )
    if OPERATOR_WORD.fullmatch(prefix):
        return _refusal(
            option, f"expected a blank after `{prefix}` at column {position + 1}. {_EXAMPLE}"
        )
    return _refusal(
        option,
        f"{_quote(prefix)} at column {position + 1} is no prefix of a literal. "
        "Remove it, or write an operator and a blank before the quote.",
    )


def bad_quoted(prefix: str, position: int, option: str) -> Refusal:
    """What `prefix` quotes, at `position`, has not the shape of its type."""
    examples = {"duration": "duration'P1DT12H'", "binary": "binary'T0RhdGE='"}
    example = examples.get(prefix.lower(), "Ns.Color'Red,Blue'")
    return _refusal(
        option,
        f"the literal `{_cut(prefix)}'…'` at column {position + 1} is malformed. "
        f"Write for example {example}.",
    )


def bad_path(path: str, position: int, option: str) -> Refusal:
    """`path`, at `position`, is written like a path but has an impossible segment."""
    return _refusal(
        option,
        f"expected a path at column {position + 1}, but found {_quote(path)}. "
        "Names are joined by single `/`; `$it`, `$this` or `$root` can begin a path, "
        "and `/$count` can end it.",
    )


def bad_lambda(operator: str, position: int, option: str) -> Refusal:
    """`operator`, any or all, at `position`, lacks its collection, variable or condition."""
    return _refusal(
        option,
        f"`{operator}` at column {position + 1} lacks its collection, variable or condition. "
        f"Write for example `items/{operator}(d:d/number eq 'A')`.",
    )


def not_supported(construct: str, position: int, option: str) -> Refusal:
    """`construct`, at `position`, is valid OData that this service does not have (501)."""
    return Refusal(
        NOT_IMPLEMENTED,
        f"{option}: {construct}, at column {position + 1}, is not supported here. Ask without it.",
        target=option,
    )


def _cut(text: str) -> str:
    return _quote(text)[1:-1]
