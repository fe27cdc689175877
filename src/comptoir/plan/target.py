"""Paths bound to the model (OData URL Conventions 4.01, section 4), and the rights on them.

`resolve` determines what a path names. `RecordPath` finds a record that a path names by navigation
or by an alternate key.

Rights are judged for every entity set that a request names. A client without the right to read an
entity set learns nothing about its records: neither by a path nor by a query option along a
navigation property, since a condition on a record can be guessed by asking often enough.
"""

from collections.abc import Collection, Generator, Mapping, Sequence
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from comptoir.auth.roles import Right, Rights
from comptoir.edm.model import (
    Action,
    Company,
    EntitySet,
    EntityType,
    Model,
    NavigationProperty,
    Property,
)
from comptoir.edm.types import EdmError, Guid, Stored
from comptoir.errors import refusal_rows as rows
from comptoir.errors.messages import quoted
from comptoir.errors.refusal import Check, Refusal
from comptoir.errors.table import INVALID_URL
from comptoir.plan.read import Bounds, Computed, PagePlan, Row, Within, list_pipeline
from comptoir.request.headers import Headers, entity_tags
from comptoir.request.path import COMPANIES, KeyPart, Segment

_METADATA = Segment("$metadata", None)
_VALUE = (Segment("$value", None),)
_UNSUPPORTED = frozenset({"$all", "$crossjoin", "$each", "$entity", "$filter", "$query"})


class Resource(StrEnum):
    """The resources that a path can name, which determine the allowed methods."""

    SERVICE = "the service document"
    METADATA = "the metadata document"
    COLLECTION = "a collection"
    COUNT = "a count"
    REFERENCES = "references"
    RECORD = "a single record"
    REFERENCE = "a reference"
    PROPERTY = "a single property"
    VALUE = "a raw value"
    STREAM = "a stream"
    ACTION = "an action"


Key = tuple[tuple[str, Stored], ...]
"""The properties of a key or an alternate key, with their values."""


class PathStep(msgspec.Struct, frozen=True):
    """A navigation property in a path, and the record from which it leads.

    Without a key, that is the record to which the previous step leads.
    """

    entity_set: EntitySet
    key: Key | None
    navigation: NavigationProperty


class Target(msgspec.Struct, frozen=True):
    """The resource that a path names.

    `entity_set` is the set of the records at the end of the path, after its `steps`. The key is
    either `key` or, for an alternate key, `alternate`; with `named` the path has the names of the
    key's properties. `company_id` is a Guid, but the company may not exist. `segment` is the name
    that the path has for the set.
    """

    resource: Resource
    entity_set: EntitySet
    company_id: str | None
    segment: str
    key: Stored | None = None
    alternate: Key = ()
    steps: tuple[PathStep, ...] = ()
    property: Property | None = None
    named: bool = False
    action: Action | None = None


def resolve(
    model: Model, segments: Sequence[Segment], company_id: str | None, *, at_root: bool
) -> Target:
    """Bind a path to the model; `company_id` is that of `company_id_of`.

    `at_root`: the path ends in a slash, so `companies(…)/` is a service root and not a record.
    Raises `Refusal`: 404 for an unknown resource, 400 for a malformed key, 501 for a path that is
    valid in OData but not supported.
    """
    companies = model.by_name[COMPANIES]
    rest = segments if company_id is None else segments[1:]
    if not rest and (at_root or company_id is None):
        return Target(Resource.SERVICE, companies, company_id, companies.name)
    if company_id is not None and len(rest) == 1:
        simple = _simple(model, rest[0], company_id)
        if simple is not None:
            return simple
    if list(rest) == [_METADATA]:
        return Target(Resource.METADATA, companies, company_id, companies.name)
    resolver = _Resolver(model, segments)
    if company_id is None:
        if rest[0].name != COMPANIES:
            refusal = _not_found(segments, rest[0], (COMPANIES,))
            if rest[0].name in model.by_name:
                refusal.grouped("NO_COMPANY")
            raise refusal
        return resolver.collection(
            Target(Resource.COLLECTION, companies, None, COMPANIES), rest[1:]
        )
    entity_set = model.by_name.get(rest[0].name) if rest else None
    if entity_set is None or not entity_set.per_company:
        company = Target(Resource.RECORD, companies, None, companies.name, company_id)
        return resolver.record(company, rest)
    at = Target(Resource.COLLECTION, entity_set, company_id, rest[0].name)
    if rest[0].key is None:
        return resolver.collection(at, rest[1:])
    return resolver.record(_keyed(at, rest[0].key), rest[1:])


def _simple(model: Model, segment: Segment, company_id: str) -> Target | None:
    """The target of the two most frequent forms, a set and a record by its key; None for others."""
    entity_set = model.by_name.get(segment.name)
    if entity_set is None or not entity_set.per_company:
        return None
    if segment.key is None:
        return Target(Resource.COLLECTION, entity_set, company_id, segment.name)
    if len(segment.key) > 1 or segment.key[0].name is not None:
        return None
    declared = entity_set.type.key_property
    key: Stored | None = segment.guid if isinstance(declared.type, Guid) else None
    if key is None:
        key = _value(entity_set, declared, segment.key[0])
    return Target(Resource.RECORD, entity_set, company_id, segment.name, key)


class _Resolver(msgspec.Struct, frozen=True):
    """Resolves the segments after the first entity set, one after the other."""

    model: Model
    segments: Sequence[Segment]

    def collection(self, at: Target, rest: Sequence[Segment]) -> Target:
        """Resolve the segments after a collection."""
        rest = _without_cast(at, rest)
        if not rest:
            return replace(at, resource=Resource.COLLECTION)
        if len(rest) == 1 and rest[0].key is None:
            if rest[0].name == "$count":
                return replace(at, resource=Resource.COUNT)
            if rest[0].name == "$ref":
                return replace(at, resource=Resource.REFERENCES)
        refusal = _not_found(self.segments, rest[0], ("$count", "$ref"))
        raise refusal.grouped("KEY_AS_SEGMENT", set=at.segment)

    def record(self, at: Target, rest: Sequence[Segment]) -> Target:
        """Resolve the segments after a record."""
        rest = _without_cast(at, rest)
        if not rest:
            return replace(at, resource=Resource.RECORD)
        name, parts = rest[0].name, rest[0].key
        entity_type = at.entity_set.type
        navigation = entity_type.related.get(name)
        if navigation is not None and (parts is None or navigation.collection):
            return self._related(at, navigation, parts, rest[1:])
        declared = entity_type.by_name.get(name)
        if parts is None and declared is not None:
            if len(rest) == 1:
                resource = Resource.STREAM if declared.is_stream else Resource.PROPERTY
                return replace(at, resource=resource, property=declared)
            # a stream has no $value (OData URL Conventions 4.01, section 4.7)
            if tuple(rest[1:]) == _VALUE and not declared.is_stream:
                return replace(at, resource=Resource.VALUE, property=declared)
        if name == "$ref" and parts is None and len(rest) == 1:
            return replace(at, resource=Resource.REFERENCE)
        actions = {f"{entity_type.namespace}.{each.name}": each for each in entity_type.actions}
        if "." in name and parts is None and len(rest) == 1:
            # Business Central accepts them in any case, and they differ in more than that
            for qualified, action in actions.items():
                if qualified.lower() == name.lower():
                    return replace(at, resource=Resource.ACTION, action=action)
        check_served(entity_type, name)
        contained = self.model.contained(at.entity_set)
        known = (*contained, *entity_type.related, *entity_type.by_name, *actions)
        refusal = _not_found(self.segments, rest[0], known)
        if "." in name and not actions:
            refusal.grouped("BOUND_ACTION")
        raise refusal

    def _related(
        self,
        at: Target,
        navigation: NavigationProperty,
        parts: Sequence[KeyPart] | None,
        rest: Sequence[Segment],
    ) -> Target:
        key = at.alternate if at.key is None else ((at.entity_set.type.key, at.key),)
        steps = (*at.steps, PathStep(at.entity_set, key or None, navigation))
        target = self.model.by_name[navigation.target]
        at = replace(
            at, entity_set=target, segment=target.name, key=None, alternate=(), steps=steps
        )
        if parts is None and navigation.collection:
            return self.collection(at, rest)
        return self.record(at if parts is None else _keyed(at, parts), rest)


def _keyed(at: Target, parts: Sequence[KeyPart]) -> Target:
    """A record of a collection, by its key."""
    key, alternate = _key(at.entity_set, parts)
    return replace(at, key=key, alternate=alternate, named=parts[0].name is not None)


def _without_cast(at: Target, rest: Sequence[Segment]) -> Sequence[Segment]:
    """The segments without a cast to the set's own type, which has no effect."""
    return (
        rest[1:] if rest and rest[0] == Segment(at.entity_set.type.qualified_name, None) else rest
    )


def _not_found(segments: Sequence[Segment], at: Segment, known: Collection[str]) -> Refusal:
    """404 for the segment `at`, instead of which `known` names are valid; 501 if unsupported."""
    for segment in segments:
        if segment.name in _UNSUPPORTED:
            return rows.IN_A_PATH(name=segment.name)
    path = "/".join(segment.name for segment in segments)
    suggested = () if at.name in known else known
    return rows.UNKNOWN_SEGMENT(known=suggested, path=path, name=at.name, segment=at.name)


def _key(entity_set: EntitySet, parts: Sequence[KeyPart]) -> tuple[Stored | None, Key]:
    """The value of the key; or None, and the properties and values of an alternate key."""
    entity_type = entity_set.type
    if len(parts) == 1 and parts[0].name in (None, entity_type.key):
        return _value(entity_set, entity_type.key_property, parts[0]), ()
    by_name = {part.name: part for part in parts}
    for rule in entity_type.unique:
        if set(rule.properties) == by_name.keys() and len(parts) == len(by_name):
            return None, tuple(
                (name, _value(entity_set, entity_type.by_name[name], by_name[name]))
                for name in rule.properties
            )
    sent = ", ".join(part.name or quoted(part.text) for part in parts)
    keys = "; ".join([entity_type.key, *(rule.name for rule in entity_type.unique)])
    raise rows.NOT_A_KEY(sent=sent, set=entity_set.name, keys=keys)


def _value(entity_set: EntitySet, declared: Property, part: KeyPart) -> Stored:
    """The value of a key property; raises `Refusal` (400)."""
    name = declared.name
    if part.quoted != declared.type.quoted:
        row = rows.QUOTED_KEY if part.quoted else rows.UNQUOTED_KEY
        raise row(name, set=entity_set.name, name=name)
    try:
        return declared.type.from_key(part.text)
    except EdmError as error:
        subject = f"In a key of {entity_set.name}, {name}"
        refusal = error.refusal(subject, name, error=INVALID_URL).grouped("MALFORMED_KEY")
        refusal.check = Check.RESOURCE
        raise refusal from None


RecordLookup = Generator[PagePlan, list[Row], Row | None]
"""A search for a record: it yields the pages to read, and is sent their rows."""


class RecordPath(msgspec.Struct, frozen=True):
    """A record, or a part of a collection, that a path names by navigation or an alternate key.

    The methods are generators, which yield the pages to read and are sent their rows. A read runs
    them on committed data, and a write within its transaction. They raise `Refusal` (404) if the
    path contains a key that no record has.
    """

    target: Target
    company: Company | None

    def lookup(self, computed: Computed = ()) -> RecordLookup:
        """Find the record; None if the navigation property leads to none.

        The row ends in the values of `computed`.
        """
        within = yield from self.within()
        target = self.target
        key = target.alternate
        if target.key is not None:
            key = ((target.entity_set.type.key, target.key),)
        return (yield from self._one(target.entity_set, key, within, computed))

    def record(self) -> Generator[PagePlan, list[Row], Row]:
        """Find the record; raises `Refusal` (404) if the navigation property leads to none."""
        row = yield from self.lookup()
        if row is None:
            name = self.target.steps[-1].navigation.name
            raise rows.NO_RELATED_RECORD(
                name=name, related=self.target.entity_set.name, set=self.target.segment
            )
        return row

    def within(self) -> Generator[PagePlan, list[Row], Within | None]:
        """Find the values of the records to which the last step leads; None if it leads to none."""
        within: Within | None = ()
        for step in self.target.steps:
            row = yield from self._one(step.entity_set, step.key or (), within)
            if row is None:
                return None
            own, other = step.navigation.on
            value = row[step.entity_set.type.column_of[own]]
            # an empty value relates no records
            within = None if value == "" else ((other, value), *step.navigation.only.items())
        return within

    def _one(
        self, entity_set: EntitySet, key: Key, within: Within | None, computed: Computed = ()
    ) -> RecordLookup:
        row = None
        if within is not None:
            company = self.company if entity_set.per_company else None
            pipeline, values = list_pipeline(entity_set, computed)
            bounds = Bounds(company, within=(*within, *key))
            found = yield PagePlan(pipeline, bounds, 1, values)
            row = found[0] if found else None
        if row is None and key:
            target, shown = self.target, ", ".join(str(value) for _, value in key)
            segment = target.segment if entity_set is target.entity_set else entity_set.name
            raise record_not_found(entity_set, shown, segment)
        return row


RecordAddress = Stored | RecordPath
"""A record by its key, or by a path that leads to it."""


def record_not_found(entity_set: EntitySet, key: Stored, segment: str) -> Refusal:
    """404 for a key that no record of the set has; `segment` is its name in the path."""
    return rows.UNKNOWN_RECORD(name=entity_set.name, key=str(key), set=segment)


_RIGHT_OF: Mapping[str, Right] = {
    "GET": Right.READ,
    "HEAD": Right.READ,
    "POST": Right.INSERT,
    "PATCH": Right.MODIFY,
    "PUT": Right.MODIFY,
    "DELETE": Right.DELETE,
}

_DOING: Mapping[Right, str] = {
    Right.READ: "reading",
    Right.INSERT: "creating records in",
    Right.MODIFY: "changing records of",
    Right.DELETE: "deleting records of",
}

Readable = frozenset[str] | None
"""The names of the entity sets whose records a principal may read; None without roles."""


def right_for(method: str, headers: Headers, *, upserts: bool) -> Right:
    """The right that a method needs; if updates may be `upserts`, one with If-None-Match: *."""
    right = _RIGHT_OF[method]
    return Right.INSERT if right is Right.MODIFY and upserts and _creates(headers) else right


def authorize_target(target: Target, right: Right, rights: Rights) -> None:
    """Raise `Refusal` (403) unless the rights include one on the resource that a path names.

    A path along navigation properties needs the right to read each of its sets, whatever the
    method, because its response depends on their records.
    """
    if target.steps:
        for step in target.steps:
            check_readable(step.entity_set, rights[Right.READ])
        check_readable(target.entity_set, rights[Right.READ])
    check_right(target.entity_set, right, rights)


def may_read(entity_set: EntitySet, readable: Readable) -> bool:
    """Whether a principal may read the records of a set; the list of companies needs no right."""
    return readable is None or entity_set.name in readable or not entity_set.per_company


def check_readable(
    entity_set: EntitySet,
    readable: Readable,
    option: str | None = None,
    position: int | None = None,
) -> None:
    """Raise `Refusal` (403) unless a principal may read the records of a set.

    `option` names the set at this offset of its text.
    """
    if not may_read(entity_set, readable):
        raise _denied(entity_set, Right.READ, option, position)


def check_served(
    entity_type: EntityType, name: str, option: str | None = None, position: int | None = None
) -> None:
    """Raise `Refusal` (501) for a navigation property that is declared and not supported."""
    if name in entity_type.unserved:
        raise rows.UNSERVED(option, position, type=entity_type.name, name=name)


def _creates(headers: Headers) -> bool:
    """Whether a PATCH or PUT creates the record."""
    tags = entity_tags(headers, b"if-none-match")
    return tags is not None and tags.any and entity_tags(headers, b"if-match") is None


def check_right(entity_set: EntitySet, right: Right, rights: Rights) -> None:
    """Raise `Refusal` (403) unless the rights include one on a set."""
    if entity_set.per_company and entity_set.name not in rights[right]:
        raise _denied(entity_set, right)


def _denied(
    entity_set: EntitySet, right: Right, option: str | None = None, position: int | None = None
) -> Refusal:
    return rows.RIGHT_MISSING(
        option,
        position,
        doing=_DOING[right],
        name=entity_set.name,
        right=right.name.capitalize(),
        table=entity_set.type.table,
    )
