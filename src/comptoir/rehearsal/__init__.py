"""Rehearsals: rules that decide which requests meet which fault, and what clients have met.

Everything here is pure: it neither reads nor sends anything, and its time is an argument.
"""

from comptoir.rehearsal.choice import Chooser, ChosenRule, RuleCounts
from comptoir.rehearsal.clock import ShiftedClock
from comptoir.rehearsal.documents import (
    HEADER,
    parse_advance,
    parse_file,
    parse_header,
    parse_rule,
    parse_rules,
)
from comptoir.rehearsal.faults import FAULTS, Fault, Stage
from comptoir.rehearsal.presets import PRESETS
from comptoir.rehearsal.rules import Candidate, Match, Rule
from comptoir.rehearsal.traps import TRAPS, Recovery, Trap, TrapLine, TrapTally, TrapTarget

__all__ = [
    "FAULTS",
    "HEADER",
    "PRESETS",
    "TRAPS",
    "Candidate",
    "Chooser",
    "ChosenRule",
    "Fault",
    "Match",
    "Recovery",
    "Rule",
    "RuleCounts",
    "ShiftedClock",
    "Stage",
    "Trap",
    "TrapLine",
    "TrapTally",
    "TrapTarget",
    "parse_advance",
    "parse_file",
    "parse_header",
    "parse_rule",
    "parse_rules",
]
