"""The optional parts of the service: each is a folder that can be deleted, with its line here."""

from functools import partial
from pkgutil import resolve_name  # noqa: TID251 - only what uses the profile

from comptoir.config import PROFILES, Settings, declare
from comptoir.features import (
    backup,
    business_central,
    console,
    history,
    inspector,
    notifications,
    rehearsal,
    samples,
    transfer,
)
from comptoir.profiles.record import Profile

_LISTED = [
    each.ENTRY
    for each in (
        business_central,
        notifications,
        history,
        inspector,
        rehearsal,
        console,
        transfer,
        backup,
        samples,
    )
]
_NAMES = {each.name for each in _LISTED}

FEATURES = [each for each in _LISTED if _NAMES.issuperset(each.needs)]
"""The entries of the parts, in the order in which a service opens them."""


def _profile(place: str, settings: Settings) -> Profile:
    profile = resolve_name(place)(settings)
    if not isinstance(profile, Profile):
        raise TypeError(f"{place} makes no profile")
    return profile


for each in FEATURES:
    if each.settings is not None:
        declare(each.settings)
    PROFILES.update({name: partial(_profile, place) for name, place in each.profiles.items()})
