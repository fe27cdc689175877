"""Rules: which requests meet which fault, and how often; and the presets."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial

import msgspec

from comptoir.edm.times import instant
from comptoir.features.rehearsal.faults import parse_fault
from comptoir.features.rehearsal.faults.fault import Candidate, Fault
from comptoir.jsonvalue import Json


class Match(msgspec.Struct, frozen=True):
    """The requests that a rule is about; empty members match every request.

    In `path`, `*` is any text. Of the matching requests of a client, every `nth` may meet the
    fault.
    """

    method: str = ""
    path: str = ""
    entity_set: str = ""
    client: str = ""
    nth: int = 1
    company: str = ""

    def matches(self, asked: Candidate) -> bool:
        """Whether a request has all that is given; without `nth`, which is about their number."""
        return (
            self.method in {"", asked.method}
            and self.entity_set in {"", asked.entity_set}
            and self.client in {"", asked.client}
            and self.company in {"", asked.company}
            and (
                not self.path
                or any(path_matches(self.path, each) for each in (asked.path, asked.address))
            )
        )


class Rule(msgspec.Struct, frozen=True):
    """A fault and the requests that meet it, at most `times` times for each client.

    A fault with a window concerns all clients together, and so do its count and `times`. `until`
    is the end of the rule, in seconds since 1970 by the clock of the rehearsal; None for no end.
    """

    id: str
    fault: Fault
    match: Match = Match()
    probability: float = 1.0
    seed: int = 0
    times: int | None = None
    until: float | None = None

    def is_over(self, now: float) -> bool:
        """Whether the rule has ended."""
        return self.until is not None and self.until <= now

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
    def listed(self) -> Mapping[str, Json | float]:
        """The rule as it is written in JSON, without the members that have their defaults."""
        match, until = self.match, self.until
        matched: dict[str, Json] = {
            "method": match.method,
            "path": match.path,
            "set": match.entity_set,
            "client": match.client,
            "company": match.company,
            "nth": match.nth if match.nth > 1 else None,
        }
        listed: dict[str, Json | float] = {
            "id": self.id,
            "fault": self.fault.text,
            "match": {name: value for name, value in matched.items() if value},
            "probability": self.probability if self.probability < 1 else None,
            "seed": self.seed,
            "times": self.times,
            "until": None if until is None else instant(datetime.fromtimestamp(until, UTC)),
        }
        return {name: value for name, value in listed.items() if value}


def path_matches(pattern: str, path: str) -> bool:
    """Whether a path has the form of a pattern, in which `*` is any text; in linear time."""
    first, *others = pattern.split("*")
    if not others:
        return path == pattern
    *inner, last = others
    if not path.startswith(first) or len(path) < len(first) + len(last):
        return False
    position, end = len(first), len(path) - len(last)
    for part in inner:
        found = path.find(part, position, end)
        if found < 0:
            return False
        position = found + len(part)
    return path.endswith(last)


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
