"""Profiles: how the service behaves where the interface leaves it open, as records of data.

The settings choose one profile at the start. The stations receive its parts and never ask for its
name.
"""

from collections.abc import Callable

from comptoir.profiles.record import STANDARD, Profile

VERSIONS = range(15, 29)
"""The versions of Business Central that a profile may imitate: those that have API v2.0."""

CURRENT = VERSIONS[-1]
"""The version that is imitated by default."""

PROFILES: dict[str, Callable[[int], Profile]] = {"standard": lambda _: STANDARD}
"""What makes each profile of a version, by the names that the setting `profile` accepts.

Optional parts of the service add theirs.
"""


def profile_of(name: str, version: int) -> Profile:
    """The profile of a name; if it imitates Business Central, this version of that."""
    return PROFILES[name](version)
