"""Writes bound to the model: the plans, and the bodies with their values checked."""

from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field
from typing import ClassVar, Literal
from uuid import uuid4

import msgspec
from msgspec.structs import replace

from comptoir.auth.roles import Right, Rights
from comptoir.edm.model import Company, EntitySet, EntityType, Model, Property
from comptoir.edm.types import EdmError, Guid, Stored
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Refusal
from comptoir.jsonvalue import Json, json_type
from comptoir.plan.target import RecordAddress, RecordPath, check_right
from comptoir.request.headers import EntityTags
from comptoir.request.payload import REQUEST_ID, without_annotations

MOST_ERRORS = 20
"""The most errors of a body that a response lists."""


class Unchanged(msgspec.Struct, frozen=True):
    """A value that the record must have already, and the refusal if it has another one."""

    value: Stored
    refusal: Refusal


class Body(msgspec.Struct, frozen=True):
    """The values of a body, in stored form, and the refusal for those that are not valid.

    The refusals are raised only after the record and the precondition have been checked. With
    `key_is_generated` no record can have the key yet. `unchanged` are values that an update may
    only repeat.
    """

    values: Mapping[str, Stored]
    refusal: Refusal | None
    key_is_generated: bool = False
    unchanged: Mapping[str, Unchanged] = {}


class Repeat(msgspec.Struct, frozen=True):
    """The identity of a repeatable write: its ids, and a digest of the request.

    `at` is the time of the request. Repeatable writes from before `forget_before` may be forgotten.
    """

    header: ClassVar[str] = REQUEST_ID
    """The header with the id."""

    request_id: str
    client_id: str
    digest: str
    at: str
    forget_before: str


class CreatePlan(msgspec.Struct, frozen=True, kw_only=True):
    """A record to create for the principal `by`.

    If a record has the key already: `if_match` must match its tag, and `must_not_exist`
    (`If-None-Match: *`) makes the refusal a 412 instead of a 409. The `related` records are created
    together with it. At the address `within`, it also gets the values of the records there.
    """

    entity_set: EntitySet
    company: Company
    body: Body
    by: str
    within: RecordPath | None = None
    if_match: EntityTags | None = None
    must_not_exist: bool = False
    repeat: Repeat | None = None
    related: "tuple[RelatedWrite, ...]" = ()

    @property
    def key(self) -> Stored | None:
        """The key of the new record; None if the body lacks one that cannot be generated."""
        return self.body.values.get(self.entity_set.type.key)


class RelatedWrite(msgspec.Struct, frozen=True):
    """A record to create with another one, whose value of `own` is its value of `other`."""

    own: str
    other: str
    plan: CreatePlan


class _ChangePlan(msgspec.Struct, frozen=True, kw_only=True):
    """A write to an existing record by the principal `by`.

    The record's tag must match `if_match` and must not match `if_none_match`. `segment` is the name
    that the path has for the set.
    """

    entity_set: EntitySet
    segment: str
    company: Company
    address: RecordAddress
    if_match: EntityTags
    by: str
    if_none_match: EntityTags | None = None
    repeat: Repeat | None = None
    related: ClassVar[tuple[()]] = ()

    @property
    def key(self) -> Stored | None:
        """The key of the record; None if only the transaction can find it."""
        return None if isinstance(self.address, RecordPath) else self.address


class UpdatePlan(_ChangePlan, frozen=True, kw_only=True):
    """An update of a record; if it `replaces`, properties that the body omits get their default.

    With `hides`, the client may not read the record: refusals neither show what identifies it, nor
    depend on whether the body repeats one of its values.
    """

    body: Body
    replaces: bool = False
    hides: bool = False


class DeletePlan(_ChangePlan, frozen=True, kw_only=True):
    """The deletion of a record."""


WritePlan = CreatePlan | UpdatePlan | DeletePlan


Computed = Literal["ignored", "unchanged", "refused"]


@dataclass(slots=True)
class BodyBinder:
    """Binds one body to an entity type, without the values that the service computes.

    `computed` is what becomes of values that only the service sets (see `WriteRules`); only if they
    are ignored may a create set a key that is a Guid. With `ieee754`, Edm.Decimal values may be
    strings.
    """

    entity_type: EntityType
    body: dict[str, Json]
    computed: Computed
    ieee754: bool = False
    _unchanged: dict[str, Unchanged] = field(default_factory=dict)
    _values: dict[str, Stored] = field(default_factory=dict)
    _errors: list[Refusal] = field(default_factory=list)

    def create(
        self, key: Stored | None = None, spare_key: str | None = None, given: Set[str] = frozenset()
    ) -> Body:
        """Bind the body of a create.

        `key` replaces the key in the body. If there is neither, a Guid key is `spare_key`, or else
        a new Guid. The properties `given` get their values later.
        """
        entity_type, values = self.entity_type, self._values
        key_type = entity_type.key_property.type
        self._bind(creating=True)
        if key is not None:
            values[entity_type.key] = key
            if key_type.is_blank_key(key):
                name = entity_type.key
                self._errors.append(rows.BLANK_KEY(name, name=name, key=str(key)))
        elif entity_type.key in values and key_type.is_blank_key(values[entity_type.key]):
            # an empty key counts as omitted
            del values[entity_type.key]
        self._check_required({*self.body, *values, *given})
        generates = entity_type.key not in values and isinstance(key_type, Guid)
        if generates:
            values[entity_type.key] = spare_key or str(uuid4())
        return self._bound(key_is_generated=generates and spare_key is None)

    def update(self, *, replaces: bool) -> Body:
        """Bind the body of an update, which may omit required properties unless it `replaces`.

        A key in the body is ignored.
        """
        self._bind(creating=False)
        if replaces:
            self._check_required({*self.body, self.entity_type.key})
        return self._bound()

    def _bind(self, *, creating: bool) -> None:
        by_name, ieee754 = self.entity_type.by_name, self.ieee754
        key, any_key = self.entity_type.key, self.computed == "ignored"
        for name, value in self.body.items():
            declared = by_name.get(name)
            if declared is None:
                if len(self._errors) >= MOST_ERRORS:
                    break
                self._errors.append(self._unknown(name))
            elif (declared.is_restricted or name == key) and not self.entity_type.accepts(
                declared, creating=creating, any_key=any_key
            ):
                self._keep(declared, value, creating=creating)
            else:
                try:
                    edm_type = declared.type
                    read = edm_type.from_ieee754_json if ieee754 else edm_type.from_json
                    stored = read(value)
                except EdmError as error:
                    refusal = self._refused(declared, value, error)
                    if edm_type.narrows and isinstance(value, str) and not creating:
                        self._unchanged[name] = Unchanged(value, refusal)
                    else:
                        self._errors.append(refusal)
                    continue
                if declared.required and stored == edm_type.default:
                    self._errors.append(self._missing(declared, "must not be empty"))
                self._values[name] = stored

    def _keep(self, declared: Property, value: Json, *, creating: bool) -> None:
        """Bind, refuse or ignore a value that only the service sets."""
        is_fixed = declared.immutable and not creating
        if self.computed == "ignored" and not is_fixed:
            return
        row = rows.IMMUTABLE if is_fixed else rows.READ_ONLY
        refusal = row(declared.name, field=declared.name)
        if is_fixed or (self.computed == "unchanged" and not creating):
            edm_type = declared.type
            with suppress(EdmError):
                stored = (edm_type.from_ieee754_json if self.ieee754 else edm_type.from_json)(value)
                self._unchanged[declared.name] = Unchanged(stored, refusal)
                return
        self._errors.append(refusal)

    def _check_required(self, sent: Set[str]) -> None:
        self._errors += [
            self._missing(each, "is required")
            for each in self.entity_type.required
            if each.name not in sent
        ]

    def _refused(self, declared: Property, value: Json, error: EdmError) -> Refusal:
        """The refusal of a value that its type does not accept."""
        name, facts = declared.name, {"field": declared.caption, "table": self.entity_type.caption}
        if value is None:
            refusal = rows.NULL(name, name=name) if declared.required else error.refusal(name, name)
            return refusal.grouped("NULL_VALUE", field=declared.caption)
        refusal = error.refusal(name, name)
        if declared.type.bounds and error.row is rows.OUT_OF_RANGE:
            # in every profile, because nothing else says what the bounds are
            return refusal
        if not refusal.group:
            return refusal.grouped("WRONG_TYPE", type=declared.type.edm_name.removeprefix("Edm."))
        return refusal.grouped(refusal.group, **facts)

    def _missing(self, declared: Property, problem: str) -> Refusal:
        return rows.MISSING(
            declared.name,
            name=declared.name,
            problem=problem,
            field=declared.caption,
            table=self.entity_type.caption,
        )

    def _unknown(self, name: str) -> Refusal:
        if name in self.entity_type.related or name in self.entity_type.unserved:
            return rows.RELATED_IN_BODY(name, name=name)
        return rows.UNKNOWN_PROPERTY(
            name[:100],
            known=self.entity_type.by_name,
            owner=self.entity_type.name,
            name=name,
            type=self.entity_type.qualified_name,
        )

    def _bound(self, *, key_is_generated: bool = False) -> Body:
        """The bound body; its refusal is that of the first error, with the others."""
        refusal = self._errors[0] if self._errors else None
        if refusal is not None:
            refusal.others = self._errors[1:MOST_ERRORS]
        return Body(self._values, refusal, key_is_generated, self._unchanged)


MOST_RELATED = 1_000
"""The most related records of a body."""

Plan = Callable[[EntitySet, dict[str, Json], Set[str]], CreatePlan]
"""Plans the create of a related record, which gets the named values from its relation."""


def take_related(
    model: Model, entity_set: EntitySet, sent: dict[str, Json], rights: Rights | None, plan: Plan
) -> tuple[RelatedWrite, ...]:
    """Take the related records out of the body of a create.

    Only the records of collections, on one level. Raises `Refusal`: 403 without the right to create
    them, 405 for a set that is read-only, 400 for too many of them or another value than an array
    of objects.
    """
    names = [each.name for each in entity_set.type.navigation if each.collection]
    # before the first is planned: a long body may have millions
    if sum(len(each) for each in map(sent.get, names) if isinstance(each, list)) > MOST_RELATED:
        raise rows.TOO_MANY_RELATED(limit=MOST_RELATED)
    return tuple(_related(model, entity_set, sent, rights, plan))


def _related(
    model: Model, entity_set: EntitySet, sent: dict[str, Json], rights: Rights | None, plan: Plan
) -> Iterator[RelatedWrite]:
    for navigation in entity_set.type.navigation:
        name = navigation.name
        if name not in sent or not navigation.collection:
            continue
        target = model.by_name[navigation.target]
        if rights is not None:
            check_right(target, Right.INSERT, rights)
        if target.read_only:
            raise rows.METHOD(method="POST", resource=target.name, allowed="HEAD, GET")
        own, other = navigation.on
        given = {other, *navigation.only}
        for each in _objects(name, sent.pop(name)):
            values = {key: value for key, value in each.items() if key not in given}
            child = plan(target, values, given)
            body = replace(child.body, values={**child.body.values, **navigation.only})
            yield RelatedWrite(own, other, replace(child, body=body))


def _objects(name: str, sent: Json) -> Iterator[dict[str, Json]]:
    listed = sent if isinstance(sent, list) else [sent]
    for each in listed:
        if not isinstance(each, dict) or listed is not sent:
            raise rows.NOT_RELATED_OBJECTS(name, name=name, json=json_type(each))
        yield without_annotations(each)
