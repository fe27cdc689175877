"""Patterns matched in linear time.

A text is read once, character by character, whatever the pattern: all that may match next are
followed at once, so nothing is tried again. Hand-written, because Python's `re` backtracks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from comptoir.request.pattern.parser import parse_pattern
from comptoir.request.pattern.tree import (
    Alternatives,
    Characters,
    Edge,
    Part,
    PatternFault,
    Repeated,
)

MOST_STATES = 1_000
"""Places of a pattern, its repetitions written out."""

PLACES_KEPT = 20_000
"""How many places the sets have that are kept with the characters that lead to them."""

PATTERNS_KEPT = 50
"""How many patterns are kept ready for use."""


@dataclass(slots=True)
class _State:
    """A place in a pattern: what leads on from it without reading, and by reading a character."""

    free: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    reads: Characters | None = None
    to: int = -1

    def takes(self, code: int) -> bool:
        """Whether a character leads on from here."""
        return self.reads is not None and self.reads.takes(code)


class _Builder:
    """Lays out the places of a pattern."""

    def __init__(self) -> None:
        self.states: list[_State] = []
        self._position = 0

    def alternatives(self, node: Alternatives) -> tuple[int, int]:
        """The first and the last place of alternatives."""
        first, last = self._state(), self._state()
        for sequence in node.sequences:
            start, end = self._sequence(sequence)
            self.states[first].free.append(start)
            self.states[end].free.append(last)
        return first, last

    def _state(self) -> int:
        if len(self.states) == MOST_STATES:
            raise PatternFault(f"more than {MOST_STATES} places when written out", self._position)
        self.states.append(_State())
        return len(self.states) - 1

    def _sequence(self, parts: Sequence[Part]) -> tuple[int, int]:
        first = last = self._state()
        for part in parts:
            start, end = self._part(part)
            self.states[last].free.append(start)
            last = end
        return first, last

    def _part(self, part: Part) -> tuple[int, int]:
        match part:
            case Alternatives():
                return self.alternatives(part)
            case Repeated():
                return self._repeated(part)
        first, last = self._state(), self._state()
        state = self.states[first]
        match part:
            case Edge(is_start=True):
                state.starts.append(last)
            case Edge():
                state.ends.append(last)
            case Characters():
                state.reads, state.to = part, last
        return first, last

    def _repeated(self, node: Repeated) -> tuple[int, int]:
        """A part as often as it may come, written out."""
        self._position = node.position
        least, most = node.least, node.most
        written = max(least, most if most is not None else least or 1, 1)
        copies = [self._part(node.part) for _ in range(written)]
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


class Pattern:
    """A pattern ready for use: sets of places, found when texts lead to them."""

    def __init__(self, tree: Alternatives) -> None:
        builder = _Builder()
        first, self._last = builder.alternatives(tree)
        self._states = builder.states
        self._start = self._closed([first], at_start=True)
        self._again = self._closed([first], at_start=False)
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
    return Pattern(parse_pattern(text))


def check_pattern(text: str) -> None:
    """Raise `PatternFault` unless a text is a pattern that can be used."""
    compiled_pattern(text)
