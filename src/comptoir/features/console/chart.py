"""Charts of the last minutes: curves as the points of SVG lines."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

WIDTH = 300
HEIGHT = 60
"""The box of a chart, in the units of its SVG."""

MISSING = "–"  # noqa: RUF001 - a dash, as in the tables
"""The text of a number that is missing."""

Numbers = Sequence[float | None]


class Curve(NamedTuple):
    """A figure over time: its name in the chart, blank for the only one, and its numbers as text.

    `lines` has the points of each part of the curve, which breaks where a number is missing.
    """

    name: str
    texts: Sequence[str]
    lines: Sequence[str]

    @property
    def last(self) -> str:
        """The last number."""
        return self.texts[-1] if self.texts else MISSING


class Chart(NamedTuple):
    """Curves with one scale, in a box of `WIDTH` by `HEIGHT`; the highest point is at `most`."""

    title: str
    unit: str
    most: str
    curves: Sequence[Curve]

    @classmethod
    def of(
        cls,
        title: str,
        unit: str,
        form: str,
        figures: Mapping[str, Numbers],
        places: Sequence[float],
    ) -> "Chart":
        """The chart of figures by their names, whose numbers have a form such as `.1f`.

        `places` are those of the numbers in time, from 0 at the left to 1.
        """
        known = [each for numbers in figures.values() for each in numbers if each is not None]
        most = max(known, default=0.0)
        curves = [
            Curve(name, [_text(each, form) for each in numbers], _lines(numbers, places, most))
            for name, numbers in figures.items()
        ]
        return cls(title, unit, _text(most if known else None, form), curves)


def _text(number: float | None, form: str) -> str:
    return MISSING if number is None else format(number, form)


def _lines(numbers: Numbers, places: Sequence[float], most: float) -> Sequence[str]:
    parts: list[list[str]] = [[]]
    for number, place in zip(numbers, places, strict=True):
        if number is None:
            parts.append([])
            continue
        height = HEIGHT * (number / most) if most else 0.0
        parts[-1].append(f"{place * WIDTH:.1f},{HEIGHT - height:.1f}")
    # a line with one point is not drawn, and one with two equal points is a dot
    return [" ".join(each if len(each) > 1 else each * 2) for each in parts if each]
