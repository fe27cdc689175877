"""The figures: collected over the rounds; medians and ratios as a table and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

Json = dict[str, "str | float | list[float] | None"]

_HEADINGS = ("", "value", "against", "ratio", "lowest", "highest", "prototype", "target", "")


@dataclass(slots=True)
class Comparison:
    """Two values measured in every round, and their ratio.

    `at_most` and `at_least` are targets of the ratio. `prototype` is the ratio of an early
    prototype.
    """

    name: str
    unit: str
    against: str
    at_most: float | None = None
    at_least: float | None = None
    prototype: float | None = None
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
        """Whether the median ratio is within its target, if it has one."""
        ratio = median(self.ratios)
        above = self.at_most is not None and ratio > self.at_most
        below = self.at_least is not None and ratio < self.at_least
        return not (above or below)

    def row(self) -> Sequence[str]:
        """The row of the table."""
        ratios = self.ratios
        return (
            self.name,
            f"{_short(median(self.values))} {self.unit}",
            f"{_short(median(self.others))} {self.against}",
            f"{median(ratios):.2f}",
            f"{min(ratios):.2f}",
            f"{max(ratios):.2f}",
            "" if self.prototype is None else f"{self.prototype:g}",
            self._target(),
            "" if self._target() == "" else "met" if self.holds else "MISSED",
        )

    def _target(self) -> str:
        if self.at_most is not None:
            return f"<= {self.at_most:.3g}"
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
            "prototype": self.prototype,
            "values": self.values,
            "others": self.others,
        }


@dataclass(slots=True)
class Single:
    """A value without a comparison."""

    name: str
    unit: str
    values: list[float] = field(default_factory=list)

    def add(self, value: float) -> None:
        """Add the value of a round."""
        self.values.append(value)

    def row(self) -> Sequence[str]:
        """The row of the table."""
        spread = (_short(min(self.values)), _short(max(self.values)))
        return (
            self.name,
            f"{_short(median(self.values))} {self.unit}",
            "",
            "",
            *spread,
            "",
            "",
            "",
        )

    def json(self) -> Json:
        """The figure as JSON, with the values of every round."""
        value = median(self.values)
        return {"name": self.name, "unit": self.unit, "value": value, "values": self.values}


Figure = Comparison | Single


def table(figures: Sequence[Figure]) -> Iterator[str]:
    """The lines of the table: names on the left, values aligned to the right."""
    rows = [_HEADINGS, *(each.row() for each in figures)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_HEADINGS))]
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield "  ".join(cells).rstrip()


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
