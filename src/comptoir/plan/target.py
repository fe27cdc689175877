"""Paths bound to the model: what of which company a path names (OData URL Conventions 4.01, 4)."""

from collections.abc import Collection, Generator, Sequence
from enum import StrEnum

import msgspec

from comptoir.edm.model import (
    NAMESPACE,
    Company,
    EntitySet,
    EntityType,
    Model,
    NavigationProperty,
    Property,
)
from comptoir.edm.types import Stored, ValueFault, is_guid
from comptoir.errors import (
    INVALID_URL,
    NOT_IMPLEMENTED,
    RECORD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    Refusal,
)
from comptoir.messages import suggestion
from comptoir.plan.read import Bounds, Computed, PagePlan, Row, Within, list_pipeline
from comptoir.request.path import KeyPart, Segment

COMPANIES = "companies"
_METADATA = Segment("$metadata", None)
_VALUE = (Segment("$value", None),)
_BEYOND = frozenset({"$all", "$crossjoin", "$each", "$entity", "$filter", "$query"})


class Shape(StrEnum):
    """What a path names, which decides the methods that it has."""

    SERVICE = "the service document"
    METADATA = "the metadata document"
    COLLECTION = "a collection"
    COUNT = "a count"
    REFERENCES = "references"
    RECORD = "a single record"
    REFERENCE = "a reference"
    PROPERTY = "a single property"
    VALUE = "a raw value"


Key = tuple[tuple[str, Stored], ...]
"""Properties with the values that tell one record from all others."""


class Hop(msgspec.Struct, frozen=True):
    """A step along a path: from a record of a set through one of its navigation properties.

    Without a key it is the record to which the hop before leads.
    """

    entity_set: EntitySet
    key: Key | None
    navigation: NavigationProperty


class Target(msgspec.Struct, frozen=True):
    """What a path names: a set and what of it, under a company unless the set is the companies.

    `key` is the record's key when the path gives it at the set itself, `alternate` the values of a
    unique rule instead, and `named` whether the path names the properties that it gives. Through
    `hops` the set is that of the records to which they lead. The company's id has the form of a
    Guid; whether there is such a company is the store's to say.
    """

    shape: Shape
    entity_set: EntitySet
    company_id: str | None
    key: Stored | None = None
    alternate: Key = ()
    hops: tuple[Hop, ...] = ()
    property: Property | None = None
    named: bool = False


def company_of(segments: Sequence[Segment]) -> str | None:
    """The id of the company under which a path stands; None for a path that names none.

    Raises `Refusal` (400) for a key that is no Guid.
    """
    if not segments or segments[0].name != COMPANIES or segments[0].key is None:
        return None
    parts = segments[0].key
    first = parts[0]
    if len(parts) > 1 or first.name not in (None, "id") or first.quoted or not is_guid(first.text):
        raise Refusal(
            INVALID_URL, f"The company's id must be a Guid: {COMPANIES}(<guid>).", target=COMPANIES
        )
    return first.text.lower()


def resolve(
    model: Model, segments: Sequence[Segment], company_id: str | None, *, at_root: bool
) -> Target:
    """Bind a path to the model, whose company (`company_of`) is known to exist.

    `at_root` is whether a path that names a service root alone asks for its service document: with
    a slash at its end it does. Raises `Refusal`: 404 for an unknown resource, 400 for a malformed
    key, 501 for a path of OData that is not supported.
    """
    companies = model.by_name[COMPANIES]
    rest = segments if company_id is None else segments[1:]
    if not rest and (at_root or company_id is None):
        return Target(Shape.SERVICE, companies, company_id)
    if company_id is not None and len(rest) == 1:
        simple = _simple(model, rest[0], company_id)
        if simple is not None:
            return simple
    if list(rest) == [_METADATA]:
        return Target(Shape.METADATA, companies, company_id)
    walk = _Walk(model, segments)
    if company_id is None:
        if rest[0].name != COMPANIES:
            raise _not_found(segments, rest[0], (COMPANIES,))
        walk.enter(companies, None)
        return walk.collection(rest[1:])
    entity_set = model.by_name.get(rest[0].name) if rest else None
    if entity_set is None or not entity_set.per_company:
        walk.enter(companies, None, company_id)
        return walk.record(rest)
    walk.enter(entity_set, company_id)
    if rest[0].key is None:
        return walk.collection(rest[1:])
    walk.take_key(rest[0].key)
    return walk.record(rest[1:])


def _simple(model: Model, segment: Segment, company_id: str) -> Target | None:
    """What a set by itself, or with its key alone, names; None for whatever needs a walk."""
    entity_set = model.by_name.get(segment.name)
    if entity_set is None or not entity_set.per_company:
        return None
    if segment.key is None:
        return Target(Shape.COLLECTION, entity_set, company_id)
    if len(segment.key) > 1 or segment.key[0].name is not None:
        return None
    key = _value(entity_set, entity_set.type.key_property, segment.key[0])
    return Target(Shape.RECORD, entity_set, company_id, key)


class _Walk:
    """Goes along the segments of a path behind the first set."""

    def __init__(self, model: Model, segments: Sequence[Segment]) -> None:
        self._model = model
        self._segments = segments
        self._company_id: str | None = None
        self._set = model.by_name[COMPANIES]
        self._key: Stored | None = None
        self._alternate: Key = ()
        self._hops: tuple[Hop, ...] = ()
        self._named = False

    def enter(
        self, entity_set: EntitySet, company_id: str | None, key: Stored | None = None
    ) -> None:
        """Begin at a set under a company, or at the record of it with a key."""
        self._set, self._company_id, self._key = entity_set, company_id, key

    def take_key(self, parts: Sequence[KeyPart]) -> None:
        """Read the key of the set at which the walk stands."""
        self._key, self._alternate = _key(self._set, parts)
        self._named = parts[0].name is not None

    def collection(self, rest: Sequence[Segment]) -> Target:
        """What a path names whose walk stands at a collection."""
        rest = self._uncast(rest)
        if not rest:
            return self._target(Shape.COLLECTION)
        if len(rest) == 1 and rest[0].key is None:
            if rest[0].name == "$count":
                return self._target(Shape.COUNT)
            if rest[0].name == "$ref":
                return self._target(Shape.REFERENCES)
        raise _not_found(self._segments, rest[0], ("$count", "$ref"))

    def record(self, rest: Sequence[Segment]) -> Target:
        """What a path names whose walk stands at a record."""
        rest = self._uncast(rest)
        if not rest:
            return self._target(Shape.RECORD)
        name, parts = rest[0].name, rest[0].key
        navigation = self._set.type.related.get(name)
        if navigation is not None and (parts is None or navigation.collection):
            return self._behind(navigation, parts, rest[1:])
        held = self._set.type.by_name.get(name)
        if parts is None and held is not None:
            if len(rest) == 1:
                return self._target(Shape.PROPERTY, held)
            if tuple(rest[1:]) == _VALUE:
                return self._target(Shape.VALUE, held)
        if name == "$ref" and parts is None and len(rest) == 1:
            return self._target(Shape.REFERENCE)
        raise _not_found(self._segments, rest[0], self._names())

    def _names(self) -> Collection[str]:
        """What may come after the record at which the walk stands."""
        kind = self._set.type
        sets = self._model.sets if self._set.name == COMPANIES else ()
        return (*[each.name for each in sets if each.per_company], *kind.related, *kind.by_name)

    def _behind(
        self,
        navigation: NavigationProperty,
        parts: Sequence[KeyPart] | None,
        rest: Sequence[Segment],
    ) -> Target:
        key = self._alternate
        if self._key is not None:
            key = ((self._set.type.key, self._key),)
        self._hops = (*self._hops, Hop(self._set, key or None, navigation))
        self._set = self._model.by_name[navigation.target]
        self._key, self._alternate = None, ()
        if parts is not None:
            self.take_key(parts)
        elif navigation.collection:
            return self.collection(rest)
        return self.record(rest)

    def _uncast(self, rest: Sequence[Segment]) -> Sequence[Segment]:
        """The segments without a cast to the type that the records have anyway."""
        if rest and rest[0] == Segment(f"{NAMESPACE}.{self._set.type.name}", None):
            return rest[1:]
        return rest

    def _target(self, shape: Shape, held: Property | None = None) -> Target:
        return Target(
            shape,
            self._set,
            self._company_id,
            self._key,
            self._alternate,
            self._hops,
            held,
            self._named,
        )


def _not_found(segments: Sequence[Segment], at: Segment, known: Collection[str]) -> Refusal:
    """404 at a segment, at whose place these names are known; 501 for a path that OData has."""
    path = "/".join(segment.name for segment in segments)
    for segment in segments:
        if segment.name in _BEYOND:
            return Refusal(NOT_IMPLEMENTED, f"{segment.name} is not supported in a path.")
    remedy = f"Resources are under {COMPANIES}(<guid>)/, and their names are case-sensitive."
    if at.name not in known:
        remedy = suggestion(at.name, known) or remedy
    return Refusal(RESOURCE_NOT_FOUND, f"There is no resource {path[:200]!r}. {remedy}")


def _key(entity_set: EntitySet, parts: Sequence[KeyPart]) -> tuple[Stored | None, Key]:
    """The key that the parts give, or else the values of a unique rule."""
    kind = entity_set.type
    if len(parts) == 1 and parts[0].name in (None, kind.key):
        return _value(entity_set, kind.key_property, parts[0]), ()
    rule = _rule(kind, {part.name for part in parts})
    if rule is None or len(rule) != len(parts):
        names = "; ".join([kind.key, *(each.name for each in kind.unique)])
        raise Refusal(
            INVALID_URL, f"A key of {entity_set.name} is one of: {names}. Give one of them whole."
        )
    by_name = {part.name: part for part in parts}
    return None, tuple(
        [(name, _value(entity_set, kind.by_name[name], by_name[name])) for name in rule]
    )


def _rule(kind: EntityType, names: set[str | None]) -> tuple[str, ...] | None:
    return next((each.properties for each in kind.unique if set(each.properties) == names), None)


def _value(entity_set: EntitySet, held: Property, part: KeyPart) -> Stored:
    if part.quoted != held.type.quoted:
        form = f"{held.name}='…', in quotes" if not part.quoted else f"{held.name}, without quotes"
        raise Refusal(INVALID_URL, f"The key of {entity_set.name} is {form}.", target=held.name)
    try:
        return held.type.from_key(part.text)
    except ValueFault as fault:
        raise Refusal(
            INVALID_URL, f"In the key of {entity_set.name}, {held.name} {fault}", target=held.name
        ) from None


Search = Generator[PagePlan, list[Row], Row | None]
"""What a search for a record yields, is sent and returns."""


class Place(msgspec.Struct, frozen=True):
    """A record as a path names it, not simply by its key."""

    target: Target
    company: Company | None


def find(place: Place, computed: Computed = ()) -> Search:
    """The record at a place, None where navigation leads to none.

    Behind its properties the row has the computed values. Raises `Refusal` (404) when the path
    gives a key that no record has.
    """
    within = yield from reach(place)
    target = place.target
    key = target.alternate
    if target.key is not None:
        key = ((target.entity_set.type.key, target.key),)
    return (yield from _one(place, target.entity_set, key, within, computed))


def find_record(place: Place) -> Generator[PagePlan, list[Row], Row]:
    """The record at a place; raises `Refusal` (404) where there is none."""
    row = yield from find(place)
    if row is None:
        name = place.target.hops[-1].navigation.name
        raise Refusal(RECORD_NOT_FOUND, f"{name} leads to no record here. Read it first.")
    return row


def reach(place: Place) -> Generator[PagePlan, list[Row], Within | None]:
    """What the records have to which the hops of a path lead, None when they lead nowhere.

    Raises `Refusal` (404) when a record on the way does not exist.
    """
    within: Within | None = ()
    for hop in place.target.hops:
        row = yield from _one(place, hop.entity_set, hop.key or (), within)
        if row is None:
            return None
        own, other = hop.navigation.on
        value = row[hop.entity_set.type.column_of[own]]
        # a blank value relates to nothing
        within = None if value == "" else ((other, value), *hop.navigation.only.items())
    return within


def no_record(entity_set: EntitySet, key: Stored) -> Refusal:
    """404: the set holds no record with this key."""
    return Refusal(
        RECORD_NOT_FOUND,
        f"{entity_set.name} holds no record with the key {str(key)[:100]}. "
        f"List {entity_set.name} to find the keys that exist.",
    )


def _one(
    place: Place,
    entity_set: EntitySet,
    key: Key,
    within: Within | None,
    computed: Computed = (),
) -> Search:
    row = None
    if within is not None:
        company = place.company if entity_set.per_company else None
        bounds = Bounds(company, within=(*within, *key))
        pipeline, values = list_pipeline(entity_set, computed)
        rows = yield PagePlan(pipeline, bounds, 1, values)
        row = rows[0] if rows else None
    if row is None and key:
        raise no_record(entity_set, ", ".join(str(value) for _, value in key))
    return row
