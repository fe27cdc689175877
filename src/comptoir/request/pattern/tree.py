"""The syntax tree of a pattern: what it matches, whatever the way in which that is found."""

from dataclasses import dataclass

Ranges = tuple[tuple[int, int], ...]
"""Characters by their code points, first and last of each run."""


class PatternFault(Exception):  # noqa: N818 - says what is wrong with a pattern
    """A pattern that cannot be used; `unsupported` when ECMAScript has what it holds.

    The message completes "the pattern …"; `construct` names what is not supported.
    """

    def __init__(self, construct: str, position: int, *, unsupported: bool = False) -> None:
        super().__init__(f"has {construct} at its character {position + 1}.")
        self.construct = construct
        self.unsupported = unsupported


@dataclass(frozen=True, slots=True)
class Characters:
    """One character: one of the ranges, or when `excluded` one that is in none of them."""

    ranges: Ranges
    excluded: bool = False

    def takes(self, code: int) -> bool:
        """Whether a character is one of these."""
        return self.excluded != any(low <= code <= high for low, high in self.ranges)


@dataclass(frozen=True, slots=True)
class Edge:
    """No character, but the start of the text, or else its end."""

    is_start: bool


@dataclass(frozen=True, slots=True)
class Repeated:
    """What stands at a position of the pattern, from `least` to `most` times; None is no limit."""

    part: "Part"
    least: int
    most: int | None
    position: int


@dataclass(frozen=True, slots=True)
class Alternatives:
    """One of some sequences, each of parts one behind the other."""

    sequences: tuple[tuple["Part", ...], ...]


Part = Characters | Edge | Repeated | Alternatives
