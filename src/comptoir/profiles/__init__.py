"""Profiles: how the service behaves where the interface leaves it open, as records of data.

The settings choose one profile at the start. The stations receive its parts and never ask for its
name.
"""

from collections.abc import Mapping

from comptoir.profiles.business_central import CURRENT, VERSIONS, business_central
from comptoir.profiles.record import Profile
from comptoir.profiles.standard import STANDARD

PROFILES: Mapping[str, Profile] = {
    "standard": STANDARD,
    "business-central": business_central(CURRENT),
}
"""The profiles by the names that the setting `profile` accepts, of the current version."""


def profile_of(name: str, version: int) -> Profile:
    """The profile of a name; if it imitates Business Central, this version of that."""
    return STANDARD if name == "standard" else business_central(version)


__all__ = ["CURRENT", "PROFILES", "VERSIONS", "profile_of"]
