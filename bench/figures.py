"""The figures: collected over the rounds; medians and ratios as a table and as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

Json = dict[str, "str | float | list[float] | None"]

TOLERANCE = 1.1
"""A ratio that is higher than that of the last release by this factor is worse."""

_HEADINGS = ("", "value", "against", "ratio", "lowest", "highest", "target", "", "release", "")


@dataclass(slots=True)
class Comparison:
    """Two values measured in every round, and their ratio.

    `at_most` and `at_least` are targets of the ratio, `limit` is one of the value itself. A
    `guarded` ratio is compared with that of the last release. It is one of costs, and its other
    side is not the service: a ratio of two requests to the service gets worse if the other request
    gets cheaper.
    """

    name: str
    unit: str
    against: str
    at_most: float | None = None
    at_least: float | None = None
    limit: float | None = None
    guarded: bool = False
    values: list[float] = field(default_factory=list)
    others: list[float] = field(default_factory=list)

    def add(self, value: float, other: float) -> None:
        """Add the values of a round."""
        self.values.append(value)
        self.others.append(other)

    @property
    def ratios(self) -> list[float]:
        """The ratio of each round, whose two values were measured one after the other."""
        return [value / other for value, other in zip(self.values, self.others, strict=True)]

    @property
    def holds(self) -> bool:
        """Whether the medians are within their targets, if there are some."""
        ratio = median(self.ratios)
        beyond = self.limit is not None and median(self.values) > self.limit
        above = self.at_most is not None and ratio > self.at_most
        below = self.at_least is not None and ratio < self.at_least
        return not (above or below or beyond)

    def is_worse_than(self, last: float) -> bool:
        """Whether the ratio is worse than an earlier one in two of three rounds."""
        worse = sum(ratio > last * TOLERANCE for ratio in self.ratios)
        return self.guarded and worse * 3 >= len(self.ratios) * 2

    def row(self, last: float | None) -> Sequence[str]:
        """The row of the table, with the ratio of the last release."""
        ratios, target = self.ratios, self._target()
        return (
            self.name,
            f"{_short(median(self.values))} {self.unit}",
            f"{_short(median(self.others))} {self.unit}, {self.against}",
            *(f"{each:.3g}" for each in (median(ratios), min(ratios), max(ratios))),
            target,
            _verdict(holds=self.holds) if target else "",
            "" if last is None else f"{last:.3g}",
            "" if last is None or not self.is_worse_than(last) else "WORSE",
        )

    def _target(self) -> str:
        if self.at_most is not None:
            return f"<= {self.at_most:.3g}"
        if self.limit is not None:
            return f"<= {self.limit:g} {self.unit}"
        return "" if self.at_least is None else f">= {self.at_least:.3g}"

    def json(self) -> Json:
        """The figure as JSON, with the values of every round."""
        return {
            "name": self.name,
            "unit": self.unit,
            "value": median(self.values),
            "against": self.against,
            "other": median(self.others),
            "ratio": median(self.ratios),
            "at_most": self.at_most,
            "at_least": self.at_least,
            "limit": self.limit,
            "values": self.values,
            "others": self.others,
        }


@dataclass(slots=True)
class Single:
    """A value without a comparison; `limit` is its target."""

    name: str
    unit: str
    limit: float | None = None
    values: list[float] = field(default_factory=list)

    def add(self, value: float) -> None:
        """Add the value of a round."""
        self.values.append(value)

    def row(self) -> Sequence[str]:
        """The row of the table; the last release has no value to compare with."""
        value = median(self.values)
        return (
            self.name,
            f"{_short(value)} {self.unit}",
            "",
            "",
            _short(min(self.values)),
            _short(max(self.values)),
            "" if self.limit is None else f"<= {self.limit:g} {self.unit}",
            "" if self.limit is None else _verdict(holds=value <= self.limit),
            "",
            "",
        )

    def json(self) -> Json:
        """The figure as JSON, with the values of every round."""
        return {
            "name": self.name,
            "unit": self.unit,
            "value": median(self.values),
            "limit": self.limit,
            "values": self.values,
        }


Figure = Comparison | Single


def table(figures: Sequence[Figure], last: Mapping[tuple[str, str], float]) -> Iterator[str]:
    """The lines of the table: names on the left, values aligned to the right.

    `last` are the ratios of the last release, by name and comparison.
    """
    rows: list[Sequence[str]] = [_HEADINGS]
    for each in figures:
        rows.append(
            each.row(last.get((each.name, each.against)))
            if isinstance(each, Comparison)
            else each.row()
        )
    widths = [max(len(row[at]) for row in rows) for at in range(len(_HEADINGS))]
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield "  ".join(cells).rstrip()


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _verdict(*, holds: bool) -> str:
    return "met" if holds else "MISSED"
