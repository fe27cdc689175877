"""The figures of the last release, which the repository keeps, and the comparison with them."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

import msgspec
from figures import Comparison, Figure

KEPT = Path(__file__).with_name("ratios.json")

_DIGITS = 3


class Kept(msgspec.Struct, frozen=True, omit_defaults=True):
    """The median of a figure; without a comparison it has no ratio."""

    name: str
    value: float
    unit: str
    against: str = ""
    other: float | None = None
    ratio: float | None = None


class Release(msgspec.Struct, frozen=True):
    """A release: its version, the machine that measured it, and the figures of each part."""

    version: str
    machine: str
    parts: dict[str, list[Kept]]

    @classmethod
    def read(cls, path: Path = KEPT) -> "Release":
        """Read the release that a file keeps."""
        return msgspec.json.decode(path.read_bytes(), type=cls)

    def write(self, path: Path = KEPT) -> None:
        """Keep the release in a file."""
        path.write_bytes(msgspec.json.format(msgspec.json.encode(self)) + b"\n")

    @property
    def ratios(self) -> Mapping[tuple[str, str], float]:
        """The ratios by name and comparison."""
        figures = (each for part in self.parts.values() for each in part)
        return {(each.name, each.against): each.ratio for each in figures if each.ratio is not None}

    def updated(
        self, version: str, machine: str, measured: Mapping[str, Sequence[Figure]]
    ) -> "Release":
        """A release with new figures of the measured parts; the other parts keep theirs."""
        new = {name: [_kept(each) for each in figures] for name, figures in measured.items()}
        return Release(version, machine, self.parts | new)


def worse(figures: Sequence[Figure], last: Mapping[tuple[str, str], float]) -> Iterator[str]:
    """Name the ratios that are worse than those of the last release in two of three rounds.

    A figure that the last release does not have is not compared.
    """
    for each in figures:
        if isinstance(each, Comparison):
            ratio = last.get((each.name, each.against))
            if ratio is not None and each.is_worse_than(ratio):
                yield f"{each.name} / {each.against}"


def _kept(figure: Figure) -> Kept:
    value = _rounded(median(figure.values))
    if not isinstance(figure, Comparison):
        return Kept(figure.name, value, figure.unit)
    other, ratio = median(figure.others), median(figure.ratios)
    return Kept(figure.name, value, figure.unit, figure.against, _rounded(other), _rounded(ratio))


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
