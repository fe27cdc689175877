"""The curves of how cost grows, and their drawing.

`python bench/curves.py` prints the drawing of the figures that `make bench ARGS=--growth` wrote.
"""

from collections.abc import Iterator, Sequence
from html import escape
from math import ceil, floor, log10
from pathlib import Path
from statistics import median

import msgspec

FIGURES = Path(__file__).with_name("growth.json")
DRAWING = Path(__file__).parents[1] / "docs" / "explanation" / "growth.svg"

_COLUMNS = 3
_CELL = (360, 230)
_PLOT = (58, 40, 216, 140)
"""Left, top, width and height of a plot within its cell."""

_COLOURS = ("#1f6fb4", "#c8590c")
_INK, _FAINT = "#333333", "#dddddd"
_LINE_HEIGHT = 15


class Curve(msgspec.Struct, frozen=True):
    """The cost of an operation in µs, by the number of records.

    `values` has, for each of the sizes, the value of every round.
    """

    operation: str
    companies: int
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

    def write(self) -> None:
        """Write the figures, and draw them."""
        FIGURES.write_bytes(msgspec.json.format(msgspec.json.encode(self)) + b"\n")
        DRAWING.write_text(drawn(self), encoding="utf-8")


def drawn(growth: Growth) -> str:
    """An SVG with a plot for each operation, and a line in it for each number of companies."""
    operations = list(dict.fromkeys(each.operation for each in growth.curves))
    companies = list(dict.fromkeys(each.companies for each in growth.curves))
    cells = [
        "".join(
            _plot(name, growth.sizes, [each for each in growth.curves if each.operation == name])
        )
        for name in operations
    ]
    cells.append("".join(_legend(companies, growth.sizes)))
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
    yield _text(left, top - 8, "µs of CPU")
    for mark in marks:
        y = bottom - height * mark / marks[-1]
        yield f'<path d="M{left} {y:.1f}h{width}" stroke="{_FAINT}"/>'
        yield _text(left - 6, y + 4, f"{mark:,g}", anchor="end")
    places = [left + width * _share(size, sizes) for size in sizes]
    for size, x in zip(sizes, places, strict=True):
        yield _text(x, bottom + 18, _short(size), anchor="middle")
    ends: list[float] = []
    for curve, colour in zip(curves, _COLOURS, strict=True):
        heights = [bottom - height * value / marks[-1] for value in curve.medians]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(places, heights, strict=True))
        yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        for x, y in zip(places, heights, strict=True):
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>'
        ends.append(heights[-1])
    for curve, colour, y in zip(curves, _COLOURS, _apart(ends), strict=True):
        yield _text(places[-1] + 9, y + 4, f"{curve.growth:.2f} times", colour=colour)


def _legend(companies: Sequence[int], sizes: Sequence[int]) -> Iterator[str]:
    left, top, *_ = _PLOT
    for at, (count, colour) in enumerate(zip(companies, _COLOURS, strict=True)):
        y = top + at * 1.5 * _LINE_HEIGHT
        yield f'<path d="M{left} {y - 4:.1f}h24" stroke="{colour}" stroke-width="2"/>'
        yield f'<circle cx="{left + 12}" cy="{y - 4:.1f}" r="3.5" fill="{colour}"/>'
        yield _text(left + 32, y, "in one company" if count == 1 else f"in {count:,} companies")
    lines = (
        "Horizontal: the number of records.",
        f"Times: the cost with {_short(sizes[-1])} records,",
        f"divided by that with {_short(sizes[0])}.",
    )
    for at, line in enumerate(lines, 4):
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
    """The heights of two labels, moved apart if they overlap."""
    overlap = _LINE_HEIGHT - abs(ends[0] - ends[1])
    if overlap <= 0:
        return ends
    up, down = -overlap / 2, overlap / 2
    return [ends[0] + up, ends[1] + down] if ends[0] < ends[1] else [ends[0] + down, ends[1] + up]


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
    print(drawn(msgspec.json.decode(FIGURES.read_bytes(), type=Growth)), end="")
