"""Bodies bound to the model: the values that a create or an update gives, checked."""

from collections.abc import Mapping
from uuid import uuid4

import msgspec

from comptoir.edm.model import Company, EntitySet, EntityType, Property
from comptoir.edm.types import Guid, Stored, ValueFault
from comptoir.errors import (
    BAD_REQUEST,
    NOT_IMPLEMENTED,
    PARAM_NOT_PROVIDED,
    ErrorDetail,
    ErrorType,
    Refusal,
)
from comptoir.jsonvalue import Json
from comptoir.messages import suggestion
from comptoir.plan.target import Place
from comptoir.request.headers import EntityTags

TOLD = 20
"""How many faults of a body are told; the rest of it is not looked at."""


class Values(msgspec.Struct, frozen=True):
    """The properties that a body gives, in stored form, and what is wrong with the others.

    A fault is reported only when record and precondition have been found in order, so it waits
    here until then. With `key_is_made` the body leaves the key out, and no record has it yet.
    """

    given: Mapping[str, Stored]
    fault: Refusal | None
    key_is_made: bool = False


class Repeat(msgspec.Struct, frozen=True):
    """By what a write is known that is sent again: the ids, and a digest of what was sent.

    `at` is when it came. Such writes that came before `forget_before` need not be known any more.
    """

    request_id: str
    client_id: str
    digest: str
    at: str
    forget_before: str


class CreatePlan(msgspec.Struct, frozen=True):
    """A record to be created, by whom, and the tags that must hold for one of the same key.

    `must_not_exist` is `If-None-Match: *`: a record of the same key is 412 instead of 409.
    """

    entity_set: EntitySet
    company: Company
    values: Values
    by: str
    if_match: EntityTags | None = None
    must_not_exist: bool = False
    repeat: Repeat | None = None

    @property
    def key(self) -> Stored | None:
        """The key that the record will have, None when the body lacks one that cannot be made."""
        return self.values.given.get(self.entity_set.type.key)


Sought = Stored | Place
"""The record to be written: its key, or where it is to be found in the transaction."""


class UpdatePlan(msgspec.Struct, frozen=True):
    """A record to be changed, tags of which it must have one or must not, and by whom.

    With `replaces`, properties that are not given get their default.
    """

    entity_set: EntitySet
    company: Company
    sought: Sought
    values: Values
    if_match: EntityTags
    by: str
    if_none_match: EntityTags | None = None
    replaces: bool = False
    repeat: Repeat | None = None

    @property
    def key(self) -> Stored | None:
        """The key of the record, None where only the transaction can tell."""
        return None if isinstance(self.sought, Place) else self.sought


class DeletePlan(msgspec.Struct, frozen=True):
    """A record to be deleted, tags of which it must have one or must not, and by whom."""

    entity_set: EntitySet
    company: Company
    sought: Sought
    if_match: EntityTags
    by: str
    if_none_match: EntityTags | None = None
    repeat: Repeat | None = None

    @property
    def key(self) -> Stored | None:
        """The key of the record, None where only the transaction can tell."""
        return None if isinstance(self.sought, Place) else self.sought


WritePlan = CreatePlan | UpdatePlan | DeletePlan


def bind_create(
    kind: EntityType,
    body: dict[str, Json],
    key: Stored | None = None,
    spare_key: str | None = None,
    *,
    ieee754: bool = False,
) -> Values:
    """Check a body from which a record is created; computed properties in it are ignored.

    `key` is the record's key, whatever the body says. Where neither gives one that is a Guid, the
    record has the `spare_key`, or else a new one. `ieee754` lets Decimals be texts.
    """
    given, faults = _bind(kind, body, creating=True, ieee754=ieee754)
    if key is not None:
        given[kind.key] = key
        if kind.key_property.type.is_no_key(key):
            message = f"{kind.key} must not be {key!r}, which names no record."
            faults.append((BAD_REQUEST, message, kind.key))
    elif kind.key in given and kind.key_property.type.is_no_key(given[kind.key]):
        # as good as left out: a Guid is made, and any other key is missed
        del given[kind.key]
    faults += _left_out(kind, {*body, *given})
    makes_key = kind.key not in given and isinstance(kind.key_property.type, Guid)
    if makes_key:
        given[kind.key] = spare_key or str(uuid4())
    return Values(given, _refusal(faults), key_is_made=makes_key and spare_key is None)


def bind_update(kind: EntityType, body: dict[str, Json], *, ieee754: bool = False) -> Values:
    """Check a partial body; computed properties in it are ignored, and so is another key."""
    given, faults = _bind(kind, body, creating=False, ieee754=ieee754)
    return Values(given, _refusal(faults))


def bind_replace(kind: EntityType, body: dict[str, Json], *, ieee754: bool = False) -> Values:
    """Check a whole body; computed properties in it are ignored, and so is another key."""
    given, faults = _bind(kind, body, creating=False, ieee754=ieee754)
    faults += _left_out(kind, {*body, kind.key})
    return Values(given, _refusal(faults))


def _bind(
    kind: EntityType, body: dict[str, Json], *, creating: bool, ieee754: bool
) -> tuple[dict[str, Stored], list[tuple[ErrorType, str, str]]]:
    given: dict[str, Stored] = {}
    faults: list[tuple[ErrorType, str, str]] = []
    for name, value in body.items():
        held = kind.by_name.get(name)
        if held is None:
            if len(faults) >= TOLD:
                break
            faults.append(_nested(name) if name in kind.related else _unknown(kind, name))
        elif _is_ignored(kind, held, creating):
            continue
        elif value is None and held.required:
            empty = (
                f"is never null, and {held.type.no_value} is no value here. Send a value for it."
            )
            faults.append((BAD_REQUEST, f"{name} {empty}", name))
        else:
            try:
                read = held.type.from_ieee754_json if ieee754 else held.type.from_json
                stored = read(value)
            except ValueFault as fault:
                faults.append((BAD_REQUEST, f"{name} {fault}", name))
                continue
            if held.required and stored == held.type.default:
                faults.append(_missing(held, "must not be empty."))
            given[name] = stored
    return given, faults


def _is_ignored(kind: EntityType, held: Property, creating: bool) -> bool:
    if held.modified_at:
        return not (creating and held.kept_on_create)
    return held.name == kind.key and not creating


def _left_out(kind: EntityType, sent: set[str]) -> list[tuple[ErrorType, str, str]]:
    return [
        _missing(each, "is required, but was not sent.")
        for each in kind.properties
        if each.required and each.name not in sent
    ]


def _missing(held: Property, rule: str) -> tuple[ErrorType, str, str]:
    return PARAM_NOT_PROVIDED, f"{held.name} {rule} Send a value for it.", held.name


def _nested(name: str) -> tuple[ErrorType, str, str]:
    message = f"Related records in a body are not supported. Leave {name} out, and write its own."
    return NOT_IMPLEMENTED, message, name


def _unknown(kind: EntityType, name: str) -> tuple[ErrorType, str, str]:
    hint = suggestion(name, kind.by_name) or "The reference lists the properties."
    return BAD_REQUEST, f"{name[:100]} is no property of {kind.name}. {hint}", name[:100]


def _refusal(faults: list[tuple[ErrorType, str, str]]) -> Refusal | None:
    if not faults:
        return None
    kind, message, target = faults[0]
    details = tuple(ErrorDetail(each.code, text, where) for each, text, where in faults[:TOLD])
    return Refusal(kind, message, target=target, details=details if len(faults) > 1 else ())
