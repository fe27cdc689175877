"""Paths bound to the model: to a value of a record or of a related record, or to records."""

from collections.abc import Mapping

import msgspec

from comptoir.edm.model import EntitySet
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Refusal
from comptoir.plan.expressions import types
from comptoir.plan.expressions.nodes import CountOf, Field, Member, Related, Step, Value
from comptoir.plan.expressions.operands import (
    BindingContext,
    BoundOption,
    TypedValue,
    typed_property,
)
from comptoir.plan.rights import check_readable
from comptoir.request.expression.tree import Path

MOST_STEPS = 8
"""The most navigation properties in a path."""

MOST_RELATIONS = 100
"""The most navigation properties in all paths of an expression together."""


class PathRecords(msgspec.Struct, frozen=True):
    """The records of a set at some point of a path.

    The path starts at the record that the step `base` leads to, 0 for the record itself, and
    follows `steps`. `many`: they lead to a collection.
    """

    entity_set: EntitySet
    base: int = 0
    steps: tuple[Step, ...] = ()
    many: bool = False

    @property
    def number(self) -> int:
        """The number of the step that leads to the records, 0 for the record itself."""
        return self.steps[-1].number if self.steps else self.base


class PathBinder:
    """Binds the paths of one expression, and counts their steps."""

    def __init__(
        self,
        option: BoundOption,
        binding: BindingContext,
        computed: Mapping[str, TypedValue],
        *,
        alone: bool,
    ) -> None:
        self._option = option
        self._binding = binding
        self._model = binding.model
        self._computed = computed
        self._alone = alone
        self._steps = 0
        self.root = PathRecords(binding.entity_set)
        self.variables: dict[str, PathRecords] = {}

    def value(self, path: Path) -> TypedValue:
        """Bind a path to a value; raises `Refusal` (400, 501)."""
        named = path.segments[1:] if path.segments[0] == "$it" else path.segments
        computed = self._computed.get("/".join(named))
        if computed is not None and named[0] not in self.variables:
            return computed
        records, rest = self.follow(path)
        if not rest:
            return self._record(path, records)
        name, *beyond = rest
        if name == "$count" and records.many:
            return TypedValue(CountOf(records.steps), types.WHOLE, most=2**53)
        found = records.entity_set.type.by_name.get(name)
        if found is None:
            raise self._unknown(path, records, name)
        if records.many:
            raise self._several_records(path)
        if not found.is_queried:
            what = "a stream" if found.is_stream else "secret"
            raise self._option.refuse(rows.NOT_QUERIED, path, name=name, what=what)
        if beyond == ["$count"]:
            raise self._unknown(path, records, "$count")
        if beyond:
            raise self._option.refuse(rows.PAST_VALUE, path, name=name, path=_shown(path))
        value = _value(records, name)
        return typed_property(value, found.type, nullable=bool(records.steps))

    def records(self, path: Path) -> PathRecords:
        """Bind a path to a collection of related records; raises `Refusal` (400, 501)."""
        records, rest = self.follow(path)
        if rest:
            if rest[0] in records.entity_set.type.by_name or rest[0] == "$count":
                raise self._not_a_collection(path)
            raise self._unknown(path, records, rest[0])
        if not records.many:
            raise self._not_a_collection(path)
        return records

    def follow(self, path: Path) -> tuple[PathRecords, tuple[str, ...]]:
        """Follow the navigation properties of a path; return its records and its rest."""
        segments = path.segments
        records = self.root
        if self._alone:
            raise self._aggregated(path)
        if segments[0] in self.variables:
            records, segments = self.variables[segments[0]], segments[1:]
        elif segments[0] in ("$this", "$root"):
            raise self._option.unsupported(path, segments[0])
        elif segments[0] == "$it":
            if self._binding.nested:
                # $it is the record that is expanded, not the related record of the expression
                raise self._option.unsupported(path, "$it within $expand")
            segments = segments[1:]
        while segments:
            entity_type = records.entity_set.type
            if "." in segments[0]:
                self._check_type(path, records, segments[0])
            elif segments[0] in entity_type.related and not records.many:
                records = self._followed(path, records, segments[0])
            else:
                break
            segments = segments[1:]
        return records, segments

    def _followed(self, path: Path, records: PathRecords, name: str) -> PathRecords:
        navigation = records.entity_set.type.related[name]
        if len(records.steps) == MOST_STEPS:
            raise self._option.unsupported(
                path, f"A path of more than {MOST_STEPS} navigation properties"
            )
        if self._steps == MOST_RELATIONS:
            raise self._option.unsupported(
                path,
                f"An expression with paths of more than {MOST_RELATIONS} navigation properties",
            )
        self._steps += 1
        target = self._model.by_name[navigation.target]
        check_readable(target, self._binding.readable, self._option.name, path.position)
        step = Step(records.number, self._steps, navigation, target)
        return PathRecords(target, records.base, (*records.steps, step), navigation.collection)

    def _check_type(self, path: Path, records: PathRecords, name: str) -> None:
        own = records.entity_set.type.qualified_name
        if name != own:
            self.check_entity_type(path, name)
            raise self._option.refuse(rows.OTHER_TYPE, path, own=own, name=name)

    def check_entity_type(self, path: Path, name: str) -> None:
        """Raise `Refusal` (400) unless an entity type has this name."""
        known = [each.type.qualified_name for each in self._model.sets]
        if name not in known:
            raise self._option.refuse(rows.NO_TYPE, path, known=known, name=name)

    def _record(self, path: Path, records: PathRecords) -> TypedValue:
        if records.many:
            raise self._several_records(path)
        key = records.entity_set.type.key_property
        value = _value(records, key.name)
        return TypedValue(value, types.RECORD, nullable=bool(records.steps), own_type=key.type)

    def _aggregated(self, path: Path) -> Refusal:
        entity_type, name = self.root.entity_set.type, path.segments[0]
        if name == "$it" or name not in (*entity_type.by_name, *entity_type.related):
            return self._option.refuse(
                rows.NO_PROPERTY,
                path,
                known=self._computed,
                owner="The aggregated result",
                name=name,
            )
        known = ", ".join(self._computed)
        return self._option.refuse(rows.NOT_AGGREGATED, path, path=_shown(path), names=known)

    def _unknown(self, path: Path, records: PathRecords, name: str) -> Refusal:
        entity_type = records.entity_set.type
        if name in self._model.contained(records.entity_set):
            # each statement reads one company
            return self._option.unsupported(path, f"{name} across companies")
        if name.startswith("$"):
            return self._not_a_collection(path)
        known = [*entity_type.queried, *entity_type.related, *self._computed]
        return self._option.refuse(
            rows.UNKNOWN_FIELD,
            path,
            known=known,
            owner=entity_type.name,
            name=name,
            type=entity_type.qualified_name,
        )

    def _not_a_collection(self, path: Path) -> Refusal:
        return self._option.refuse(rows.NOT_RECORDS, path, path=_shown(path))

    def _several_records(self, path: Path) -> Refusal:
        return self._option.refuse(rows.SEVERAL_RECORDS, path, path=_shown(path))


def _value(records: PathRecords, name: str) -> Value:
    value = Member(records.number, name) if records.number else Field(name)
    return Related(records.steps, value) if records.steps else value


def _shown(path: Path) -> str:
    return "/".join(path.segments)[:100]
