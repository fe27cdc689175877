"""The text of a pattern to its syntax tree, by recursive descent."""

import re

from comptoir.request.pattern.tree import (
    Alternatives,
    Characters,
    Edge,
    Part,
    PatternFault,
    Ranges,
    Repeated,
)

LONGEST = 200
"""Characters of a pattern."""

MOST_REPEATED = 50
"""The largest count of `{m,n}`, and how deep groups may be nested."""

_COUNTED = re.compile(r"\{(\d{1,4})(,(\d{1,4})?)?\}", re.ASCII)
_SPECIAL = frozenset("^$\\.*+?()[]{}|/")
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "v": "\v", "f": "\f"}
_LINE_ENDS: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
_DIGITS: Ranges = ((48, 57),)
_WORD: Ranges = ((48, 57), (65, 90), (95, 95), (97, 122))
_BLANKS: Ranges = (
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
_CLASSES = {"d": _DIGITS, "w": _WORD, "s": _BLANKS}
_BEYOND = {
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
    """The syntax tree of a pattern; raises `PatternFault`."""
    if len(text) > LONGEST:
        raise PatternFault(f"more than {LONGEST} characters", LONGEST)
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def whole(self) -> Alternatives:
        """The tree of the whole pattern."""
        alternatives = self._alternatives(0)
        if self._at < len(self._text):
            raise PatternFault("a ) that closes nothing", self._at)
        return alternatives

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _alternatives(self, depth: int) -> Alternatives:
        sequences = [self._sequence(depth)]
        while self._peek() == "|":
            self._at += 1
            sequences.append(self._sequence(depth))
        return Alternatives(tuple(sequences))

    def _sequence(self, depth: int) -> tuple[Part, ...]:
        parts: list[Part] = []
        while self._peek() not in ("", "|", ")"):
            begin = self._at
            part = self._part(depth)
            counts = self._counts()
            parts.append(part if counts is None else Repeated(part, *counts, begin))
        return tuple(parts)

    def _counts(self) -> tuple[int, int | None] | None:
        """How often what was read may come, as the quantifier behind it says."""
        sign = self._peek()
        if sign in ("*", "+", "?"):
            self._at += 1
            counts: tuple[int, int | None] = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        elif sign == "{":
            counted = _COUNTED.match(self._text, self._at)
            if counted is None:
                raise PatternFault("a { that begins no count such as {2,3}", self._at)
            least = int(counted[1])
            most = least if counted[2] is None else int(counted[3]) if counted[3] else None
            if max(least, most or 0) > MOST_REPEATED:
                raise PatternFault(f"a count above {MOST_REPEATED}", self._at, unsupported=True)
            if most is not None and most < least:
                raise PatternFault("a count that ends before it begins", self._at)
            self._at = counted.end()
            counts = least, most
        else:
            return None
        if self._peek() == "?":
            # a lazy quantifier finds the same texts
            self._at += 1
        if self._peek() in ("*", "+", "?", "{"):
            raise PatternFault("a quantifier behind a quantifier", self._at)
        return counts

    def _part(self, depth: int) -> Part:
        sign = self._peek()
        at = self._at
        self._at += 1
        match sign:
            case "(":
                return self._group(at, depth)
            case "^" | "$":
                return Edge(sign == "^")
            case "*" | "+" | "?":
                raise PatternFault(f"a {sign} with nothing before it", at)
            case "]" | "{" | "}":
                raise PatternFault(f"a {sign} that belongs to nothing; write \\{sign}", at)
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
        if self._text.startswith("?:", self._at):
            self._at += 2
        elif self._peek() == "?":
            raise PatternFault("a group of the form (?…)", at, unsupported=True)
        inside = self._alternatives(depth + 1)
        if self._peek() != ")":
            raise PatternFault("a ( that is not closed", at)
        self._at += 1
        return inside

    def _escape(self, at: int) -> Characters:
        """The characters that an escape stands for, its backslash read."""
        sign = self._peek()
        self._at += 1
        if sign == "":
            raise PatternFault("a backslash at its end", at)
        if sign.lower() in _CLASSES:
            return Characters(_CLASSES[sign.lower()], sign.isupper())
        if sign in _SPECIAL or sign == "-":
            return _one(sign)
        if sign in _CONTROLS:
            return _one(_CONTROLS[sign])
        if sign in _BEYOND:
            raise PatternFault(f"{_BEYOND[sign]} (\\{sign})", at, unsupported=True)
        if sign.isdigit():
            raise PatternFault(f"a reference (\\{sign})", at, unsupported=True)
        raise PatternFault(f"an escape of {sign}, which needs none", at)

    def _class(self, at: int) -> Characters:
        """The characters of a class, its opening bracket read."""
        excluded = self._peek() == "^"
        self._at += excluded
        ranges: list[tuple[int, int]] = []
        while self._peek() != "]":
            if self._peek() == "":
                raise PatternFault("a [ that is not closed", at)
            low = self._member()
            if len(low) == 1 and low[0][0] == low[0][1] and self._is_range():
                self._at += 1
                start = self._at
                high = self._member()
                if len(high) != 1 or high[0][0] != high[0][1] or high[0][0] < low[0][0]:
                    raise PatternFault("a range that ends before it begins", start)
                ranges.append((low[0][0], high[0][0]))
            else:
                ranges.extend(low)
        self._at += 1
        return Characters(tuple(ranges), excluded)

    def _is_range(self) -> bool:
        following = self._text[self._at : self._at + 2]
        return len(following) == 2 and following[0] == "-" and following[1] != "]"

    def _member(self) -> Ranges:
        at = self._at
        sign = self._peek()
        self._at += 1
        if sign != "\\":
            return _one(sign).ranges
        escaped = self._escape(at)
        if escaped.excluded:
            raise PatternFault("an excluded class within a class", at, unsupported=True)
        return escaped.ranges


def _one(character: str) -> Characters:
    return Characters(((ord(character), ord(character)),))
