"""Paths bound to the model: to a value of a record, of a related record, or to related records."""

from collections.abc import Mapping

import msgspec

from comptoir.edm.model import NAMESPACE, EntitySet, Model
from comptoir.plan.bound import CountOf, Field, Member, Related, Step, Value
from comptoir.plan.expressions import types
from comptoir.plan.expressions.terms import Terms
from comptoir.plan.expressions.typed import Typed, typed_property
from comptoir.plan.faults import no_further, unknown_name
from comptoir.request.expression.tree import Path

MOST_STEPS = 8
"""How many navigation properties a path follows."""

MOST_RELATIONS = 100
"""How many navigation properties all paths of an expression follow together."""


class Place(msgspec.Struct, frozen=True):
    """Where a path begins or has come to: records of a set.

    `base` is the number of the step that they stand for, 0 for the record that is asked about;
    `steps` lead there, and `many` says that they lead to more than one record.
    """

    entity_set: EntitySet
    base: int = 0
    steps: tuple[Step, ...] = ()
    many: bool = False

    @property
    def number(self) -> int:
        """The number of the step that the records stand for."""
        return self.steps[-1].number if self.steps else self.base


class Paths:
    """Binds the paths of one expression, counting the steps that they take."""

    def __init__(
        self,
        terms: Terms,
        model: Model,
        root: EntitySet,
        computed: Mapping[str, Typed],
        *,
        nested: bool,
        alone: bool,
    ) -> None:
        self._terms = terms
        self._model = model
        self._computed = computed
        self._nested = nested
        self._alone = alone
        self._steps = 0
        self.root = Place(root)
        self.variables: dict[str, Place] = {}

    def value(self, path: Path) -> Typed:
        """The value that a path leads to; raises `Refusal` when it leads to none."""
        named = path.segments[1:] if path.segments[0] == "$it" else path.segments
        computed = self._computed.get("/".join(named))
        if computed is not None and named[0] not in self.variables:
            return computed
        place, rest = self.place(path)
        if not rest:
            return self._record(path, place)
        name, *beyond = rest
        if name == "$count" and place.many:
            return Typed(CountOf(place.steps), types.WHOLE, most=2**53)
        held = place.entity_set.type.by_name.get(name)
        if held is None:
            raise self._unknown(path, place, name)
        if place.many:
            raise self._terms.misused(
                path,
                f"{_shown(path)} leads to several records. Ask with any or all, or for $count.",
            )
        if held.secret:
            raise self._terms.misused(path, f"{name} is secret and cannot be queried.")
        if beyond == ["$count"]:
            raise self._unknown(path, place, "$count")
        if beyond:
            raise no_further(self._terms.option, path.position, name, _shown(path))
        value: Value = Member(place.number, name) if place.number else Field(name)
        if place.steps:
            value = Related(place.steps, value)
        return typed_property(value, held.type, nullable=bool(place.steps))

    def records(self, path: Path) -> Place:
        """The related records that a path leads to; raises `Refusal` when it leads to others."""
        place, rest = self.place(path)
        if rest:
            if rest[0] in place.entity_set.type.by_name or rest[0] == "$count":
                raise self._terms.misused(path, f"{_shown(path)} leads to no collection.")
            raise self._unknown(path, place, rest[0])
        if not place.many:
            raise self._terms.misused(path, f"{_shown(path)} leads to no collection.")
        return place

    def place(self, path: Path) -> tuple[Place, tuple[str, ...]]:
        """The records that a path leads to, as far as it follows relations, and what is left."""
        segments = path.segments
        place = self.root
        if self._alone:
            raise self._aggregated(path)
        if segments[0] in self.variables:
            place, segments = self.variables[segments[0]], segments[1:]
        elif segments[0] in ("$this", "$root"):
            raise self._terms.unsupported(path, segments[0])
        elif segments[0] == "$it":
            if self._nested:
                # it is the record that is expanded, not the related one that is asked about
                raise self._terms.unsupported(path, "$it within $expand")
            segments = segments[1:]
        while segments:
            kind = place.entity_set.type
            if "." in segments[0]:
                self._check_type(path, place, segments[0])
            elif segments[0] in kind.related and not place.many:
                place = self._followed(path, place, segments[0])
            else:
                break
            segments = segments[1:]
        return place, segments

    def _followed(self, path: Path, place: Place, name: str) -> Place:
        navigation = place.entity_set.type.related[name]
        if len(place.steps) == MOST_STEPS:
            raise self._terms.unsupported(path, f"a path of more than {MOST_STEPS} relations")
        if self._steps == MOST_RELATIONS:
            raise self._terms.unsupported(
                path, f"following more than {MOST_RELATIONS} relations in an expression"
            )
        self._steps += 1
        target = self._model.by_name[navigation.target]
        step = Step(place.number, self._steps, navigation, target)
        return Place(target, place.base, (*place.steps, step), navigation.collection)

    def _check_type(self, path: Path, place: Place, name: str) -> None:
        own = f"{NAMESPACE}.{place.entity_set.type.name}"
        if name != own:
            self.check_known(path, name)
            raise self._terms.misused(path, f"{name} is not the type of a {own}.")

    def check_known(self, path: Path, name: str) -> None:
        """Raise `Refusal` (400) unless the name is that of a type of records."""
        known = [f"{NAMESPACE}.{each.type.name}" for each in self._model.sets]
        if name not in known:
            raise unknown_name(self._terms.option, path.position, name, "type", known)

    def _record(self, path: Path, place: Place) -> Typed:
        if place.many:
            raise self._terms.misused(
                path,
                f"{_shown(path)} leads to several records. Ask with any or all, or for $count.",
            )
        key = place.entity_set.type.key_property
        value: Value = Member(place.number, key.name) if place.number else Field(key.name)
        if place.steps:
            value = Related(place.steps, value)
        return Typed(value, types.RECORD, nullable=bool(place.steps), own_type=key.type)

    def _aggregated(self, path: Path) -> Exception:
        kind, name = self.root.entity_set.type, path.segments[0]
        if name == "$it" or name not in (*kind.by_name, *kind.related):
            what = "property of the aggregated result"
            return unknown_name(self._terms.option, path.position, name, what, self._computed)
        return self._terms.misused(
            path,
            f"{_shown(path)} has been aggregated away: what is left is "
            f"{', '.join(self._computed)[:200]}. Group by it, or aggregate it under a name.",
        )

    def _unknown(self, path: Path, place: Place, name: str) -> Exception:
        kind = place.entity_set.type
        if name in self._model.contained(place.entity_set):
            # each statement reads one company, and this would read all of them
            return self._terms.unsupported(path, f"{name} across companies")
        if name.startswith("$"):
            return self._terms.misused(path, f"{_shown(path)} is no collection to count.")
        own = [each.name for each in kind.properties if not each.secret]
        known = [*own, *kind.related, *self._computed]
        return unknown_name(
            self._terms.option, path.position, name, f"property of {kind.name}", known
        )


def _shown(path: Path) -> str:
    return "/".join(path.segments)[:100]
