"""The curves of how cost grows, and their drawing and table on the page on performance.

`python bench/curves.py` draws the figures that `make bench ARGS=--growth` wrote again.
"""

import re
from collections.abc import Iterator, Sequence
from html import escape
from math import ceil, floor, inf, log10
from pathlib import Path
from statistics import median

import msgspec

FIGURES = Path(__file__).with_name("growth.json")
PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "performance.md"
DRAWING = PAGE.with_name("growth.svg")

_TABLE = re.compile(r"(?<=<!-- figures of growth -->\n).*?(?=<!-- end of figures -->)", re.DOTALL)

_COLUMNS = 3
_CELL = (360, 215)
_PLOT = (58, 40, 190, 125)
"""Left, top, width and height of a plot within its cell."""

_COLOURS = ("#1f6fb4", "#c8590c", "#3b8a3e")
_INK, _FAINT = "#333333", "#dddddd"
_LINE_HEIGHT = 15


class Curve(msgspec.Struct, frozen=True):
    """The cost of an operation, by the number of records, and the goal of its growth.

    An operation may have several series. `values` has, for each of the sizes, the value of every
    round.
    """

    operation: str
    series: str
    unit: str
    goal: str
    values: Sequence[Sequence[float]]

    @property
    def medians(self) -> Sequence[float]:
        """The cost at each size."""
        return [median(each) for each in self.values]

    @property
    def growth(self) -> float:
        """The cost at the largest size divided by that at the smallest."""
        smallest, largest = self.values[0], self.values[-1]
        return median(last / first for first, last in zip(smallest, largest, strict=True))


class Growth(msgspec.Struct, frozen=True):
    """The curves over the same numbers of records, and the machine on which they were measured."""

    machine: dict[str, str | float]
    sizes: Sequence[int]
    curves: Sequence[Curve]

    @classmethod
    def read(cls) -> "Growth":
        """The figures of the last run."""
        return msgspec.json.decode(FIGURES.read_bytes(), type=cls)

    def write(self) -> None:
        """Write the figures."""
        FIGURES.write_bytes(msgspec.json.format(msgspec.json.encode(self)) + b"\n")

    def draw(self) -> None:
        """Draw the figures, and write their table into the page."""
        DRAWING.write_text(drawn(self), encoding="utf-8")
        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), self), encoding="utf-8")


def with_table(text: str, growth: Growth) -> str:
    """The text of the page with a table of the figures."""
    lines = [
        ["cost", *map(_short, growth.sizes), "times", "goal"],
        *(
            [
                ", ".join(filter(None, (each.operation, each.series))),
                *(f"{_number(value)} {each.unit}" for value in each.medians),
                f"{each.growth:.2f}",
                each.goal,
            ]
            for each in growth.curves
        ),
    ]
    rows = [f"| {' | '.join(line)} |\n" for line in lines]
    rows.insert(1, f"|{'---|' * len(lines[0])}\n")
    return _TABLE.sub(lambda _: "".join(rows), text)


def drawn(growth: Growth) -> str:
    """An SVG with a plot for each operation, and a line in it for each series."""
    operations = list(dict.fromkeys(each.operation for each in growth.curves))
    cells = [
        "".join(
            _plot(name, growth.sizes, [each for each in growth.curves if each.operation == name])
        )
        for name in operations
    ]
    cells.append("".join(_legend(growth.sizes)))
    width, height = _CELL[0] * _COLUMNS, _CELL[1] * ceil(len(cells) / _COLUMNS)
    placed = [
        f'<g transform="translate({at % _COLUMNS * _CELL[0]},{at // _COLUMNS * _CELL[1]})">'
        f"{cell}</g>\n"
        for at, cell in enumerate(cells)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="12" fill="{_INK}">\n'
        f'<rect width="{width}" height="{height}" fill="white"/>\n{"".join(placed)}</svg>\n'
    )


def _plot(name: str, sizes: Sequence[int], curves: Sequence[Curve]) -> Iterator[str]:
    left, top, width, height = _PLOT
    bottom = top + height
    marks = _marks(max(max(each.medians) for each in curves))
    yield _text(left, top - 22, name, weight="bold")
    yield _text(left, top - 8, "µs of CPU" if curves[0].unit == "µs" else curves[0].unit)
    for mark in marks:
        y = bottom - height * mark / marks[-1]
        yield f'<path d="M{left} {y:.1f}h{width}" stroke="{_FAINT}"/>'
        yield _text(left - 6, y + 4, f"{mark:,g}", anchor="end")
    places = [left + width * _share(size, sizes) for size in sizes]
    for size, x in zip(sizes, places, strict=True):
        yield _text(x, bottom + 18, _short(size), anchor="middle")
    ends: list[float] = []
    for curve, colour in zip(curves, _COLOURS, strict=False):
        heights = [bottom - height * value / marks[-1] for value in curve.medians]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(places, heights, strict=True))
        yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        for x, y in zip(places, heights, strict=True):
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>'
        ends.append(heights[-1])
    for curve, colour, y in zip(curves, _COLOURS, _apart(ends), strict=False):
        label = f"{curve.growth:.2f} {curve.series or 'times'}"
        yield _text(places[-1] + 9, y + 4, label, colour=colour)


def _legend(sizes: Sequence[int]) -> Iterator[str]:
    left, top, *_ = _PLOT
    lines = (
        "Horizontal: the number of records.",
        f"At the right: the cost with {_short(sizes[-1])}",
        f"records, divided by that with {_short(sizes[0])}.",
    )
    for at, line in enumerate(lines):
        yield _text(left, top + at * _LINE_HEIGHT, line)


def _marks(highest: float) -> Sequence[float]:
    """Round numbers from 0 to above the highest value, at most five."""
    unit = 10 ** floor(log10(highest))
    step = next(each * unit for each in (0.25, 0.5, 1, 2, 2.5) if 4 * each * unit >= highest)
    return [each * step for each in range(ceil(highest / step) + 1)]


def _share(size: int, sizes: Sequence[int]) -> float:
    """The place of a size on a logarithmic scale, from 0 to 1."""
    return log10(size / sizes[0]) / log10(sizes[-1] / sizes[0])


def _apart(ends: Sequence[float]) -> Sequence[float]:
    """The heights of labels, moved apart if they overlap."""
    moved = list(ends)
    below = inf
    for at in sorted(range(len(ends)), key=ends.__getitem__, reverse=True):
        moved[at] = below = min(ends[at], below - _LINE_HEIGHT)
    down = (sum(ends) - sum(moved)) / len(ends)
    return [each + down for each in moved]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _short(size: int) -> str:
    return f"{size // 1_000_000} million" if size >= 1_000_000 else f"{size // 1_000} thousand"


def _text(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    weight: str = "normal",
    colour: str = _INK,
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}" '
        f'fill="{colour}">{escape(text)}</text>'
    )


if __name__ == "__main__":
    Growth.read().draw()
