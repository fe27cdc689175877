"""Patterns of `matchesPattern`: a subset of ECMAScript's regular expressions, in linear time.

What a pattern may have: characters, `.`, classes such as `[a-z]` and `[^0-9]`, the classes of
letters d, D, w, W, s and S behind a backslash, groups, `|`, `* + ? {m} {m,} {m,n}` to 50, and `^`
and `$` for the ends of the text.

A text is read once, character by character, whatever the pattern: all that may match next are
followed at once, so nothing is tried again. Hand-written, because Python's `re` backtracks.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

LONGEST = 200
"""Characters of a pattern."""

MOST_REPEATED = 50
"""The largest count of `{m,n}`."""

MOST_STATES = 1_000
"""Places of a pattern, its repetitions written out."""

PLACES_KEPT = 20_000
"""How many places the sets have that are kept with the characters that lead to them."""

PATTERNS_KEPT = 50
"""How many patterns are kept ready for use."""

_COUNTED = re.compile(r"\{(\d{1,4})(,(\d{1,4})?)?\}", re.ASCII)
_SPECIAL = frozenset("^$\\.*+?()[]{}|/")
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "v": "\v", "f": "\f"}
_LINE_ENDS = "\n\r\u2028\u2029"

Ranges = tuple[tuple[int, int], ...]
"""Characters by their code points, first and last of each run."""

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


class PatternFault(Exception):  # noqa: N818 - says what is wrong with a pattern
    """A pattern that cannot be used; `unsupported` when ECMAScript has what it holds.

    The message completes "the pattern …"; `construct` names what is not supported.
    """

    def __init__(self, construct: str, position: int, *, unsupported: bool = False) -> None:
        super().__init__(f"has {construct} at its character {position + 1}.")
        self.construct = construct
        self.unsupported = unsupported


@dataclass(slots=True)
class _State:
    """A place in a pattern: what leads on from it without reading, and by reading a character."""

    free: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    reads: Ranges = ()
    excluded: bool = False
    to: int = -1

    def takes(self, code: int) -> bool:
        """Whether a character leads on from here."""
        return self.to >= 0 and self.excluded != any(
            low <= code <= high for low, high in self.reads
        )


class _Builder:
    """Reads a pattern by recursive descent and lays out its places."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.states: list[_State] = []

    def build(self) -> tuple[int, int]:
        """The first and the last place of the whole pattern."""
        first, last = self._alternatives(0)
        if self._at < len(self._text):
            raise PatternFault("a ) that closes nothing", self._at)
        return first, last

    def _state(self) -> int:
        if len(self.states) == MOST_STATES:
            raise PatternFault(f"more than {MOST_STATES} places when written out", self._at)
        self.states.append(_State())
        return len(self.states) - 1

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _alternatives(self, depth: int) -> tuple[int, int]:
        first, last = self._state(), self._state()
        while True:
            start, end = self._sequence(depth)
            self.states[first].free.append(start)
            self.states[end].free.append(last)
            if self._peek() != "|":
                return first, last
            self._at += 1

    def _sequence(self, depth: int) -> tuple[int, int]:
        first = last = self._state()
        while self._peek() not in ("", "|", ")"):
            begin = self._at
            start, end = self._item(depth)
            counts = self._counts()
            if counts is not None:
                start, end = self._repeated(begin, depth, (start, end), counts)
            self.states[last].free.append(start)
            last = end
        return first, last

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

    def _repeated(
        self, begin: int, depth: int, once: tuple[int, int], counts: tuple[int, int | None]
    ) -> tuple[int, int]:
        """The item that begins at an offset as often as it may come, written out."""
        least, most = counts
        behind = self._at
        copies = [once]
        for _ in range(max(least, most if most is not None else least or 1, 1) - 1):
            self._at = begin
            copies.append(self._item(depth))
        self._at = behind
        first, last = self._state(), self._state()
        previous = first
        for number, (start, end) in enumerate(copies):
            self.states[previous].free.append(start)
            if number >= least:
                self.states[previous].free.append(last)
            previous = end
        self.states[previous].free.append(last)
        if most == 0:
            self.states[first].free = [last]
        if most is None:
            self.states[previous].free.append(copies[-1][0])
        return first, last

    def _item(self, depth: int) -> tuple[int, int]:
        sign = self._peek()
        at = self._at
        self._at += 1
        if sign == "(":
            return self._group(at, depth)
        first, last = self._state(), self._state()
        state = self.states[first]
        if sign == "^":
            state.starts.append(last)
        elif sign == "$":
            state.ends.append(last)
        elif sign in ("*", "+", "?"):
            raise PatternFault(f"a {sign} with nothing before it", at)
        elif sign in ("]", "{", "}"):
            raise PatternFault(f"a {sign} that belongs to nothing; write \\{sign}", at)
        else:
            state.to = last
            if sign == ".":
                state.reads, state.excluded = tuple((ord(c), ord(c)) for c in _LINE_ENDS), True
            elif sign == "[":
                state.reads, state.excluded = self._class(at)
            elif sign == "\\":
                state.reads, state.excluded = self._escape(at)
            else:
                state.reads = ((ord(sign), ord(sign)),)
        return first, last

    def _group(self, at: int, depth: int) -> tuple[int, int]:
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

    def _escape(self, at: int) -> tuple[Ranges, bool]:
        """The characters that an escape stands for, its backslash read."""
        sign = self._peek()
        self._at += 1
        if sign == "":
            raise PatternFault("a backslash at its end", at)
        if sign.lower() in _CLASSES:
            return _CLASSES[sign.lower()], sign.isupper()
        if sign in _SPECIAL or sign == "-":
            return ((ord(sign), ord(sign)),), False
        if sign in _CONTROLS:
            return ((ord(_CONTROLS[sign]), ord(_CONTROLS[sign])),), False
        if sign in _BEYOND:
            raise PatternFault(f"{_BEYOND[sign]} (\\{sign})", at, unsupported=True)
        if sign.isdigit():
            raise PatternFault(f"a reference (\\{sign})", at, unsupported=True)
        raise PatternFault(f"an escape of {sign}, which needs none", at)

    def _class(self, at: int) -> tuple[Ranges, bool]:
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
        return tuple(ranges), excluded

    def _is_range(self) -> bool:
        following = self._text[self._at : self._at + 2]
        return len(following) == 2 and following[0] == "-" and following[1] != "]"

    def _member(self) -> Ranges:
        at = self._at
        sign = self._peek()
        self._at += 1
        if sign != "\\":
            return ((ord(sign), ord(sign)),)
        ranges, excluded = self._escape(at)
        if excluded:
            raise PatternFault("an excluded class within a class", at, unsupported=True)
        return ranges


class Pattern:
    """A pattern ready for use: sets of places, found when texts lead to them."""

    def __init__(self, text: str) -> None:
        builder = _Builder(text)
        self._first, self._last = builder.build()
        self._states = builder.states
        self._start = self._closed([self._first], at_start=True)
        self._again = self._closed([self._first], at_start=False)
        self._ways: dict[tuple[frozenset[int], str], frozenset[int]] = {}
        self._kept = 0

    def found_in(self, text: str) -> bool:
        """Whether some part of a text matches."""
        last, ways = self._last, self._ways
        held = self._start
        for character in text:
            if last in held:
                return True
            following = ways.get((held, character))
            if following is None:
                following = self._read(held, character)
            held = following
        return last in held or last in self._closed(held, at_start=not text, at_end=True)

    def _read(self, held: frozenset[int], character: str) -> frozenset[int]:
        code = ord(character)
        reached = [self._states[number].to for number in held if self._states[number].takes(code)]
        following = self._closed(reached, at_start=False) | self._again
        self._kept += len(following) + 1
        if self._kept > PLACES_KEPT:
            self._ways.clear()
            self._kept = 0
        self._ways[held, character] = following
        return following

    def _closed(
        self,
        numbers: Iterator[int] | list[int] | frozenset[int],
        *,
        at_start: bool,
        at_end: bool = False,
    ) -> frozenset[int]:
        """The places that are reached without reading a character."""
        reached: set[int] = set()
        pending = list(numbers)
        while pending:
            number = pending.pop()
            if number in reached:
                continue
            reached.add(number)
            state = self._states[number]
            pending.extend(state.free)
            if at_start:
                pending.extend(state.starts)
            if at_end:
                pending.extend(state.ends)
        return frozenset(reached)


@lru_cache(PATTERNS_KEPT)
def compiled_pattern(text: str) -> Pattern:
    """A pattern ready for use; raises `PatternFault` as `check_pattern` does."""
    if len(text) > LONGEST:
        raise PatternFault(f"more than {LONGEST} characters", LONGEST)
    return Pattern(text)


def check_pattern(text: str) -> None:
    """Raise `PatternFault` unless a text is a pattern that can be used."""
    compiled_pattern(text)
