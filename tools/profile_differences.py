"""The difference of two profiles, part by part, and the rows that explain it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from comptoir.profiles.record import (
    BatchRules,
    Envelope,
    FilterRules,
    Hooks,
    Profile,
    Queries,
    ResponseOverride,
    Routes,
    ShownProperty,
    Tokens,
    ValueForms,
    WriteRules,
)

Section = (
    Envelope
    | WriteRules
    | ValueForms
    | Queries
    | FilterRules
    | BatchRules
    | Routes
    | Tokens
    | Hooks
)
Part = (
    Section
    | ResponseOverride
    | ShownProperty
    | Mapping[str, str]
    | frozenset[str]
    | frozenset[int]
    | tuple[str, ...]
    | tuple[float, ...]
    | str
    | float
    | None
)

ROWS = Path(__file__).parents[1] / "tests" / "profiles" / "rows.toml"


class Row(msgspec.Struct, forbid_unknown_fields=True):
    """A situation in which the profiles differ, its source and how certain that is.

    `parts` are those of the profile that differ, as `differences` names them.
    """

    situation: str
    source: str
    confidence: Literal["documented", "recorded", "reported", "ours"]
    parts: list[str] = []


@dataclass(frozen=True, slots=True)
class Difference:
    """A part in which two profiles differ, by its path; None if one of them lacks it."""

    leaf: str
    one: Part
    other: Part


def rows() -> dict[str, Row]:
    """The rows by their ids, in the order of the reference page."""
    return msgspec.toml.decode(ROWS.read_bytes(), type=dict[str, Row])


def differences(one: Profile, other: Profile) -> Iterator[Difference]:
    """The parts in which two profiles differ, in the order of the record."""
    left, right = dict(_leaves(one)), dict(_leaves(other))
    for leaf in dict.fromkeys([*left, *right]):
        if left.get(leaf) != right.get(leaf):
            yield Difference(leaf, left.get(leaf), right.get(leaf))


def _leaves(profile: Profile) -> Iterator[tuple[str, Part]]:
    for section in msgspec.structs.fields(profile):
        part = getattr(profile, section.name)
        yield from _within(section.name, part)


def _within(path: str, part: Part) -> Iterator[tuple[str, Part]]:
    if isinstance(part, Section):
        for each in msgspec.structs.fields(part):
            yield from _within(f"{path}.{each.name}", getattr(part, each.name))
    elif isinstance(part, Mapping):
        for name, inner in part.items():
            yield from _within(f"{path}.{getattr(name, 'name', name)}", inner)
    else:
        yield path, part
