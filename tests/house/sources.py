"""The modules of the package, which are parsed once for all house rules."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from house.rules import PACKAGE, Source

ROOT = Path(__file__).parents[2]


@cache
def sources() -> Sequence[Source]:
    """All modules of the package, by their paths."""
    paths = sorted((ROOT / "src" / PACKAGE).rglob("*.py"))
    return [Source(path.relative_to(ROOT).as_posix(), path.read_text("utf-8")) for path in paths]
