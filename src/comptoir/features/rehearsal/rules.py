"""Rules: which requests meet which fault, and how often; the presets; and what has acted so far.

The same seed and the same order of requests lead to the same faults.
"""

import time
from collections import deque
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from math import inf
from typing import Annotated, TypeVar
from urllib.parse import unquote

import msgspec
import re2
from msgspec import Meta

from comptoir.edm.times import Clock, instant
from comptoir.features.rehearsal import errors
from comptoir.features.rehearsal.entries import Firing
from comptoir.features.rehearsal.fault import Candidate, Fault, Stage
from comptoir.features.rehearsal.faults import parse_fault

MOST_KEPT = 20_000
"""The most counts of a rule and a client, of lists, and of tokens that a fault has ended.

The least recent of more of them is forgotten: it starts again, or is accepted again.
"""

MOST_FIRINGS = 1_000
"""The most entries of the log of faults; the oldest is forgotten."""

MOST_DAYS = 366
"""The most days by which a clock can be ahead."""

_DAY = 86_400
_WINDOW = "window"
_FRACTIONS = 2.0**64

K = TypeVar("K")
V = TypeVar("V")

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
MOST_TIMES = 1_000_000_000
LONGEST_TEXT = 500
"""Characters of a path or of a client's name in a rule."""

MOST_STARS = 10
"""`*` in a path."""

_GUID = r"^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z"
_PATH = (
    f"a path of up to {LONGEST_TEXT} characters from the root of the host, with up to {MOST_STARS} "
    "*, such as */contactsExt(*)"
)


def _integer(low: int, high: int) -> Meta:
    return Meta(ge=low, le=high, description=f"an integer from {low} to {high}")


def _text(pattern: str, wanted: str) -> Meta:
    return Meta(pattern=pattern, max_length=LONGEST_TEXT, description=wanted)


Count = Annotated[int, _integer(1, MOST_TIMES)]
Seed = Annotated[int, _integer(0, 2**63 - 1)]
Text = Annotated[str, _text("(?s).", f"text of 1 to {LONGEST_TEXT} characters")]
Name = Annotated[
    str,
    _text(
        r"^[A-Za-z0-9][A-Za-z0-9._-]{0,39}\Z",
        "up to 40 letters, digits, dots, hyphens and underscores",
    ),
]


class Match(msgspec.Struct, frozen=True, omit_defaults=True, rename={"entity_set": "set"}):
    """The requests that a rule is about; empty members match every request.

    In `path`, `*` is any text. Of the matching requests of a client, every `nth` may meet the
    fault.
    """

    method: Annotated[
        str, _text(rf"^(?:{'|'.join(METHODS)})\Z", f"one of {', '.join(METHODS)}")
    ] = ""
    path: Annotated[str, _text(rf"^(?=[/*])[^*]*(?:\*[^*]*){{0,{MOST_STARS}}}\Z", _PATH)] = ""
    entity_set: Text = ""
    client: Text = ""
    company: Annotated[str, _text(_GUID, "the id of a company, a Guid")] = ""
    nth: Count = 1

    def matches(self, asked: Candidate) -> bool:
        """Whether a request has all that is given; without `nth`, which is about their number."""
        return (
            self.method in {"", asked.method}
            and self.entity_set in {"", asked.entity_set}
            and self.client in {"", asked.client}
            and self.company in {"", asked.company}
            and (
                not self.path
                or any(path_matches(self.path, each) for each in {asked.path, asked.address})
            )
        )


class Rule(msgspec.Struct, frozen=True):
    """A fault and the requests that meet it, at most `times` times for each client.

    A fault with a window concerns all clients together, and so do its count and `times`. `until`
    is the end of the rule by the clock of the rehearsal; None for no end.
    """

    id: Name
    fault: Fault
    match: Match = Match()
    probability: Annotated[float, Meta(gt=0, le=1, description="a number above 0, at most 1")] = 1.0
    seed: Seed = 0
    times: Count | None = None
    until: (
        Annotated[datetime, Meta(tz=True, description="an instant such as 2026-11-23T14:00:00Z")]
        | None
    ) = None

    @property
    def ends_at(self) -> float | None:
        """The end of the rule in seconds since 1970."""
        return None if self.until is None else self.until.timestamp()

    def is_over(self, now: float) -> bool:
        """Whether the rule has ended."""
        return self.until is not None and self.until.timestamp() <= now

    def matches(self, asked: Candidate) -> bool:
        """Whether the rule counts a request."""
        fault = self.fault
        return (
            asked.stage is fault.stage
            and (not fault.methods or asked.method in fault.methods)
            and (not fault.needs_set or bool(asked.entity_set))
            and fault.can_meet(asked)
            and self.match.matches(asked)
        )

    @property
    def listed(self) -> Mapping[str, object]:
        """The rule as it is written in JSON, without the members that have their defaults."""
        listed = {
            "id": self.id,
            "fault": self.fault.text,
            "match": msgspec.to_builtins(self.match),
            "probability": self.probability if self.probability < 1 else None,
            "seed": self.seed,
            "times": self.times,
            "until": None if self.until is None else instant(self.until),
        }
        return {name: value for name, value in listed.items() if value}


def path_matches(pattern: str, path: str) -> bool:
    """Whether a path has the form of a pattern, in which `*` is any text; in linear time."""
    expression = ".*".join(map(re2.escape, pattern.split("*")))
    return re2.fullmatch(f"(?s){expression}", path) is not None


_fault = partial(parse_fault, place="a preset")

PRESETS: Mapping[str, tuple[Rule, ...]] = {
    "bad-day": (
        Rule("throttled", _fault("throttle; retry-after=1"), probability=0.02),
        Rule("away", _fault("away; retry-after=1"), probability=0.01),
        Rule("lost-answer", _fault("reset; phase=after"), probability=0.01),
        Rule("background-job", _fault("touch"), Match(nth=50)),
        Rule("notified-twice", _fault("hook; mode=duplicate")),
    ),
    "update-night": (
        Rule("update", _fault("away; kind=html; window=600"), times=1),
        Rule("old-tokens", _fault("token-expired"), times=1),
        Rule("upgrade", _fault("vanish"), times=5),
    ),
    "monday": (
        Rule("crowded", _fault("throttle; retry-after=2"), probability=0.1),
        Rule("slow", _fault("slow; seconds=2"), probability=0.5),
    ),
}
"""The rules of each preset, by its name.

`bad-day`: everything goes wrong now and then. `update-night`: the service is away for ten minutes,
then no token is valid, then entity sets are missing. `monday`: too many clients at once.
"""


class ShiftedClock:
    """A clock that a test can advance; it is ahead of another one by `shift` seconds."""

    def __init__(self, clock: Clock = time.time) -> None:
        self._clock = clock
        self.shift = 0.0

    def __call__(self) -> float:
        """The time in seconds."""
        return self._clock() + self.shift

    def advance(self, seconds: float) -> None:
        """Move the clock on; raises `Refusal` (400) if it would not move, or move back."""
        if not seconds > 0:
            raise errors.CLOCK_BACK("advance", seconds=seconds)
        if self.shift + seconds > MOST_DAYS * _DAY:
            raise errors.CLOCK_FAR("advance", limit=MOST_DAYS)
        self.shift += seconds


class ChosenRule(msgspec.Struct, frozen=True):
    """The rule that acts on a request, which is the `number`-th that the rule has counted.

    With a window, it acts on every request until `end`, by its clock in seconds.
    """

    rule: Rule
    number: int
    end: float = inf


class RuleCount(msgspec.Struct):
    """The requests of a client that a rule has matched, and those on which it has acted."""

    matched: int = 0
    fired: int = 0


class SeenPage(msgspec.Struct, frozen=True):
    """The page of a list that a client has requested last, and the one before it."""

    number: int = 1
    query: str = ""
    previous: str = ""


def fraction(seed: int, rule_id: str, number: int) -> float:
    """A number from 0 up to 1 that looks random and depends on nothing else."""
    digest = sha256(f"{seed}\n{rule_id}\n{number}".encode()).digest()
    return int.from_bytes(digest[:8]) / _FRACTIONS


class RuleState:
    """The rules in force, with all that they need of the requests so far; for one event loop only.

    The header of a request comes first, then a window that has begun; the rules do not count these
    requests. Else every rule counts each request that it matches, and the first that is due acts on
    it. So a rule does not change which requests the others count.
    """

    def __init__(self, rules: Sequence[Rule], clock: Clock) -> None:
        self._clock = clock
        self.firings: deque[Firing] = deque(maxlen=MOST_FIRINGS)
        self._pages: dict[tuple[str, str], SeenPage] = {}
        self.set_rules(rules)

    def in_force(self) -> Sequence[Rule]:
        """The rules that have not ended."""
        now = self._clock()
        return [each for each in self._rules if not each.is_over(now)]

    def set_rules(self, rules: Sequence[Rule]) -> None:
        """Replace the rules; all counts start again, and the tokens that were ended are valid."""
        self._rules = tuple(rules)
        self._counts: dict[tuple[str, str], RuleCount] = {}
        self._of_headers: dict[tuple[str, str], RuleCount] = {}
        """The counts of headers, apart because a client may send any number of keys."""
        self._lasting: dict[str, ChosenRule] = {}
        """The choices that go on: for each token that was ended, and for all in a window."""

    def change_rules(self, rules: Sequence[Rule]) -> None:
        """Add or remove rules; the counts of those that remain go on."""
        gone = {each.id for each in self._rules} - {each.id for each in rules}
        self._rules = tuple(rules)
        self._counts = {key: each for key, each in self._counts.items() if key[0] not in gone}
        self._lasting = {
            key: each for key, each in self._lasting.items() if each.rule.id not in gone
        }

    def page(self, client: str, path: str, query: str) -> SeenPage:
        """The page of a list that a client requests, by its requests so far."""
        seen = self._pages.get((client, path), SeenPage())
        if "$skiptoken=" not in unquote(query):
            seen = SeenPage(1, query)
        elif query != seen.query:
            seen = SeenPage(seen.number + 1, query, seen.query)
        return _kept(self._pages, (client, path), seen)

    def choose(
        self, asked: Candidate, of_header: Rule | None = None, token: str = ""
    ) -> ChosenRule | None:
        """The rule that acts on a request; `token` is a digest of its token, empty for none."""
        choice = self._going_on(token, asked)
        if choice is None and of_header is not None:
            choice = self._due([of_header], self._of_headers, asked)
        if choice is None and asked.stage is Stage.REQUEST:
            choice = self._going_on(_WINDOW, asked)
        choice = choice or self._due(self._rules, self._counts, asked)
        if choice is not None and token and choice.rule.fault.ends_token:
            _kept(self._lasting, token, choice)
        return choice

    def _going_on(self, key: str, asked: Candidate) -> ChosenRule | None:
        found, now = self._lasting.get(key), self._clock()
        if found is None or now >= found.end or found.rule.is_over(now):
            return None
        return found if found.rule.match.company in {"", asked.company} else None

    def _due(
        self, rules: Sequence[Rule], counts: dict[tuple[str, str], RuleCount], asked: Candidate
    ) -> ChosenRule | None:
        """Count a request for each rule that matches it; the first that is due acts on it."""
        choice, now = None, self._clock()
        for rule in rules:
            if rule.is_over(now) or not rule.matches(asked):
                continue
            seconds = rule.fault.window or 0
            key = rule.id, "" if seconds else asked.client
            count = _kept(counts, key, counts.get(key) or RuleCount())
            count.matched += 1
            if choice is None and _is_due(rule, count):
                count.fired += 1
                choice = ChosenRule(rule, count.matched, now + seconds if seconds else inf)
                if seconds:
                    self._lasting[_WINDOW] = choice
        return choice

    def meet(
        self, asked: Candidate, request_id: str, of_header: Rule | None = None, token: str = ""
    ) -> tuple[Fault, Firing] | None:
        """The fault that a request meets, and its entry of the log."""
        choice = self.choose(asked, of_header, token)
        if choice is None:
            return None
        firing = Firing(
            self.firings[-1].number + 1 if self.firings else 1,
            instant(datetime.now(UTC)),
            choice.rule.id,
            choice.rule.fault.text,
            choice.number,
            asked.client,
            request_id,
            asked.method,
            asked.address or asked.path,
            asked.company,
        )
        self.firings.append(firing)
        return choice.rule.fault, firing


def _is_due(rule: Rule, count: RuleCount) -> bool:
    """Whether a rule acts on the last request that it has counted."""
    if rule.times is not None and count.fired >= rule.times:
        return False
    if count.matched % rule.match.nth:
        return False
    return rule.probability >= 1 or fraction(rule.seed, rule.id, count.matched) < rule.probability


def _kept(held: dict[K, V], key: K, value: V) -> V:
    """A value, kept as the most recent one; the least recent of too many is forgotten."""
    held.pop(key, None)
    held[key] = value
    if len(held) > MOST_KEPT:
        del held[next(iter(held))]
    return value
