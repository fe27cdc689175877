"""`$apply` bound to an entity set (OData Extension for Data Aggregation 4.0, section 3).

The query options that apply to its result are bound as further transformations.
"""

from collections.abc import Iterable, Mapping, Sequence

from comptoir.edm.numbers import COUNT, DECIMAL, INT64
from comptoir.edm.types import PrimitiveType, Stored, Text
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Refusal
from comptoir.plan.expressions import types
from comptoir.plan.expressions.binder import Binder
from comptoir.plan.expressions.nodes import Field, Junction, Slots, Value
from comptoir.plan.expressions.operands import BindingContext, TypedValue, name_of, typed_property
from comptoir.plan.expressions.options import (
    OTHER_LENGTH,
    Lengths,
    alias_taken,
    bind_condition,
    bind_search,
    computed_value,
    order_key,
    own_names,
    unlimited_texts,
    uses_property,
)
from comptoir.plan.expressions.types import NAMED, FunctionName
from comptoir.plan.read import (
    Aggregation,
    Column,
    Compute,
    Filter,
    Grouping,
    Limit,
    NamedValue,
    OrderKey,
    Pipeline,
    Transformation,
    default_order,
)
from comptoir.request import apply as syntax
from comptoir.request.aliases import Aliases, parse_aliases, resolve
from comptoir.request.expression import tree
from comptoir.request.options import LARGEST

MOST_TRANSFORMATIONS = 40
"""The most transformations of a pipeline, those within `groupby` included."""

_OF_NUMBERS = ("sum", "average")
_OF_ALL = ("min", "max", "countdistinct")

_FORMS: Mapping[types.ExpressionType, str] = {
    types.WHOLE: "whole",
    types.DECIMAL: "decimal",
    types.WIDE_DECIMAL: "wide",
}
"""The ends of the names of functions whose operand is a number."""


def methods_of(edm_type: PrimitiveType) -> tuple[str, ...]:
    """The aggregation methods that accept properties of a type."""
    if isinstance(edm_type, Text) and edm_type.max_length is None:
        return ("countdistinct",)
    return (*_OF_NUMBERS, *_OF_ALL) if types.type_of(edm_type) in types.NUMBERS else _OF_ALL


class PipelineBinder:
    """Binds transformations in sequence; `option` is the query option that they come from."""

    def __init__(self, binding: BindingContext, option: str) -> None:
        self.option = option
        self._binding = binding
        self._set = binding.entity_set
        self._slots = Slots()
        self._steps: list[Transformation] = []
        self._names: dict[str, TypedValue] = {}
        self._lengths: dict[str, float] = {}
        self._is_aggregated = False
        self._searches = False
        self._transformations = 0
        self._nodes = 0
        self._aliases: Aliases | None = None
        self._unlimited = unlimited_texts(binding)
        self._identity = default_order(self._set).keys
        self._order: tuple[OrderKey, ...] = ()
        self._sorting: list[NamedValue] = []
        self._sort_expressions = 0

    def bind(self, transformations: Sequence[syntax.Transformation]) -> None:
        """Add transformations.

        Raises `Refusal`: 400 with a column, 501 for valid OData that is not supported.
        """
        for node in transformations:
            self._transformations += 1
            if self._transformations > MOST_TRANSFORMATIONS:
                raise rows.LONG_PIPELINE(self.option, node.position, limit=MOST_TRANSFORMATIONS)
            self._transform(node)

    def pipeline(self) -> tuple[Pipeline, tuple[Stored, ...]]:
        """The pipeline of the added transformations, and the values for its slots."""
        pipeline = Pipeline(
            self._set,
            self._total_order(),
            tuple(self._steps),
            tuple(self._sorting),
            tuple(
                Column(name, typed.edm_type, typed.nullable) for name, typed in self._names.items()
            ),
            self._is_aggregated,
            is_applied=True,
            searches=self._searches,
        )
        return pipeline, tuple(self._slots.values)

    def _transform(self, node: syntax.Transformation) -> None:
        match node:
            case syntax.FilterBy():
                self._filter(node)
            case syntax.SearchFor():
                self._search(node)
            case syntax.ComputeAlso():
                self._compute(node.items)
            case syntax.OrderBy():
                self._sort(node)
            case syntax.AggregateInto():
                self._regroup({}, node)
            case syntax.GroupBy():
                self._group(node)
            case syntax.TopOrSkip(name="top"):
                self._limit(node.count, 0)
            case syntax.TopOrSkip():
                self._limit(LARGEST, node.count)
            case syntax.Identity():
                pass

    def _filter(self, node: syntax.FilterBy) -> None:
        condition = self._resolved(node.condition)
        pairs = None if self._is_aggregated else self._set.pair_filter
        value = bind_condition(self._binder(), condition, pairs, self.option)
        self._length(value, node.position)
        self._add_filter(value)

    def _search(self, node: syntax.SearchFor) -> None:
        if self._is_aggregated:
            raise self._unsupported(node, "A search of an aggregated result")
        self._searches = True
        self._add_filter(bind_search(node.search, self._slots))

    def _add_filter(self, condition: Value) -> None:
        last = self._steps[-1] if self._steps else None
        if not isinstance(last, Filter):
            self._steps.append(Filter(condition))
            return
        operands: tuple[Value, ...] = (last.condition,)
        if isinstance(last.condition, Junction) and last.condition.operator == "and":
            operands = last.condition.operands
        self._steps[-1] = Filter(Junction("and", (*operands, condition)))

    def _compute(self, items: Sequence[tree.ComputeItem]) -> None:
        values: list[NamedValue] = []
        names: dict[str, TypedValue] = {}
        lengths: dict[str, float] = {}
        for item in items:
            self._check_name(item.alias, item.position)
            node = self._resolved(item.expression)
            typed = computed_value(self._binder(), node, self.option)
            if typed.type is types.TEXT and uses_property(self._unlimited, node):
                self._unlimited.add(item.alias)
            lengths[item.alias] = self._length(typed.value, node.position)
            values.append(NamedValue(item.alias, typed.value))
            names[item.alias] = _column(item.alias, typed)
        # the items of one `compute` do not see each other
        self._steps.append(Compute(tuple(values)))
        self._names.update(names)
        self._lengths.update(lengths)

    def _sort(self, node: syntax.OrderBy) -> None:
        keys: list[OrderKey] = []
        for item in node.items:
            expression = self._resolved(item.expression)
            self._refuse_unlimited(expression, "Sorting by")
            typed = self._binder().value(expression)
            if typed.type is types.NULL:
                continue
            self._length(typed.value, item.position)
            if isinstance(typed.value, Field):
                name = typed.value.name
            else:
                # no property and no alias has such a name
                name = f"#{self._sort_expressions}"
                self._sort_expressions += 1
                self._sorting.append(NamedValue(name, typed.value))
            keys.append(order_key(name, typed, descending=item.descending))
        self._order = _distinct((*keys, *self._order))

    def _limit(self, limit: int, skip: int) -> None:
        if self._sorting:
            self._steps.append(Compute(tuple(self._sorting)))
            self._sorting.clear()
        slots = self._slots.add(limit), self._slots.add(skip)
        self._steps.append(Limit(self._total_order(), *slots))

    def _group(self, node: syntax.GroupBy) -> None:
        keys = dict([self._key(path) for path in node.paths])
        inner = [each for each in node.transformations if not isinstance(each, syntax.Identity)]
        at = next(
            (n for n, each in enumerate(inner) if isinstance(each, syntax.AggregateInto)), None
        )
        if at is None and node.transformations:
            raise self._misplaced(node.transformations[0])
        for each in inner[: at or 0]:
            if not isinstance(each, syntax.ComputeAlso):
                raise self._misplaced(each)
            self.bind([each])
        aggregate = None if at is None else inner[at]
        self._regroup(keys, aggregate if isinstance(aggregate, syntax.AggregateInto) else None)
        for each in inner[0 if at is None else at + 1 :]:
            # each group is one row by now, so these have the same effect on all rows at once
            if not isinstance(each, syntax.ComputeAlso | syntax.FilterBy):
                raise self._misplaced(each)
            self.bind([each])

    def _key(self, path: tree.Path) -> tuple[str, TypedValue]:
        self._refuse_many(path)
        self._refuse_unlimited(path, "Grouping by")
        typed = self._binder().value(path)
        if typed.type is types.RECORD:
            raise self._unsupported(path, f"Grouping by the record {name_of(path)}")
        return "/".join([each for each in path.segments if "." not in each]), typed

    def _regroup(self, keys: Mapping[str, TypedValue], node: syntax.AggregateInto | None) -> None:
        """Replace the rows by one for each group, with the aggregates that `node` asks for."""
        aggregations: list[Aggregation] = []
        lengths = {name: self._length(typed.value, 0) for name, typed in keys.items()}
        names = {name: _column(name, typed) for name, typed in keys.items()}
        heads = _heads(keys)
        for item in () if node is None else node.items:
            if item.alias in heads:
                raise self._taken(item.alias, item.position)
            expression = None if item.expression is None else self._resolved(item.expression)
            aggregation, typed = self._aggregation(item, expression, is_grouped=bool(keys))
            lengths[item.alias] = OTHER_LENGTH
            if aggregation.operand is not None and expression is not None:
                length = self._length(aggregation.operand, expression.position)
                lengths[item.alias] = length if typed.type is types.TEXT else OTHER_LENGTH
            aggregations.append(aggregation)
            names[item.alias] = typed
        grouped_by = tuple([NamedValue(name, typed.value) for name, typed in keys.items()])
        self._steps.append(Grouping(grouped_by, tuple(aggregations)))
        # an alias may have the name of a property, which the result does not have any more
        self._names = names
        self._lengths = lengths
        self._unlimited.clear()
        self._is_aggregated = True
        self._order = ()
        self._sorting.clear()
        self._identity = tuple([order_key(name, names[name]) for name in keys])

    def _aggregation(
        self, item: syntax.Aggregate, expression: tree.Node | None, *, is_grouped: bool
    ) -> tuple[Aggregation, TypedValue]:
        """An item of `aggregate` and the type of its result (Data Aggregation 4.0, 3.1.3)."""
        function: FunctionName = "count"
        result: PrimitiveType = COUNT
        operand, nullable = None, False
        if expression is not None:
            self._refuse_many(expression)
            typed = self._binder().value(expression)
            function, result = self._method(item.method, expression, typed)
            operand, nullable = typed.value, typed.nullable or not is_grouped
        nullable = nullable and function != "countdistinct"
        aggregated = typed_property(Field(item.alias), result, nullable=nullable)
        return Aggregation(item.alias, function, operand), aggregated

    def _method(
        self, method: str, expression: tree.Node, typed: TypedValue
    ) -> tuple[FunctionName, PrimitiveType]:
        """The function of an aggregation method for an operand, and the type of its result."""
        if method == "countdistinct":
            return "countdistinct", COUNT
        if typed.type is types.RECORD:
            raise self._unsupported(expression, f"{method} of the record {name_of(expression)}")
        if method in _OF_NUMBERS:
            if typed.type not in types.NUMBERS:
                raise rows.NOT_A_NUMBER(
                    self.option,
                    expression.position,
                    method=method,
                    node=name_of(expression),
                    type=typed.type.expected,
                )
            is_whole = method == "sum" and typed.type is types.WHOLE
            function = NAMED[f"{method}_{_FORMS[typed.type]}"]
            return function, INT64 if is_whole else DECIMAL
        if typed.type is types.TEXT and uses_property(self._unlimited, expression):
            raise self._unsupported(expression, f"{method} of {name_of(expression)}")
        is_wide = typed.type is types.WIDE_DECIMAL
        return NAMED[f"{method}_wide" if is_wide else method], typed.edm_type

    def _refuse_many(self, node: tree.Node) -> None:
        """Raise `Refusal` (501) for a path along navigation to many records."""
        entity_type = self._set.type
        segments = node.segments if isinstance(node, tree.Path) and not self._is_aggregated else ()
        for segment in segments:
            navigation = entity_type.related.get(segment)
            if navigation is None:
                break
            if navigation.collection:
                raise self._unsupported(
                    node, f"The path {name_of(node)} along navigation to many records"
                )

    def _binder(self) -> Binder:
        return Binder(
            self._binding, self.option, self._names, alone=self._is_aggregated, slots=self._slots
        )

    def _length(self, value: Value, position: int) -> float:
        """The most characters of a value; raises `Refusal` (501) if these are too many."""
        lengths = Lengths(self._binding.model, self.option, self._slots.values, self._lengths)
        return lengths.longest(value, position)

    def _resolved(self, node: tree.Node) -> tree.Node:
        """The node with its aliases replaced; all resolved nodes together keep to the limits."""
        limits = self._binding.limits
        if not any(isinstance(each, tree.Parameter) for each, _ in tree.walk(node)):
            return node
        if self._aliases is None:
            self._aliases = parse_aliases(self._binding.aliases, limits)
        resolved = resolve(node, self._aliases, limits)
        self._nodes += sum(1 for _ in tree.walk(resolved))
        if self._nodes > limits.nodes:
            raise rows.TOO_MANY_NODES(self.option, node.position, limit=limits.nodes)
        return resolved

    def _total_order(self) -> tuple[OrderKey, ...]:
        return _distinct((*self._order, *self._identity))

    def _check_name(self, alias: str, position: int) -> None:
        own = () if self._is_aggregated else own_names(self._binding)
        if alias in own or alias in _heads(self._names):
            raise self._taken(alias, position)

    def _taken(self, alias: str, position: int) -> Refusal:
        owner = "The aggregated result" if self._is_aggregated else self._set.type.name
        return alias_taken(owner, alias, self.option, position)

    def _refuse_unlimited(self, node: tree.Node, doing: str) -> None:
        if uses_property(self._unlimited, node):
            raise self._unsupported(node, f"{doing} {name_of(node)}")

    def _misplaced(self, node: syntax.Transformation) -> Refusal:
        return self._unsupported(node, f"{node.name} at this position within groupby")

    def _unsupported(self, node: tree.Node | syntax.Transformation, construct: str) -> Refusal:
        return rows.NOT_SUPPORTED(self.option, node.position, construct=construct)


def _heads(names: Iterable[str]) -> set[str]:
    """The first segments of the names."""
    return {name.partition("/")[0] for name in names}


def _column(name: str, typed: TypedValue) -> TypedValue:
    return typed_property(Field(name), typed.edm_type, nullable=typed.nullable)


def _distinct(keys: Iterable[OrderKey]) -> tuple[OrderKey, ...]:
    """The keys without those that sort by the same value as an earlier one."""
    found: dict[str, OrderKey] = {}
    for key in keys:
        found.setdefault(key.name, key)
    return tuple(found.values())
