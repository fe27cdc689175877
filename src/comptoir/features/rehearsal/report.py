"""The report of the traps that clients have met, and of those that they have not."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from comptoir.features.rehearsal.client import ControlClient

_WORST = ("no", "unknown", "yes", None)
"""The recoveries of a report: of several reports, the first of these counts."""


class Line(msgspec.Struct, frozen=True, rename="camel"):
    """The number of times that clients have met a trap, and how they went on.

    `by_fault` counts those that a fault has caused, and `too_early` the requests that were sent
    before `Retry-After` had passed. `recovered` is None for a trap that was not met.
    """

    trap: str
    meaning: str
    remedy: str
    met: int
    by_fault: int
    too_early: int
    recovered: str | None


class _Client(msgspec.Struct, frozen=True):
    traps: list[Line]


class _Report(msgspec.Struct, frozen=True):
    value: list[_Client]


Report = Mapping[str, Line]
"""A line for each trap, by its name; empty if no client has met any."""


def read_report(control: ControlClient) -> Report:
    """The traps of all clients of a service together."""
    parties = control.read("GET", "report", _Report).value
    return merged(line for party in parties for line in party.traps)


def merged(lines: Iterable[Line]) -> Report:
    """The sum of the lines of several clients or tests."""
    report: dict[str, Line] = {}
    for line in lines:
        known = report.get(line.trap)
        report[line.trap] = line if known is None else _both(known, line)
    return report


def _both(one: Line, other: Line) -> Line:
    return msgspec.structs.replace(
        one,
        met=one.met + other.met,
        by_fault=one.by_fault + other.by_fault,
        too_early=one.too_early + other.too_early,
        recovered=min(one.recovered, other.recovered, key=_WORST.index),
    )


def report_lines(report: Report) -> Iterator[str]:
    """The text of a report: the traps that were met, with advice, and those that were not."""
    met = [line for line in report.values() if line.met]
    width = max((len(line.trap) for line in met), default=0)
    for line in met:
        too_early = (
            f" {line.too_early} sent before Retry-After had passed." if line.too_early else ""
        )
        advice = "" if line.recovered == "yes" else f" {line.remedy}"
        yield (
            f"{line.trap:{width}}  met {line.met}, by a fault {line.by_fault}, recovered: "
            f"{line.recovered}.{too_early}{advice}"
        )
    missing = [line.trap for line in report.values() if not line.met]
    if missing:
        yield f"not met: {', '.join(missing)}"
    if not report:
        yield "no client has met a trap"
