"""Matches patterns in linear time: a nondeterministic automaton with lazily built state sets.

A text is read once, without backtracking. (Python's `re` backtracks.) A set of states is an integer
with a bit for each state. State sets and their transitions are cached, so most characters cost two
lookups; a new transition costs one lookup for every eight states. Characters that the pattern does
not distinguish have one symbol.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from comptoir.request.pattern import (
    Alternatives,
    Characters,
    Edge,
    Part,
    Repeated,
    expanded,
    parse_pattern,
)

CACHED_TRANSITIONS = 2_000
"""Cached transitions between the state sets of a pattern."""

CACHED_CHARACTERS = 5_000
"""Characters of which a pattern caches the symbol."""

CACHED_PATTERNS = 30
"""Patterns whose automaton is cached."""

CHECK_INTERVAL = 500
"""Characters between two checks, which take a few milliseconds at most."""

_FOUND = 1
"""The bit of the last state: the pattern has matched."""


def check_nothing() -> None:
    """Do not interrupt matching."""


@dataclass(slots=True)
class _State:
    """A state, with its transitions: without reading, at the ends of the text, by a character."""

    epsilon: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    reads: Characters | None = None
    to: int = -1


class _Builder:
    """Builds the states of a pattern."""

    def __init__(self) -> None:
        self.states: list[_State] = []

    def alternatives(self, node: Alternatives) -> tuple[int, int]:
        """The first and the last state of alternatives."""
        first, last = self._state(), self._state()
        for sequence in node.sequences:
            start, end = self._sequence(sequence)
            self.states[first].epsilon.append(start)
            self.states[end].epsilon.append(last)
        return first, last

    def _state(self) -> int:
        self.states.append(_State())
        return len(self.states) - 1

    def _sequence(self, parts: Sequence[Part]) -> tuple[int, int]:
        first = last = self._state()
        for part in parts:
            start, end = self._part(part)
            self.states[last].epsilon.append(start)
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
        """The states of a repeated part, with its repetitions expanded."""
        least, most = node.least, node.most
        copies = [self._part(node.part) for _ in range(expanded(node))]
        first, last = self._state(), self._state()
        previous = first
        for number, (start, end) in enumerate(copies):
            self.states[previous].epsilon.append(start)
            if number >= least:
                self.states[previous].epsilon.append(last)
            previous = end
        self.states[previous].epsilon.append(last)
        if most == 0:
            self.states[first].epsilon = [last]
        if most is None:
            self.states[previous].epsilon.append(copies[-1][0])
        return first, last


class _StateSet(dict[int, "_StateSet"]):
    """A set of states, with its cached transitions by symbol."""

    __slots__ = ("_pattern", "states")

    def __init__(self, pattern: "Pattern", states: int) -> None:
        super().__init__()
        self._pattern = pattern
        self.states = states

    def __missing__(self, symbol: int) -> "_StateSet":
        return self._pattern.transition(self, symbol)


class _Symbols(dict[str, int]):
    """The symbols of characters; those with the same symbol are in the same classes."""

    __slots__ = ("_bounds",)

    def __init__(self, classes: Iterable[Characters]) -> None:
        super().__init__()
        ranges = [each for characters in classes for each in characters.ranges]
        self._bounds = sorted({bound for low, high in ranges for bound in (low, high + 1)})

    def __missing__(self, character: str) -> int:
        if len(self) >= CACHED_CHARACTERS:
            self.clear()
        symbol = self[character] = bisect_right(self._bounds, ord(character))
        return symbol

    def one_of(self, symbol: int) -> int:
        """The code point of a character with a symbol."""
        return self._bounds[symbol - 1] if symbol else -1


class _Octet(dict[int, int]):
    """The successors of eight states that have read a character, by the bits of these states."""

    __slots__ = ("_first", "_successors")

    def __init__(self, successors: Callable[[int], int], first: int) -> None:
        super().__init__({0: 0})
        self._successors = successors
        self._first = first

    def __missing__(self, bits: int) -> int:
        without = bits & (bits - 1)
        highest = (bits ^ without).bit_length() - 1
        states = self[bits] = self[without] | self._successors(self._first + highest)
        return states


class Pattern:
    """The automaton of a pattern."""

    def __init__(self, tree: Alternatives) -> None:
        builder = _Builder()
        first, last = builder.alternatives(tree)
        self._states = states = builder.states
        # state sets contain only these; transitions without reading are followed at once
        self._core = [last, *[n for n, each in enumerate(states) if each.reads or each.ends]]
        self._bits = {number: 1 << at for at, number in enumerate(self._core)}
        self._reading: dict[Characters, int] = {}
        for at, number in enumerate(self._core):
            reads = states[number].reads
            if reads is not None:
                self._reading[reads] = self._reading.get(reads, 0) | 1 << at
        self._symbols = _Symbols(self._reading)
        self._readers: dict[int, int] = {}
        self._octets = [_Octet(self._successors, at) for at in range(0, len(self._core), 8)]
        self._restart = self._set(self._closed([first]))
        self._at_end = self._ending()
        self._empty = last in self._closed([first], at_start=True, at_end=True)
        self._found = _StateSet(self, _FOUND)
        self._sets: dict[int, _StateSet] = {}
        self._transitions = 0
        start = self._set(self._closed([first], at_start=True))
        self._start = self._found if start & _FOUND else _StateSet(self, start)

    def found_in(self, text: str, check: Callable[[], None] = check_nothing) -> bool:
        """Whether a part of a text matches; `check` is called at intervals, and may raise."""
        if not text:
            return self._empty
        current, found, symbols = self._start, self._found, self._symbols
        for begin in range(0, len(text), CHECK_INTERVAL):
            check()
            for character in text[begin : begin + CHECK_INTERVAL]:
                if current is found:
                    return True
                current = current[symbols[character]]
        return current is found or current.states & self._at_end != 0

    def transition(self, current: _StateSet, symbol: int) -> _StateSet:
        """The state set after a symbol, which is then cached."""
        readers = self._readers.get(symbol)
        if readers is None:
            readers = self._readers[symbol] = self._read_by(symbol)
        states = self._restart
        reading = (current.states & readers).to_bytes(len(self._octets), "little")
        for octet, bits in zip(self._octets, reading, strict=True):
            states |= octet[bits]
        if self._transitions >= CACHED_TRANSITIONS:
            self._forget()
        self._transitions += 1
        following = self._found if states & _FOUND else self._sets.get(states)
        if following is None:
            following = self._sets[states] = _StateSet(self, states)
        current[symbol] = following
        return following

    def _forget(self) -> None:
        """Drop the cached sets; those in use by other threads remain valid."""
        dropped, self._sets, self._transitions = self._sets, {}, 0
        for each in (self._start, *list(dropped.values())):
            each.clear()

    def _read_by(self, symbol: int) -> int:
        """The states that read a symbol."""
        code = self._symbols.one_of(symbol)
        states = 0
        for characters, bits in self._reading.items():
            if characters.matches(code):
                states |= bits
        return states

    def _successors(self, at: int) -> int:
        """The states after one that has read a character."""
        return self._set(self._closed([self._states[self._core[at]].to]))

    def _set(self, numbers: Iterable[int]) -> int:
        states = 0
        for number in numbers:
            states |= self._bits.get(number, 0)
        return states

    def _ending(self) -> int:
        """The states from which the end of the text leads to the last state."""
        before: list[list[int]] = [[] for _ in self._states]
        for number, state in enumerate(self._states):
            for each in (*state.epsilon, *state.ends):
                before[each].append(number)
        reached: set[int] = set()
        pending = [self._core[0]]
        while pending:
            number = pending.pop()
            if number not in reached:
                reached.add(number)
                pending += before[number]
        return self._set(reached)

    def _closed(
        self, numbers: Iterable[int], *, at_start: bool = False, at_end: bool = False
    ) -> set[int]:
        """The states that are reached without reading a character."""
        reached: set[int] = set()
        pending = list(numbers)
        while pending:
            number = pending.pop()
            if number in reached:
                continue
            reached.add(number)
            state = self._states[number]
            pending += state.epsilon
            if at_start:
                pending += state.starts
            if at_end:
                pending += state.ends
        return reached


@lru_cache(CACHED_PATTERNS)
def compiled_pattern(text: str) -> Pattern:
    """The automaton of a pattern; raises `PatternFault` as `parse_pattern` does."""
    return Pattern(parse_pattern(text))
