"""Chooses the fault that a request meets: the same for the same seed and order of requests."""

from collections.abc import Sequence
from hashlib import sha256

import msgspec

from comptoir.edm.times import Clock
from comptoir.features.rehearsal.faults import Stage
from comptoir.features.rehearsal.rules import Candidate, Rule

MOST_COUNTS = 20_000
"""The most pairs of a rule and a client that are counted; the least recent starts again."""

_FRACTIONS = 2.0**64


class ChosenRule(msgspec.Struct, frozen=True):
    """The rule that acts on a request, which is the `number`-th that the rule has counted."""

    rule: Rule
    number: int


class RuleCount(msgspec.Struct):
    """The requests of a client that a rule has matched, and those on which it has acted."""

    matched: int = 0
    fired: int = 0


class Window(msgspec.Struct, frozen=True):
    """A rule acts on every request until `end`, by its clock in seconds."""

    rule: str
    number: int
    end: float


class RuleCounts(msgspec.Struct):
    """The counts of rules."""

    of_rules: dict[str, RuleCount] = {}

    of_keys: dict[str, RuleCount] = {}
    """The counts of headers, apart because a client may send any number of keys."""

    window: Window | None = None


def fraction(seed: int, rule_id: str, number: int) -> float:
    """A number from 0 up to 1 that looks random and depends on nothing else."""
    digest = sha256(f"{seed}\n{rule_id}\n{number}".encode()).digest()
    return int.from_bytes(digest[:8]) / _FRACTIONS


def is_due(rule: Rule, count: RuleCount) -> bool:
    """Whether a rule acts on the last request that it has counted."""
    if rule.times is not None and count.fired >= rule.times:
        return False
    if count.matched % rule.match.nth:
        return False
    return rule.probability >= 1 or fraction(rule.seed, rule.id, count.matched) < rule.probability


class Chooser:
    """Applies rules to requests in their order of arrival; for use in one event loop only.

    The header of a request comes first, then a window that has begun; these requests are not
    counted. Else every rule counts each request that it matches, and the first that is due acts on
    it. So a rule does not change which requests the others count.
    """

    def __init__(
        self, rules: Sequence[Rule], clock: Clock, counts: RuleCounts | None = None
    ) -> None:
        """`counts` are those of the requests so far; by default, there were none."""
        self._rules = rules
        self._clock = clock
        self._counts = RuleCounts() if counts is None else counts

    def choose(self, asked: Candidate, of_header: Rule | None = None) -> ChosenRule | None:
        """The rule that acts on a request; `of_header` is that of its own header."""
        if of_header is not None:
            choice = _of_header(of_header, asked, self._counts.of_keys)
            if choice is not None:
                return choice
        window = self._counts.window
        if window is not None and asked.stage is Stage.REQUEST:
            rule = next((each for each in self._rules if each.id == window.rule), None)
            now = self._clock()
            if rule is not None and not rule.is_over(now) and now < window.end:
                return ChosenRule(rule, window.number)
            self._counts.window = None
        return self._of_rules(asked)

    def _of_rules(self, asked: Candidate) -> ChosenRule | None:
        choice, now = None, self._clock()
        for rule in self._rules:
            if rule.is_over(now) or not rule.matches(asked):
                continue
            client = "" if rule.fault.window else asked.client
            count = _counted(self._counts.of_rules, rule, client)
            if choice is None and is_due(rule, count):
                choice = _acted(rule, count)
        if choice is not None and choice.rule.fault.window:
            end = now + choice.rule.fault.window
            self._counts.window = Window(choice.rule.id, choice.number, end)
        return choice


def _of_header(rule: Rule, asked: Candidate, keys: dict[str, RuleCount]) -> ChosenRule | None:
    if not rule.matches(asked):
        return None
    if rule.times is None:
        return ChosenRule(rule, 1)
    count = _counted(keys, rule, asked.client)
    return _acted(rule, count) if is_due(rule, count) else None


def _counted(counts: dict[str, RuleCount], rule: Rule, client: str) -> RuleCount:
    """The count of a rule and a client, with one more request."""
    key = f"{rule.id} {client}"
    # the last one is the most recent
    counts[key] = count = counts.pop(key, None) or RuleCount()
    if len(counts) > MOST_COUNTS:
        del counts[next(iter(counts))]
    count.matched += 1
    return count


def _acted(rule: Rule, count: RuleCount) -> ChosenRule:
    count.fired += 1
    return ChosenRule(rule, count.matched)
