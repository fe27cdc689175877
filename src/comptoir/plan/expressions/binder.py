"""The binder of expressions: it turns nodes of the syntax, and paths, into typed values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import msgspec

from comptoir.edm.model import EntitySet, NavigationProperty, PairFilter
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Refusal
from comptoir.plan.expressions import nodes, operators, types
from comptoir.plan.expressions.calls import bind_call, bind_cast, bind_isof, check_name
from comptoir.plan.expressions.operands import (
    BindingContext,
    BoundOption,
    Operand,
    TypedValue,
    boolean,
    constant,
    described,
    name_of,
    typed_property,
)
from comptoir.plan.target import check_readable, check_served
from comptoir.request.expression import tree

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
    steps: tuple[nodes.Step, ...] = ()
    many: bool = False

    @property
    def number(self) -> int:
        """The number of the step that leads to the records, 0 for the record itself."""
        return self.steps[-1].number if self.steps else self.base


@dataclass(slots=True)
class PathBinder:
    """Binds the paths of one expression, and counts their steps."""

    option: BoundOption
    binding: BindingContext
    computed: Mapping[str, TypedValue]
    alone: bool
    variables: Mapping[str, PathRecords] = field(default_factory=dict)
    _steps: int = 0

    @property
    def root(self) -> PathRecords:
        """The records that the expression is about."""
        return PathRecords(self.binding.entity_set)

    def value(self, path: tree.Path) -> TypedValue:
        """Bind a path to a value; raises `Refusal` (400, 501)."""
        named = path.segments[1:] if path.segments[0] == "$it" else path.segments
        computed = self.computed.get("/".join(named))
        if computed is not None and named[0] not in self.variables:
            return computed
        records, rest = self.follow(path)
        if not rest:
            return self._record(path, records)
        name, *beyond = rest
        if name == "$count" and records.many:
            return TypedValue(nodes.CountOf(records.steps), types.WHOLE, most=2**53)
        found = records.entity_set.type.by_name.get(name)
        if found is None:
            raise self._unknown(path, records, name)
        if records.many:
            raise self._several_records(path)
        if not found.is_queried:
            what = "a stream" if found.is_stream else "secret"
            raise self.option.refuse(rows.NOT_QUERIED, path, name=name, what=what)
        if beyond == ["$count"]:
            raise self._unknown(path, records, "$count")
        if beyond:
            raise self.option.refuse(rows.PAST_VALUE, path, name=name, path=_shown(path))
        value = _value(records, name)
        return typed_property(value, found.type, nullable=bool(records.steps))

    def records(self, path: tree.Path) -> PathRecords:
        """Bind a path to a collection of related records; raises `Refusal` (400, 501)."""
        records, rest = self.follow(path)
        if rest:
            if rest[0] in records.entity_set.type.by_name or rest[0] == "$count":
                raise self._not_a_collection(path)
            raise self._unknown(path, records, rest[0])
        if not records.many:
            raise self._not_a_collection(path)
        return records

    def follow(self, path: tree.Path) -> tuple[PathRecords, tuple[str, ...]]:
        """Follow the navigation properties of a path; return its records and its rest."""
        segments = path.segments
        records = self.root
        if self.alone:
            raise self._aggregated(path)
        if segments[0] in self.variables:
            records, segments = self.variables[segments[0]], segments[1:]
        elif segments[0] in ("$this", "$root"):
            raise self.option.unsupported(path, segments[0])
        elif segments[0] == "$it":
            if self.binding.nested:
                # $it is the record that is expanded, not the related record of the expression
                raise self.option.unsupported(path, "$it within $expand")
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

    def _followed(self, path: tree.Path, records: PathRecords, name: str) -> PathRecords:
        navigation = records.entity_set.type.related[name]
        if len(records.steps) == MOST_STEPS:
            raise self.option.unsupported(
                path, f"A path of more than {MOST_STEPS} navigation properties"
            )
        if self._steps == MOST_RELATIONS:
            raise self.option.unsupported(
                path,
                f"An expression with paths of more than {MOST_RELATIONS} navigation properties",
            )
        target = self.binding.model.by_name[navigation.target]
        check_readable(target, self.binding.readable, self.option.name, path.position)
        step = self.step(records, navigation, target)
        return PathRecords(target, records.base, (*records.steps, step), navigation.collection)

    def step(
        self, records: PathRecords, navigation: NavigationProperty, target: EntitySet
    ) -> nodes.Step:
        """Return the next step of the expression, which leads on from some records."""
        self._steps += 1
        return nodes.Step(records.number, self._steps, navigation, target)

    def _check_type(self, path: tree.Path, records: PathRecords, name: str) -> None:
        own = records.entity_set.type.qualified_name
        if name != own:
            self.check_entity_type(path, name)
            raise self.option.refuse(rows.OTHER_TYPE, path, own=own, name=name)

    def check_entity_type(self, path: tree.Path, name: str) -> None:
        """Raise `Refusal` (400) unless an entity type has this name."""
        known = [each.type.qualified_name for each in self.binding.model.sets]
        if name not in known:
            raise self.option.refuse(rows.NO_TYPE, path, known=known, name=name)

    def _record(self, path: tree.Path, records: PathRecords) -> TypedValue:
        if records.many:
            raise self._several_records(path)
        key = records.entity_set.type.key_property
        value = _value(records, key.name)
        return TypedValue(value, types.RECORD, nullable=bool(records.steps), own_type=key.type)

    def _aggregated(self, path: tree.Path) -> Refusal:
        entity_type, name = self.root.entity_set.type, path.segments[0]
        if name == "$it" or name not in (*entity_type.by_name, *entity_type.related):
            return self.option.refuse(
                rows.NO_PROPERTY,
                path,
                known=self.computed,
                owner="The aggregated result",
                name=name,
            )
        known = ", ".join(self.computed)
        return self.option.refuse(rows.NOT_AGGREGATED, path, path=_shown(path), names=known)

    def _unknown(self, path: tree.Path, records: PathRecords, name: str) -> Refusal:
        entity_type = records.entity_set.type
        if name in self.binding.model.contained(records.entity_set):
            # each statement reads one company
            return self.option.unsupported(path, f"{name} across companies")
        if name.startswith("$"):
            return self._not_a_collection(path)
        check_served(entity_type, name, self.option.name, path.position)
        known = [*entity_type.queried, *entity_type.related, *self.computed]
        return self.option.refuse(
            rows.UNKNOWN_FIELD,
            path,
            known=known,
            owner=entity_type.name,
            name=name,
            type=entity_type.qualified_name,
        )

    def _not_a_collection(self, path: tree.Path) -> Refusal:
        return self.option.refuse(rows.NOT_RECORDS, path, path=_shown(path))

    def _several_records(self, path: tree.Path) -> Refusal:
        return self.option.refuse(rows.SEVERAL_RECORDS, path, path=_shown(path))


def _value(records: PathRecords, name: str) -> nodes.Value:
    value = nodes.Member(records.number, name) if records.number else nodes.Field(name)
    return nodes.Related(records.steps, value) if records.steps else value


def _shown(path: tree.Path) -> str:
    return "/".join(path.segments)[:100]


MOST_NESTED = 3
"""The depth to which `any` and `all` may be nested."""

_NONE: Mapping[str, TypedValue] = {}


@cache
def _navigation(pairs: PairFilter) -> NavigationProperty:
    """The relation of a record to those that match its pairs."""
    return NavigationProperty("", pairs.carrier, (pairs.reference, pairs.carrier_reference))


class Binder:
    """Binds the expressions of one query option, and adds their values to `slots`.

    `computed` are names besides the properties of the set; `alone`: there are no other names.
    """

    def __init__(
        self,
        binding: BindingContext,
        option: str,
        computed: Mapping[str, TypedValue] = _NONE,
        *,
        alone: bool = False,
        slots: nodes.Slots | None = None,
    ) -> None:
        self.slots = nodes.Slots() if slots is None else slots
        self._binding = binding
        self._option = BoundOption(option, self.slots, binding)
        self._paths = PathBinder(self._option, binding, computed, alone)
        self._nested = 0

    def pair(self, pairs: PairFilter, values: Mapping[str, str]) -> nodes.Exists:
        """The condition that the set with the pairs of a record has one with these values."""
        carrier = self._binding.model.by_name[pairs.carrier]
        step = self._paths.step(self._paths.root, _navigation(pairs), carrier)
        equal = [
            nodes.Comparison("eq", nodes.Member(step.number, name), self.slots.add(value))
            for name, value in values.items()
        ]
        return nodes.Exists((step,), nodes.Junction("and", tuple(equal)))

    def condition(self, node: tree.Node) -> TypedValue:
        """Bind a node whose value is Boolean or null; raises `Refusal` as `value` does."""
        typed = self.value(node)
        if typed.type is types.BOOLEAN:
            return typed
        if typed.type is types.NULL:
            return boolean(nodes.Null(), nullable=True)
        actual = typed.type.expected
        raise self._option.refuse(rows.NOT_A_CONDITION, node, node=described(node), type=actual)

    def value(self, node: tree.Node) -> TypedValue:
        """Bind a node; raises `Refusal` (400; 501 for what is not supported)."""
        match node:
            case tree.Path():
                return self._paths.value(node)
            case tree.Literal():
                return self._option.value(Operand(node, None))
            case tree.Logical():
                return self._junction(node)
            case tree.Binary() if node.operator in operators.COMPARISONS:
                sides = self._operand(node.left), self._operand(node.right)
                return operators.bind_comparison(self._option, node, *sides)
            case tree.Binary() if node.operator in operators.ARITHMETIC:
                sides = self._operand(node.left), self._operand(node.right)
                return operators.bind_arithmetic(self._option, node, *sides)
            case tree.Unary(operator="not"):
                condition = self.condition(node.operand)
                return boolean(operators.negated(condition.value), nullable=condition.nullable)
            case tree.Unary():
                return operators.bind_negation(self._option, node, self._operand(node.operand))
        return self._other_value(node)

    def _other_value(self, node: tree.Node) -> TypedValue:
        match node:
            case tree.In():
                left = self._operand(node.left)
                return operators.bind_list(self._option, node, left, self._operands(node.items))
            case tree.InCollection(collection=tree.Collection(items=items)):
                left = self._operand(node.left)
                return operators.bind_list(self._option, node, left, self._operands(items))
            case tree.InCollection():
                return self._in_collection(node)
            case tree.Call(name="cast" | "isof"):
                return self._of_type(node)
            case tree.Call():
                check_name(self._option, node)
                return bind_call(self._option, node, self._operands(node.arguments))
            case tree.Case():
                return self._case(node)
            case tree.Lambda():
                return self._lambda(node)
        raise self._option.unsupported(node, described(node))

    def _operand(self, node: tree.Node) -> Operand:
        if isinstance(node, tree.Literal):
            return Operand(node, None)
        return Operand(node, self.value(node))

    def _operands(self, parts: Sequence[tree.Node]) -> list[Operand]:
        return [self._operand(each) for each in parts]

    def _junction(self, node: tree.Logical) -> TypedValue:
        conditions = [self.condition(each) for each in node.operands]
        values = tuple([each.value for each in conditions])
        nullable = any(each.nullable for each in conditions)
        return boolean(nodes.Junction(node.operator, values), nullable=nullable)

    def _in_collection(self, node: tree.InCollection) -> TypedValue:
        if isinstance(node.collection, tree.Path):
            records, _ = self._paths.follow(node.collection)
            if not records.many:
                other = f"{self.value(node.collection).type.expected}, "
                raise self._not_a_collection(node.collection, other)
            raise self._option.unsupported(
                node.collection,
                f"The operator in with the related values {name_of(node.collection)}",
            )
        raise self._not_a_collection(node.collection)

    def _not_a_collection(self, node: tree.Node, other: str = "") -> Refusal:
        return self._option.refuse(rows.NOT_A_COLLECTION, node, node=described(node), other=other)

    def _of_type(self, node: tree.Call) -> TypedValue:
        if len(node.arguments) not in (1, 2):
            count = len(node.arguments)
            raise self._option.refuse(rows.ARGUMENTS_OF_TYPE, node, function=node.name, count=count)
        wanted = node.arguments[-1]
        if isinstance(wanted, tree.Path) and wanted.segments[0].startswith(
            f"{self._option.namespace}."
        ):
            return self._of_entity_type(node, wanted)
        if len(node.arguments) == 1:
            namespace = self._option.namespace
            raise self._option.refuse(
                rows.NOT_AN_ENTITY_TYPE, node, function=node.name, namespace=namespace
            )
        operand = self._operand(node.arguments[0])
        if node.name == "isof":
            return bind_isof(self._option, node, operand)
        return bind_cast(self._option, node, operand)

    def _of_entity_type(self, node: tree.Call, wanted: tree.Path) -> TypedValue:
        self._paths.check_entity_type(wanted, wanted.segments[0])
        if node.name == "cast":
            raise self._option.unsupported(
                wanted, f"The cast to the type {wanted.segments[0][:100]}"
            )
        records, exists = self._paths.root, None
        if len(node.arguments) == 2:
            first = node.arguments[0]
            if not isinstance(first, tree.Path):
                return constant(value=False)
            records, rest = self._paths.follow(first)
            if rest:
                self.value(first)
                return constant(value=False)
            exists = self.value(first) if records.steps else None
        if wanted.segments[0] != records.entity_set.type.qualified_name:
            return constant(value=False)
        if exists is None:
            return constant(value=True)
        return boolean(nodes.Not(nodes.IsNull(exists.value)))

    def _case(self, node: tree.Case) -> TypedValue:
        conditions = [self.condition(condition) for condition, _ in node.branches]
        values = [self.value(value) for _, value in node.branches]
        common = values[0]
        for (_, value), typed in zip(node.branches, values, strict=True):
            common, _ = operators.common_type(
                self._option, value, Operand(node, common), Operand(value, typed)
            )
            if common.type is types.NULL:
                common = typed
        values = [operators.as_type(each, common.type) for each in values]
        if types.RECORD in [each.type for each in values]:
            raise self._option.unsupported(node, "The function case with records as its values")
        is_total = any(each.value == nodes.Constant(value=True) for each in conditions)
        nullable = not is_total or any(each.nullable for each in values)
        choice = nodes.Choice(
            tuple([each.value for each in conditions]), tuple([each.value for each in values])
        )
        most = max(each.most for each in values)
        return TypedValue(choice, common.type, nullable, most)

    def _lambda(self, node: tree.Lambda) -> TypedValue:
        records = self._paths.records(node.path)
        if self._nested == MOST_NESTED:
            raise self._option.unsupported(
                node, f"The operator {node.operator} within more than {MOST_NESTED} others"
            )
        if node.predicate is None or node.variable is None:
            return boolean(nodes.Exists(records.steps, None))
        variables = self._paths.variables
        number = records.steps[-1].number
        inner = PathRecords(records.entity_set, number)
        self._paths.variables = {**variables, node.variable: inner}
        self._nested += 1
        condition = self.condition(node.predicate)
        self._nested -= 1
        self._paths.variables = variables
        if node.operator == "any":
            return boolean(nodes.Exists(records.steps, condition.value))
        failing: nodes.Value = nodes.Not(condition.value)
        if condition.nullable:
            failing = nodes.Comparison(
                "ne", condition.value, nodes.Constant(value=True), nullable=True
            )
        return boolean(nodes.Not(nodes.Exists(records.steps, failing)))
