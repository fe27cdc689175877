"""Drafts of records, and their comparison with what somebody else has saved meanwhile."""

from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec

from comptoir.features.console.values import Values
from comptoir.jsonvalue import Json

Side = Literal["yours", "theirs"]

Outcome = Literal["yours", "theirs", "same", "open"]
"""The author of a value's change: only you, only others, both the `same`, both different."""


class Draft(msgspec.Struct, frozen=True):
    """The values that a person wants a record to have.

    `tag` is the ETag of the version with the values `read`, on which the draft is based. `wanted`
    has the properties that the person may change; `secrets` are those that nobody reads.
    """

    tag: str
    read: Values
    wanted: Values
    secrets: Values = {}

    @property
    def changes(self) -> dict[str, Json]:
        """The values to send: those that differ from the version that was read, and the secrets."""
        changed = {
            name: value for name, value in self.wanted.items() if self.read.get(name) != value
        }
        return {**changed, **self.secrets}


class ChangedProperty(msgspec.Struct, frozen=True):
    """A property that was changed by the draft or meanwhile, with its three values."""

    name: str
    read: Json
    now: Json
    wanted: Json
    outcome: Outcome


def differences(draft: Draft, now: Values) -> Iterator[ChangedProperty]:
    """Compare a draft with the values that the record has now."""
    for name, wanted in draft.wanted.items():
        read, current = draft.read.get(name), now.get(name)
        if read == current == wanted:
            continue
        outcome: Outcome = "open"
        if current == wanted:
            outcome = "same"
        elif read == current:
            outcome = "yours"
        elif read == wanted:
            outcome = "theirs"
        yield ChangedProperty(name, read, current, wanted, outcome)


def rebased(draft: Draft, tag: str, now: Values, chosen: Mapping[str, Side]) -> Draft | None:
    """The draft based on the version with this ETag and these values.

    What only others have changed is taken over; `chosen` decides what both have changed. None if it
    lacks such a property. The new draft may conflict with a later version in the same way.
    """
    wanted = dict(draft.wanted)
    for each in differences(draft, now):
        side = chosen.get(each.name) if each.outcome == "open" else each.outcome
        if side is None:
            return None
        if side == "theirs":
            wanted[each.name] = each.now
    return Draft(tag, now, wanted, draft.secrets)
