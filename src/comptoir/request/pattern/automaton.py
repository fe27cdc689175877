"""Patterns matched in linear time.

A text is read once, character by character, whatever the pattern: all places that may match next
are held at once, so nothing is tried again. Hand-written, because Python's `re` backtracks.

A set of places is a number with a bit for each place. The sets that a text leads to are kept, with
what each kind of character leads to from there, so most characters cost two lookups. A set that is
new costs one lookup for every eight places.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
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

WAYS_KEPT = 2_000
"""How many ways from a set of places to the next are kept of a pattern."""

CHARACTERS_KEPT = 5_000
"""Of how many characters a pattern keeps the kind."""

PATTERNS_KEPT = 30
"""How many patterns are kept ready for use."""

STRETCH = 500
"""Characters between two checks: at most a few milliseconds."""

_FOUND = 1
"""The bit of the last place: the pattern has been found."""


def check_nothing() -> None:
    """Let the matching of a text go on."""


def _check_size(node: Alternatives) -> None:
    """Raise `PatternFault` when a pattern has too many places; `_Builder` makes as many."""
    last = 0

    def size(part: Part) -> int:
        nonlocal last
        match part:
            case Alternatives():
                places = 2 + sum(1 + sum(map(size, each)) for each in part.sequences)
            case Repeated():
                places = 2 + _written(part) * size(part.part)
                last = part.position
            case _:
                places = 2
        if places > MOST_STATES:
            raise PatternFault(f"more than {MOST_STATES} places when written out", last)
        return places

    size(node)


def _written(node: Repeated) -> int:
    """How often a repeated part is written out."""
    return max(node.least, 1 if node.most is None else node.most, 1)


@dataclass(slots=True)
class _State:
    """A place in a pattern: what leads on from it without reading, and by reading a character."""

    free: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    reads: Characters | None = None
    to: int = -1


class _Builder:
    """Lays out the places of a pattern."""

    def __init__(self) -> None:
        self.states: list[_State] = []

    def alternatives(self, node: Alternatives) -> tuple[int, int]:
        """The first and the last place of alternatives."""
        first, last = self._state(), self._state()
        for sequence in node.sequences:
            start, end = self._sequence(sequence)
            self.states[first].free.append(start)
            self.states[end].free.append(last)
        return first, last

    def _state(self) -> int:
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
        least, most = node.least, node.most
        copies = [self._part(node.part) for _ in range(_written(node))]
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


class _Held(dict[int, "_Held"]):
    """A set of places that a text led to, with the sets that kinds of characters lead to."""

    __slots__ = ("_pattern", "places")

    def __init__(self, pattern: "Pattern", places: int) -> None:
        super().__init__()
        self._pattern = pattern
        self.places = places

    def __missing__(self, kind: int) -> "_Held":
        return self._pattern.lead(self, kind)


class _Kinds(dict[str, int]):
    """The kinds of characters: those of one kind are in the same classes of a pattern."""

    __slots__ = ("_bounds",)

    def __init__(self, classes: Iterable[Characters]) -> None:
        super().__init__()
        ranges = [each for characters in classes for each in characters.ranges]
        self._bounds = sorted({bound for low, high in ranges for bound in (low, high + 1)})

    def __missing__(self, character: str) -> int:
        if len(self) >= CHARACTERS_KEPT:
            self.clear()
        kind = self[character] = bisect_right(self._bounds, ord(character))
        return kind

    def one_of(self, kind: int) -> int:
        """The code point of a character of a kind."""
        return self._bounds[kind - 1] if kind else -1


class _Octet(dict[int, int]):
    """What follows eight places that have read a character, by which of them have."""

    __slots__ = ("_first", "_follow")

    def __init__(self, follow: Callable[[int], int], first: int) -> None:
        super().__init__({0: 0})
        self._follow = follow
        self._first = first

    def __missing__(self, held: int) -> int:
        without = held & (held - 1)
        highest = (held ^ without).bit_length() - 1
        places = self[held] = self[without] | self._follow(self._first + highest)
        return places


class Pattern:
    """A pattern ready for use: sets of places, found when texts lead to them."""

    def __init__(self, tree: Alternatives) -> None:
        builder = _Builder()
        first, last = builder.alternatives(tree)
        self._states = states = builder.states
        # only these are held: what leads on without reading is followed at once
        self._kept = [last, *[n for n, each in enumerate(states) if each.reads or each.ends]]
        self._bits = {number: 1 << at for at, number in enumerate(self._kept)}
        self._reading: dict[Characters, int] = {}
        for at, number in enumerate(self._kept):
            reads = states[number].reads
            if reads is not None:
                self._reading[reads] = self._reading.get(reads, 0) | 1 << at
        self._kinds = _Kinds(self._reading)
        self._takes: dict[int, int] = {}
        self._octets = [_Octet(self._follow, at) for at in range(0, len(self._kept), 8)]
        self._again = self._set(self._closed([first]))
        self._at_end = self._ending()
        self._empty = last in self._closed([first], at_start=True, at_end=True)
        self._found = _Held(self, _FOUND)
        self._sets: dict[int, _Held] = {}
        self._ways = 0
        start = self._set(self._closed([first], at_start=True))
        self._start = self._found if start & _FOUND else _Held(self, start)

    def found_in(self, text: str, check: Callable[[], None] = check_nothing) -> bool:
        """Whether some part of a text matches; `check` is called now and then, and may raise."""
        if not text:
            return self._empty
        held, found, kinds = self._start, self._found, self._kinds
        for begin in range(0, len(text), STRETCH):
            check()
            for character in text[begin : begin + STRETCH]:
                if held is found:
                    return True
                held = held[kinds[character]]
        return held is found or held.places & self._at_end != 0

    def lead(self, held: _Held, kind: int) -> _Held:
        """The set to which a kind of character leads, which is kept from then on."""
        taken = self._takes.get(kind)
        if taken is None:
            taken = self._takes[kind] = self._taking(kind)
        places = self._again
        reading = (held.places & taken).to_bytes(len(self._octets), "little")
        for octet, held_ones in zip(self._octets, reading, strict=True):
            places |= octet[held_ones]
        if self._ways >= WAYS_KEPT:
            self._forget()
        self._ways += 1
        following = self._found if places & _FOUND else self._sets.get(places)
        if following is None:
            following = self._sets[places] = _Held(self, places)
        held[kind] = following
        return following

    def _forget(self) -> None:
        """Drop the sets that are kept; those that other threads hold lead on all the same."""
        dropped, self._sets, self._ways = self._sets, {}, 0
        for each in (self._start, *list(dropped.values())):
            each.clear()

    def _taking(self, kind: int) -> int:
        """The places that read a kind of character."""
        code = self._kinds.one_of(kind)
        places = 0
        for characters, bits in self._reading.items():
            if characters.takes(code):
                places |= bits
        return places

    def _follow(self, at: int) -> int:
        """The places that follow a held one which has read a character."""
        return self._set(self._closed([self._states[self._kept[at]].to]))

    def _set(self, numbers: Iterable[int]) -> int:
        places = 0
        for number in numbers:
            places |= self._bits.get(number, 0)
        return places

    def _ending(self) -> int:
        """The held places from which the end of the text leads to the last place."""
        before: list[list[int]] = [[] for _ in self._states]
        for number, state in enumerate(self._states):
            for each in (*state.free, *state.ends):
                before[each].append(number)
        reached: set[int] = set()
        pending = [self._kept[0]]
        while pending:
            number = pending.pop()
            if number not in reached:
                reached.add(number)
                pending += before[number]
        return self._set(reached)

    def _closed(
        self, numbers: Iterable[int], *, at_start: bool = False, at_end: bool = False
    ) -> set[int]:
        """The places that are reached without reading a character."""
        reached: set[int] = set()
        pending = list(numbers)
        while pending:
            number = pending.pop()
            if number in reached:
                continue
            reached.add(number)
            state = self._states[number]
            pending += state.free
            if at_start:
                pending += state.starts
            if at_end:
                pending += state.ends
        return reached


@lru_cache(PATTERNS_KEPT)
def compiled_pattern(text: str) -> Pattern:
    """A pattern ready for use; raises `PatternFault` as `check_pattern` does."""
    return Pattern(_checked(text))


def check_pattern(text: str) -> None:
    """Raise `PatternFault` unless a text is a pattern that can be used."""
    _checked(text)


def _checked(text: str) -> Alternatives:
    tree = parse_pattern(text)
    _check_size(tree)
    return tree
