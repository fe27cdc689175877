"""Patterns of `matchesPattern`: the regular expressions of ECMAScript that every database has.

A pattern is rewritten to a text that RE2 and PostgreSQL's Advanced Regular Expressions read alike.
It has no capturing groups, and its classes do not depend on the locale.
"""

import re
from functools import lru_cache
from typing import Protocol, cast

import re2

LONGEST = 200
"""Characters of a pattern."""

MOST_EXPANDED = 500
"""Characters and classes of a pattern, with its repetitions expanded."""

MOST_REPEATED = 50
"""The largest count of `{m,n}`."""

_MEMORY = 4 << 20
"""Bytes that a compiled pattern may take."""

_TOKEN = re.compile(
    r"\\(?P<escape>.?)"
    r"|\[(?P<excluded>\^?)(?P<members>(?:[^\\\]]|\\.)*)(?P<closed>\]?)"
    r"|(?P<group>\((?:\?:)?)"
    r"|(?P<quantifier>[*+?]|\{(?P<least>\d{1,4})(?:,(?P<most>\d{1,4})?)?\})\??"
    r"|(?P<sign>.)",
    re.ASCII | re.DOTALL,
)
_MEMBER = re.compile(r"\\(?P<set>[dwsDWS])|(?P<low>\\?.)(?:-(?P<high>\\?.))?", re.ASCII | re.DOTALL)
_SPECIAL = frozenset("^$\\.*+?()[]{}|/-")
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "v": "\v", "f": "\f"}
_SETS = {
    "d": "0-9",
    "w": "0-9A-Z_a-z",
    "s": "\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff",
}
_MISPLACED = {
    "{": "a { without a count such as {2,3}",
    "}": "an unescaped }",
    "]": "an unescaped ]",
}
_ANY = "[^\n\r\u2028\u2029]"
_UNSUPPORTED_ESCAPES = {
    **dict.fromkeys("bB", "a word boundary"),
    **dict.fromkeys("ux", "a code point escape"),
    **dict.fromkeys("pP", "a Unicode property"),
    **dict.fromkeys("0123456789", "a reference"),
    "k": "a named reference",
    "c": "a control escape",
}


class PatternError(Exception):
    """An invalid pattern; `unsupported` if ECMAScript allows the `construct` in it.

    `position` is that of the construct in the pattern.
    """

    def __init__(self, construct: str, position: int, *, unsupported: bool = False) -> None:
        super().__init__(construct)
        self.construct = construct
        self.position = position
        self.unsupported = unsupported


class _Compiled(Protocol):
    def search(self, text: bytes) -> object | None: ...


def common_pattern(text: str) -> str:
    """The pattern as every database reads it.

    Raises `PatternError` for a malformed pattern, for one that is too long or complex, and for a
    construct that some database does not have or reads differently.
    """
    if len(text) > LONGEST:
        raise PatternError(f"more than {LONGEST} characters", LONGEST)
    return _Rewriter().rewrite(text)


def found_in(text: str, pattern: str) -> bool:
    """Whether a pattern from `common_pattern` matches anywhere in a text; in linear time."""
    return _compiled(pattern).search(text.encode()) is not None


@lru_cache(30)
def _compiled(pattern: str) -> _Compiled:
    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    compiled = re2.compile(pattern, options)
    # its own cache would keep 128
    re2.purge()
    return cast("_Compiled", compiled)


class _Rewriter:
    """Rewrites a pattern token by token."""

    def __init__(self) -> None:
        self._open: list[tuple[int, bool, int]] = []
        """The open groups: where each begins, and the next two values of the group around it."""
        self._anchored = False
        """Whether the innermost open group has an anchor."""
        self._size = 0
        """The expanded size of the innermost open group."""
        self._last = 0
        """The expanded size of what a quantifier would repeat."""
        self._obstacle: str | None = "nothing before it"
        """Why the next token may not be a quantifier."""

    def rewrite(self, text: str) -> str:
        """The whole pattern; raises `PatternError`."""
        written = "".join([self._token(each) for each in _TOKEN.finditer(text)])
        if self._open:
            raise PatternError("a ( that is not closed", self._open[-1][0])
        return written

    def _token(self, token: re.Match[str]) -> str:
        at, sign = token.start(), token[0][0]
        if token["quantifier"] is not None:
            return self._quantifier(token)
        if sign == "(":
            return self._group(token)
        if sign == ")":
            return self._group_end(at)
        if sign in "^$|":
            self._obstacle = "nothing before it"
            self._anchored |= sign != "|"
            return sign
        self._obstacle = None
        self._last = 1
        self._size += 1
        return _one(token)

    def _group(self, token: re.Match[str]) -> str:
        if token[0] == "(" and token.string.startswith("?", token.end()):
            raise PatternError("a group of the form (?…)", token.start(), unsupported=True)
        self._open.append((token.start(), self._anchored, self._size))
        self._anchored, self._size = False, 0
        self._obstacle = "nothing before it"
        return "(?:"

    def _group_end(self, at: int) -> str:
        if not self._open:
            raise PatternError("a ) without a (", at)
        self._obstacle = "an anchor in its group" if self._anchored else None
        _, anchored, size = self._open.pop()
        self._anchored |= anchored
        self._last = max(self._size, 1)
        self._size = size + self._last
        return ")"

    def _quantifier(self, token: re.Match[str]) -> str:
        at, sign = token.start(), token["quantifier"]
        if self._obstacle is not None:
            anchored = self._obstacle == "an anchor in its group"
            raise PatternError(f"a {sign[0]} with {self._obstacle}", at, unsupported=anchored)
        self._obstacle = "a quantifier before it"
        counts = [int(each) for each in token.group("least", "most") if each is not None]
        if counts and max(counts) > MOST_REPEATED:
            raise PatternError(f"a count above {MOST_REPEATED}", at, unsupported=True)
        if counts != sorted(counts):
            raise PatternError("a count that ends before it begins", at)
        self._size += self._last * (max([1, *counts]) - 1)
        if self._size > MOST_EXPANDED:
            raise PatternError(f"more than {MOST_EXPANDED} characters in expanded form", at)
        # a lazy quantifier matches the same texts
        return sign


def _one(token: re.Match[str]) -> str:
    """A character, an escape or a class; raises `PatternError`."""
    at, sign = token.start(), token[0][0]
    if sign in _MISPLACED:
        raise PatternError(_MISPLACED[sign], at)
    if sign == "[":
        return _class(token)
    if sign != "\\":
        return _ANY if sign == "." else sign
    escape = token["escape"]
    if escape.lower() in _SETS:
        return f"[{'^' * escape.isupper()}{_SETS[escape.lower()]}]"
    return _literal(_character(token[0], at))


def _class(token: re.Match[str]) -> str:
    """A class; raises `PatternError`."""
    if not token["closed"]:
        raise PatternError("a [ that is not closed", token.start())
    if not token["members"]:
        raise PatternError("an empty class", token.start(), unsupported=True)
    start = token.start("members")
    written = [_member(each, start + each.start()) for each in _MEMBER.finditer(token["members"])]
    return f"[{token['excluded']}{''.join(written)}]"


def _member(member: re.Match[str], at: int) -> str:
    if member["set"]:
        if member["set"].isupper():
            raise PatternError("an excluded class within a class", at, unsupported=True)
        return _SETS[member["set"]]
    low = _character(member["low"], at)
    if member["high"] is None:
        return _literal(low)
    end = at + len(member["low"]) + 1
    high = _character(member["high"], end)
    if high < low:
        raise PatternError("a range that ends before it begins", end)
    return f"{_literal(low)}-{_literal(high)}"


def _character(text: str, at: int) -> str:
    """The character of a text, which may be an escape; raises `PatternError`."""
    sign = text[1:]
    if text[0] != "\\" or sign in _SPECIAL:
        return sign or text
    if sign == "":
        raise PatternError("a backslash at its end", at)
    if sign in _UNSUPPORTED_ESCAPES:
        raise PatternError(f"{_UNSUPPORTED_ESCAPES[sign]} (\\{sign})", at, unsupported=True)
    if sign not in _CONTROLS:
        raise PatternError(f"an escape of {sign}, which needs none", at)
    return _CONTROLS[sign]


def _literal(character: str) -> str:
    return f"\\{character}" if character in _SPECIAL else character
