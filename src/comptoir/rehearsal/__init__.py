"""Rehearsals: rules that decide which requests meet which fault, and what clients have met.

Everything here is pure: it neither reads nor sends anything, and its time is an argument.
"""

from comptoir.rehearsal.choice import Choice, Chooser, Counts
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
from comptoir.rehearsal.rules import Asked, Match, Rule
from comptoir.rehearsal.traps import TRAPS, Address, Line, Recovery, Tally, Trap

__all__ = [
    "FAULTS",
    "HEADER",
    "PRESETS",
    "TRAPS",
    "Address",
    "Asked",
    "Choice",
    "Chooser",
    "Counts",
    "Fault",
    "Line",
    "Match",
    "Recovery",
    "Rule",
    "ShiftedClock",
    "Stage",
    "Tally",
    "Trap",
    "parse_advance",
    "parse_file",
    "parse_header",
    "parse_rule",
    "parse_rules",
]
