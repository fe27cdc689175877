"""Sets of rules for the days that an integration must survive."""

from collections.abc import Mapping
from types import MappingProxyType

from comptoir.features.rehearsal.faults import parse_fault
from comptoir.features.rehearsal.rules import Match, Rule


def _rule(
    rule_id: str,
    fault: str,
    *,
    nth: int = 1,
    probability: float = 1.0,
    times: int | None = None,
) -> Rule:
    return Rule(rule_id, parse_fault(fault, rule_id), Match(nth=nth), probability, times=times)


PRESETS: Mapping[str, tuple[Rule, ...]] = MappingProxyType(
    {
        "bad-day": (
            _rule("throttled", "throttle; retry-after=1", probability=0.02),
            _rule("away", "away; retry-after=1", probability=0.01),
            _rule("lost-answer", "reset; phase=after", probability=0.01),
            _rule("background-job", "touch", nth=50),
            _rule("notified-twice", "hook; mode=duplicate"),
        ),
        "update-night": (
            _rule("update", "away; kind=html; window=600", times=1),
            _rule("old-tokens", "token-expired", times=1),
            _rule("upgrade", "vanish", times=5),
        ),
        "monday": (
            _rule("crowded", "throttle; retry-after=2", probability=0.1),
            _rule("slow", "slow; seconds=2", probability=0.5),
        ),
    }
)
"""The rules of each preset, by its name.

`bad-day`: everything goes wrong now and then. `update-night`: the service is away for ten minutes,
then no token is valid, then entity sets are missing. `monday`: too many clients at once.
"""
