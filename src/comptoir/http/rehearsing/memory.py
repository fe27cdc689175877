"""What a rehearsal remembers: within a process, or shared by the processes of a service."""

import time
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import Protocol, TypeVar

import msgspec
from typing_extensions import override

from comptoir.errors import BAD_REQUEST, KEY_EXISTS, Refusal
from comptoir.http.rehearsing.effects import APPLICABLE, Firing
from comptoir.messages import quoted
from comptoir.refusals import limit_exceeded
from comptoir.rehearsal import Asked, Choice, Chooser, Counts, Rule, ShiftedClock, parse_rule
from comptoir.rehearsal.documents import MOST_RULES
from comptoir.rehearsal.faults import parse_fault
from comptoir.store.control import ControlStore

MOST_FIRINGS = 1_000
"""The most entries of the log of faults; the oldest is forgotten."""

MOST_TOKENS = 1_000
"""The most tokens that a fault has ended; the one that was ended first is accepted again."""

MOST_LISTS = 1_000
"""The most lists whose pages are counted; the one that was read least recently starts again."""

T = TypeVar("T")


class Seen(msgspec.Struct, frozen=True):
    """The page of a list that a client has requested last, and the one before it."""

    number: int = 1
    query: str = ""
    previous: str = ""


class Ended(msgspec.Struct, frozen=True):
    """The choice that has ended a token; its rule may be that of a header."""

    rule: str
    fault: str
    number: int


class State(msgspec.Struct):
    """What requests have changed; `resets` is the number of resets, and `shift` the clock's."""

    counts: Counts = msgspec.field(default_factory=Counts)
    ended: dict[str, Ended] = {}
    pages: dict[str, Seen] = {}
    firings: list[Firing] = []
    fired: int = 0
    shift: float = 0.0
    resets: int = 0


class Memory:
    """The rules in force, with all that they need of the requests so far."""

    def __init__(self, rules: Sequence[Rule], state: State | None = None) -> None:
        self.rules = tuple(rules)
        self.state = State() if state is None else state

    def in_force(self) -> Sequence[Rule]:
        """The rules that have not ended."""
        now = self._clock()()
        return [each for each in self.rules if not each.is_over(now)]

    def set_rules(self, rules: Sequence[Rule]) -> None:
        """Replace the rules; all counts start again, and the tokens that were ended are valid."""
        self.rules = tuple(rules)
        self.state.counts = Counts()
        self.state.ended.clear()

    def add_rule(self, rule: Rule) -> None:
        """Add a rule after the others, whose counts go on; raises `Refusal` (400, 409)."""
        self._keep(self.in_force())
        check_new(rule, self.rules)
        self.rules = (*self.rules, rule)

    def remove_rule(self, rule_id: str) -> None:
        """Remove a rule if it is there; the counts of the others go on."""
        self._keep([each for each in self.in_force() if each.id != rule_id])

    def _keep(self, rules: Sequence[Rule]) -> None:
        """Keep some of the rules, and forget what the others have counted."""
        gone = {each.id for each in self.rules} - {each.id for each in rules}
        self.rules = tuple(rules)
        counts = self.state.counts
        for key in [each for each in counts.of_rules if each.partition(" ")[0] in gone]:
            del counts.of_rules[key]
        for token in [each for each, by in self.state.ended.items() if by.rule in gone]:
            del self.state.ended[token]
        if counts.window is not None and counts.window.rule in gone:
            counts.window = None

    def advance(self, seconds: float) -> None:
        """Move the clock on; raises `Refusal` (400) if it would not move, or move back."""
        clock = self._clock()
        clock.advance(seconds)
        self.state.shift = clock.shift

    def reset(self) -> None:
        """Forget all but the number of resets."""
        self.rules, self.state = (), State(resets=self.state.resets + 1)

    def page(self, client: str, path: str, query: str, *, is_next: bool) -> tuple[int, str]:
        """The number of a page of a list, by the requests so far, and the query of the previous."""
        pages, key = self.state.pages, f"{client} {path}"
        seen = pages.pop(key, Seen())
        if not is_next:
            seen = Seen(1, query)
        elif query != seen.query:
            seen = Seen(seen.number + 1, query, seen.query)
        # the last one is the most recent
        pages[key] = seen
        if len(pages) > MOST_LISTS:
            del pages[next(iter(pages))]
        return seen.number, seen.previous

    def choose(self, asked: Asked, of_header: Rule | None = None, token: str = "") -> Choice | None:
        """The rule that acts on a request; `token` is a digest of its token."""
        ended = self.state.ended.get(token)
        if ended is not None and not self._is_over(ended.rule):
            return Choice(Rule(ended.rule, parse_fault(ended.fault, ended.rule)), ended.number)
        chooser = Chooser(self.rules, self._clock(), self.state.counts)
        choice = chooser.choose(asked, of_header)
        if choice is not None and choice.rule.fault.name == "token-expired":
            tokens = self.state.ended
            tokens[token] = Ended(choice.rule.id, choice.rule.fault.text, choice.number)
            if len(tokens) > MOST_TOKENS:
                del tokens[next(iter(tokens))]
        return choice

    def _is_over(self, rule_id: str) -> bool:
        now = self._clock()()
        return any(each.id == rule_id and each.is_over(now) for each in self.rules)

    def fire(
        self, choice: Choice, asked: Asked, request_id: str, at: str, outcome: str = APPLICABLE
    ) -> Firing:
        """Add an entry to the log."""
        self.state.fired += 1
        firing = Firing(
            self.state.fired,
            at,
            choice.rule.id,
            choice.rule.fault.text,
            choice.number,
            asked.client,
            request_id,
            asked.method,
            asked.address or asked.path,
            outcome,
        )
        self.state.firings.append(firing)
        if len(self.state.firings) > MOST_FIRINGS:
            del self.state.firings[0]
        return firing

    def settle(self, number: int, outcome: str) -> None:
        """Set the outcome of an entry, unless the log has forgotten it."""
        for each in self.state.firings:
            if each.number == number:
                each.outcome = outcome

    def _clock(self) -> ShiftedClock:
        return ShiftedClock(time.time, self.state.shift)


def check_new(rule: Rule, rules: Sequence[Rule]) -> None:
    """Raise `Refusal` (400, 409) unless a rule can be added to others."""
    if len(rules) >= MOST_RULES:
        raise limit_exceeded(
            "The list of rules", MOST_RULES, "rules", "Remove some.", error=BAD_REQUEST
        )
    if any(each.id == rule.id for each in rules):
        problem = f"A rule already has the id {quoted(rule.id)}"
        raise Refusal(KEY_EXISTS, problem, "Choose another one.", target="id")


class Keeper(Protocol):
    """Keeps the memory of a rehearsal."""

    @property
    def memory(self) -> Memory:
        """The memory as this process has last seen it."""

    async def read(self) -> Memory:
        """The memory as it is now; raises `Refusal` (503)."""

    async def change(self, act: Callable[[Memory], T]) -> T:
        """Change the memory, one request after the other; raises what `act` raises, and 503."""


class OwnMemory(Keeper):
    """The memory of a service with one process."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    @property
    @override
    def memory(self) -> Memory:
        return self._memory

    @override
    async def read(self) -> Memory:
        return self._memory

    @override
    async def change(self, act: Callable[[Memory], T]) -> T:
        return act(self._memory)


class SharedMemory(Keeper):
    """The memory that the processes of a service share in the control tables.

    Each change is a unit of work, so requests meet their faults in one order. That is slow, and
    the same whichever process answers.
    """

    def __init__(
        self, control: ControlStore, sets: Collection[str], note: Callable[[Memory], None]
    ) -> None:
        """`note` is called with each memory that is newer than the last one."""
        self._control = control
        self._sets = tuple(sets)
        self._note = note
        self._version = 0
        self._memory = Memory(())

    @property
    @override
    def memory(self) -> Memory:
        return self._memory

    @override
    async def read(self) -> Memory:
        version, document = await self._control.rehearsal()
        self._take(version, _decoded(document, self._sets))
        return self._memory

    @override
    async def change(self, act: Callable[[Memory], T]) -> T:
        def changed(document: str) -> tuple[str, tuple[Memory, T]]:
            memory = _decoded(document, self._sets)
            result = act(memory)
            return encoded(memory), (memory, result)

        version, (memory, result) = await self._control.change_rehearsal(changed)
        self._take(version, memory)
        return result

    def _take(self, version: int, memory: Memory) -> None:
        # answers of the database may come out of order
        if version > self._version:
            self._version, self._memory = version, memory
            self._note(memory)


class _Document(msgspec.Struct):
    """A memory as it is stored."""

    rules: list[msgspec.Raw] = []
    state: State = msgspec.field(default_factory=State)


def encoded(memory: Memory) -> str:
    """A memory as it is stored."""
    rules = [msgspec.Raw(msgspec.json.encode(each.listed)) for each in memory.rules]
    return msgspec.json.encode(_Document(rules, memory.state)).decode()


def _decoded(document: str, sets: tuple[str, ...]) -> Memory:
    found = msgspec.json.decode(document, type=_Document)
    return Memory([_parsed(bytes(each), sets) for each in found.rules], found.state)


@lru_cache(maxsize=MOST_RULES)
def _parsed(rule: bytes, sets: tuple[str, ...]) -> Rule:
    return parse_rule(rule, "", sets)
