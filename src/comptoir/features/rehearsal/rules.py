"""Rules: which requests meet which fault, and how often."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

import msgspec

from comptoir.edm.times import instant
from comptoir.features.rehearsal.faults import Fault, Stage
from comptoir.jsonvalue import Json


class Candidate(msgspec.Struct, frozen=True):
    """A candidate for a fault: a request, a batch, or the delivery of a notification.

    `path` is below the base path, and `address` the path at the address that the client used, if
    it is another one. `client` is the subject of the token, or the owner of the subscription.
    `entity_set` is empty for a request that addresses none, and `page` the number of the requested
    page of a list, 0 for another request. `is_record`: the request addresses a record that can
    change. `company` is the id of the company of what it addresses, empty without one.
    """

    method: str
    path: str
    entity_set: str
    client: str
    stage: Stage = Stage.REQUEST
    page: int = 0
    is_record: bool = False
    address: str = ""
    company: str = ""

    @property
    def paths(self) -> Collection[str]:
        """The paths that a rule may name."""
        return {self.path, self.address} - {""}


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
            and (not self.path or any(path_matches(self.path, each) for each in asked.paths))
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
        fault_type = self.fault.type
        return (
            asked.stage is fault_type.stage
            and (not fault_type.methods or asked.method in fault_type.methods)
            and (not fault_type.needs_set or bool(asked.entity_set))
            and (not fault_type.needs_record or asked.is_record)
            and asked.page >= fault_type.least_page
            and self.fault.parameters.get("page", asked.page) == asked.page
            and self.match.matches(asked)
        )

    @property
    def listed(self) -> Mapping[str, Json | float]:
        """The rule as it is written in JSON, without the members that have their defaults."""
        match = self.match
        texts = {
            "method": match.method,
            "path": match.path,
            "set": match.entity_set,
            "client": match.client,
            "company": match.company,
        }
        matched: dict[str, Json] = {name: text for name, text in texts.items() if text}
        if match.nth > 1:
            matched["nth"] = match.nth
        listed: dict[str, Json | float] = {"id": self.id, "fault": self.fault.text}
        if matched:
            listed["match"] = matched
        if self.probability < 1:
            listed["probability"] = self.probability
        if self.seed:
            listed["seed"] = self.seed
        if self.times is not None:
            listed["times"] = self.times
        if self.until is not None:
            listed["until"] = instant(datetime.fromtimestamp(self.until, UTC))
        return listed


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
