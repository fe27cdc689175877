"""Patterns of `matchesPattern`: a subset of ECMAScript's regular expressions.

A pattern may contain characters, `.`, classes such as `[a-z]` and `[^0-9]`, the escapes d, D, w, W,
s and S for classes, groups, `|`, `* + ? {m} {m,} {m,n}` up to 50, and `^` and `$` for the ends of
the text.
"""

import re
from dataclasses import dataclass

LONGEST = 200
"""Characters of a pattern."""

MOST_STATES = 1_000
"""States of the automaton of a pattern, with its repetitions expanded."""

MOST_REPEATED = 50
"""The largest count of `{m,n}`, and the deepest nesting of groups."""

Ranges = tuple[tuple[int, int], ...]
"""Ranges of code points, each with its first and last one."""


class PatternFault(Exception):  # noqa: N818 - a fault of a client's pattern
    """A faulty pattern; `unsupported` if ECMAScript allows the `construct` in it.

    `position` is that of the construct in the pattern.
    """

    def __init__(self, construct: str, position: int, *, unsupported: bool = False) -> None:
        super().__init__(construct)
        self.construct = construct
        self.position = position
        self.unsupported = unsupported


@dataclass(frozen=True, slots=True)
class Characters:
    """One character that is in one of the ranges; if `excluded`, in none of them."""

    ranges: Ranges
    excluded: bool = False

    def matches(self, code: int) -> bool:
        """Whether a code point is that of such a character."""
        return self.excluded != any(low <= code <= high for low, high in self.ranges)


@dataclass(frozen=True, slots=True)
class Edge:
    """The start or the end of the text."""

    is_start: bool


@dataclass(frozen=True, slots=True)
class Repeated:
    """A part at a position, from `least` to `most` times; no limit if None."""

    part: "Part"
    least: int
    most: int | None
    position: int


@dataclass(frozen=True, slots=True)
class Alternatives:
    """One of several sequences of parts."""

    sequences: tuple[tuple["Part", ...], ...]


Part = Characters | Edge | Repeated | Alternatives


_COUNTED = re.compile(r"\{(\d{1,4})(,(\d{1,4})?)?\}", re.ASCII)
_SPECIAL = frozenset("^$\\.*+?()[]{}|/")
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "v": "\v", "f": "\f"}
_LINE_ENDS: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
_DIGITS: Ranges = ((48, 57),)
_WORD: Ranges = ((48, 57), (65, 90), (95, 95), (97, 122))
_SPACES: Ranges = (
    (0x09, 0x0D),
    (0x20, 0x20),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
    (0xFEFF, 0xFEFF),
)
_CLASSES = {"d": _DIGITS, "w": _WORD, "s": _SPACES}
_UNSUPPORTED_ESCAPES = {
    "b": "a word boundary",
    "B": "a word boundary",
    "k": "a named reference",
    "u": "a code point escape",
    "x": "a code point escape",
    "c": "a control escape",
    "p": "a Unicode property",
    "P": "a Unicode property",
}


def parse_pattern(text: str) -> Alternatives:
    """The syntax tree of a pattern.

    Raises `PatternFault` for a malformed pattern, and for one that is too long or complex.
    """
    if len(text) > LONGEST:
        raise PatternFault(f"more than {LONGEST} characters", LONGEST)
    tree = _Parser(text).whole()
    _check_size(tree)
    return tree


def expanded(node: "Repeated") -> int:
    """The number of copies of a repeated part in an automaton."""
    return max(node.least, 1 if node.most is None else node.most, 1)


def _check_size(node: Alternatives) -> None:
    """Raise `PatternFault` for too many states; `automaton._Builder` creates as many."""
    last = 0

    def size(part: Part) -> int:
        nonlocal last
        match part:
            case Alternatives():
                states = 2 + sum(1 + sum(map(size, each)) for each in part.sequences)
            case Repeated():
                states = 2 + expanded(part) * size(part.part)
                last = part.position
            case _:
                states = 2
        if states > MOST_STATES:
            raise PatternFault(f"more than {MOST_STATES} states in expanded form", last)
        return states

    size(node)


class _Parser:
    """A recursive descent parser."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def whole(self) -> Alternatives:
        """The tree of the whole pattern."""
        alternatives = self._alternatives(0)
        if self._position < len(self._text):
            raise PatternFault("a ) without a (", self._position)
        return alternatives

    def _peek(self) -> str:
        return self._text[self._position : self._position + 1]

    def _alternatives(self, depth: int) -> Alternatives:
        sequences = [self._sequence(depth)]
        while self._peek() == "|":
            self._position += 1
            sequences.append(self._sequence(depth))
        return Alternatives(tuple(sequences))

    def _sequence(self, depth: int) -> tuple[Part, ...]:
        parts: list[Part] = []
        while self._peek() not in ("", "|", ")"):
            begin = self._position
            part = self._part(depth)
            counts = self._counts()
            parts.append(part if counts is None else Repeated(part, *counts, begin))
        return tuple(parts)

    def _counts(self) -> tuple[int, int | None] | None:
        """The counts of the quantifier at the position; None if there is none."""
        sign = self._peek()
        if sign in ("*", "+", "?"):
            self._position += 1
            counts: tuple[int, int | None] = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        elif sign == "{":
            counted = _COUNTED.match(self._text, self._position)
            if counted is None:
                raise PatternFault("a { without a count such as {2,3}", self._position)
            least = int(counted[1])
            most = least if counted[2] is None else int(counted[3]) if counted[3] else None
            if max(least, most or 0) > MOST_REPEATED:
                construct = f"a count above {MOST_REPEATED}"
                raise PatternFault(construct, self._position, unsupported=True)
            if most is not None and most < least:
                raise PatternFault("a count that ends before it begins", self._position)
            self._position = counted.end()
            counts = least, most
        else:
            return None
        if self._peek() == "?":
            # a lazy quantifier matches the same texts
            self._position += 1
        if self._peek() in ("*", "+", "?", "{"):
            raise PatternFault("a quantifier after a quantifier", self._position)
        return counts

    def _part(self, depth: int) -> Part:
        sign = self._peek()
        at = self._position
        self._position += 1
        match sign:
            case "(":
                return self._group(at, depth)
            case "^" | "$":
                return Edge(sign == "^")
            case "*" | "+" | "?":
                raise PatternFault(f"a {sign} with nothing before it", at)
            case "]" | "{" | "}":
                raise PatternFault(f"an unescaped {sign}", at)
            case ".":
                return Characters(_LINE_ENDS, excluded=True)
            case "[":
                return self._class(at)
            case "\\":
                return self._escape(at)
        return _one(sign)

    def _group(self, at: int, depth: int) -> Alternatives:
        if depth == MOST_REPEATED:
            raise PatternFault(f"groups more than {MOST_REPEATED} deep", at)
        if self._text.startswith("?:", self._position):
            self._position += 2
        elif self._peek() == "?":
            raise PatternFault("a group of the form (?…)", at, unsupported=True)
        inside = self._alternatives(depth + 1)
        if self._peek() != ")":
            raise PatternFault("a ( that is not closed", at)
        self._position += 1
        return inside

    def _escape(self, at: int) -> Characters:
        """The characters of an escape, whose backslash has been read."""
        sign = self._peek()
        self._position += 1
        if sign == "":
            raise PatternFault("a backslash at its end", at)
        if sign.lower() in _CLASSES:
            return Characters(_CLASSES[sign.lower()], sign.isupper())
        if sign in _SPECIAL or sign == "-":
            return _one(sign)
        if sign in _CONTROLS:
            return _one(_CONTROLS[sign])
        if sign in _UNSUPPORTED_ESCAPES:
            raise PatternFault(f"{_UNSUPPORTED_ESCAPES[sign]} (\\{sign})", at, unsupported=True)
        if sign.isdigit():
            raise PatternFault(f"a reference (\\{sign})", at, unsupported=True)
        raise PatternFault(f"an escape of {sign}, which needs none", at)

    def _class(self, at: int) -> Characters:
        """The characters of a class, whose opening bracket has been read."""
        excluded = self._peek() == "^"
        self._position += excluded
        ranges: list[tuple[int, int]] = []
        while self._peek() != "]":
            if self._peek() == "":
                raise PatternFault("a [ that is not closed", at)
            low = self._member()
            if len(low) == 1 and low[0][0] == low[0][1] and self._is_range():
                self._position += 1
                start = self._position
                high = self._member()
                if len(high) != 1 or high[0][0] != high[0][1] or high[0][0] < low[0][0]:
                    raise PatternFault("a range that ends before it begins", start)
                ranges.append((low[0][0], high[0][0]))
            else:
                ranges.extend(low)
        self._position += 1
        return Characters(tuple(ranges), excluded)

    def _is_range(self) -> bool:
        following = self._text[self._position : self._position + 2]
        return len(following) == 2 and following[0] == "-" and following[1] != "]"

    def _member(self) -> Ranges:
        at = self._position
        sign = self._peek()
        self._position += 1
        if sign != "\\":
            return _one(sign).ranges
        escaped = self._escape(at)
        if escaped.excluded:
            raise PatternFault("an excluded class within a class", at, unsupported=True)
        return escaped.ranges


def _one(character: str) -> Characters:
    return Characters(((ord(character), ord(character)),))
