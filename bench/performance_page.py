"""Writes the figures of the last release into the page on performance."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from release import Kept, Release

PAGE = Path(__file__).resolve().parents[1] / "docs" / "explanation" / "performance.md"

_TABLE = re.compile(r"(<!-- figures of (\w+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)
_HEAD = "| measurement | value | compared with | ratio |\n|---|---|---|---|\n"


def refreshed(text: str, release: Release) -> str:
    """The text of the page with the tables of a release; a part without figures keeps its own."""

    def table(found: re.Match[str]) -> str:
        begin, part, end = found.groups()
        figures = release.parts.get(part)
        return found[0] if figures is None else begin + "".join(_table(figures)) + end

    return _TABLE.sub(table, text)


def _table(figures: Sequence[Kept]) -> Iterator[str]:
    yield _HEAD
    for each in figures:
        cells = [each.name, f"{_number(each.value)} {each.unit}", "", ""]
        if each.other is not None and each.ratio is not None:
            cells[2:] = f"{_number(each.other)} {each.unit}, {each.against}", _factor(each.ratio)
        yield f"| {' | '.join(cells)} |\n"


def _factor(ratio: float) -> str:
    """A ratio as it is read aloud: 7.5, or a 1/15."""
    return f"{ratio:.2g}" if ratio > 0.5 else f"1/{1 / ratio:.2g}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
