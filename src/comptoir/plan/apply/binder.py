"""`$apply` bound to a set (OData Extension for Data Aggregation 4.0, section 3).

The options that apply to its result are bound as transformations behind it.
"""

from collections.abc import Iterable, Mapping, Sequence

from comptoir.errors import Refusal
from comptoir.plan.apply.aggregates import Names, bind_aggregate
from comptoir.plan.apply.stages import (
    Aggregation,
    Cut,
    Extended,
    Grouped,
    Narrowed,
    Pipeline,
    ResultColumn,
    Stage,
    Terms,
)
from comptoir.plan.bound import Field, Junction, Value
from comptoir.plan.expressions import types
from comptoir.plan.expressions.arithmetic import narrowed
from comptoir.plan.expressions.binder import Binder
from comptoir.plan.expressions.binding_context import BindingContext
from comptoir.plan.expressions.filters import bind_condition
from comptoir.plan.expressions.lengths import OTHER_LENGTH, Lengths
from comptoir.plan.expressions.orders import names_one, unlimited
from comptoir.plan.expressions.slots import Slots
from comptoir.plan.expressions.terms import name_of
from comptoir.plan.expressions.typed import Typed, typed_property
from comptoir.plan.faults import misused, unsupported
from comptoir.plan.read import OrderTerm
from comptoir.plan.searches import bind_search
from comptoir.request.aliases import Aliases, parse_aliases, resolve
from comptoir.request.apply import (
    AggregateInto,
    ComputeAlso,
    FilterBy,
    GroupBy,
    Identity,
    OrderBy,
    SearchFor,
    Skip,
    Top,
    Transformation,
)
from comptoir.request.expression import ComputeItem
from comptoir.request.expression.tree import Node, Parameter, Path, walk
from comptoir.request.options import LARGEST

_NAMES: Mapping[type, str] = {
    FilterBy: "filter",
    GroupBy: "groupby",
    AggregateInto: "aggregate",
    ComputeAlso: "compute",
    SearchFor: "search",
    OrderBy: "orderby",
    Top: "top",
    Skip: "skip",
    Identity: "identity",
}
TRANSFORMATIONS = tuple(_NAMES.values())
"""The transformations that there are."""

MOST_TRANSFORMATIONS = 40
"""How many transformations a pipeline has, those within groups included."""


class PipelineBinder:
    """Binds transformations one behind the other; `option` is that which they come from."""

    def __init__(self, binding: BindingContext, option: str) -> None:
        self.option = option
        self._binding = binding
        self._set = binding.entity_set
        self._slots = Slots()
        self._stages: list[Stage] = []
        self._names: dict[str, Typed] = {}
        self._lengths: dict[str, float] = {}
        self._aggregated = False
        self._searches = False
        self._hidden = 0
        self._transformations = 0
        self._nodes = 0
        self._aliases: Aliases | None = None
        self._unlimited = unlimited(binding)
        key = self._set.type.key_property
        own = typed_property(Field(key.name), key.type, nullable=False)
        self._identity: Terms = (_term(key.name, own),)
        self._order: Terms = ()

    def bind(self, transformations: Sequence[Transformation]) -> None:
        """Add transformations.

        Raises `Refusal`: 400 with the place of the fault, 501 for what is not supported.
        """
        for node in transformations:
            self._transformations += 1
            if self._transformations > MOST_TRANSFORMATIONS:
                raise self._misused(
                    node,
                    f"there are more than {MOST_TRANSFORMATIONS} transformations. Join filters by "
                    "`and`, and computations by commas.",
                )
            self._transform(node)

    def pipeline(self) -> Pipeline:
        """What was added, as one."""
        columns = [
            ResultColumn(tuple(name.split("/")), typed.edm_type, typed.nullable)
            for name, typed in self._names.items()
        ]
        return Pipeline(
            self._set,
            tuple(self._stages),
            tuple(self._slots.values),
            tuple(columns),
            self._total_order(),
            self._aggregated,
            self._searches,
        )

    def _transform(self, node: Transformation) -> None:
        match node:
            case FilterBy():
                self._filter(node)
            case SearchFor():
                self._search(node)
            case ComputeAlso():
                self._compute(node.items)
            case OrderBy():
                self._sort(node)
            case AggregateInto():
                self._aggregate(node)
            case GroupBy():
                self._group(node)
            case Top():
                self._cut(node.count, 0)
            case Skip():
                self._cut(LARGEST, node.count)
            case Identity():
                pass

    def _filter(self, node: FilterBy) -> None:
        resolved = self._resolved(node.condition)
        pairs = None if self._aggregated else self._set.pair_filter
        condition = bind_condition(self._binder(), resolved, pairs, self.option)
        self._measured(condition, node.position)
        self._narrow(condition)

    def _search(self, node: SearchFor) -> None:
        if self._aggregated:
            raise unsupported(self.option, node.position, "searching an aggregated result")
        self._searches = True
        self._narrow(bind_search(node.search, self._slots))

    def _compute(self, items: Sequence[ComputeItem]) -> None:
        added: list[tuple[str, Value]] = []
        found: dict[str, Typed] = {}
        longest: dict[str, float] = {}
        for item in items:
            self._check_name(item.alias, item.position)
            node = self._resolved(item.expression)
            typed = narrowed(self._binder().value(node))
            if typed.type is types.RECORD:
                raise unsupported(self.option, node.position, "a record as a computed value")
            if typed.type is types.TEXT and names_one(self._unlimited, node):
                self._unlimited.add(item.alias)
            longest[item.alias] = self._measured(typed.value, item.position)
            added.append((item.alias, typed.value))
            found[item.alias] = _named(item.alias, typed)
        self._stages.append(Extended(tuple(added)))
        self._names.update(found)
        self._lengths.update(longest)

    def _measured(self, value: Value, position: int) -> float:
        """How long a value may be as text; raises `Refusal` (501) where that is too much."""
        lengths = Lengths(self._binding.model, self.option, self._slots.values, known=self._lengths)
        return lengths.longest(value, position)

    def _sort(self, node: OrderBy) -> None:
        terms: list[OrderTerm] = []
        hidden: list[tuple[str, Value]] = []
        for item in node.items:
            expression = self._resolved(item.expression)
            self._refuse_unlimited(expression, "sorting by")
            typed = self._binder().value(expression)
            if typed.type is types.NULL:
                continue
            self._measured(typed.value, item.position)
            name = typed.value.name if isinstance(typed.value, Field) else None
            if name is None:
                # no property and no alias has such a name
                name = f"#{self._hidden}"
                self._hidden += 1
                hidden.append((name, typed.value))
            terms.append(_term(name, typed, descending=item.descending))
        if hidden:
            self._stages.append(Extended(tuple(hidden)))
        self._order = _once((*terms, *self._order))

    def _cut(self, limit: int, skip: int) -> None:
        slots = self._slots.add(limit), self._slots.add(skip)
        self._stages.append(Cut(self._total_order(), *slots))

    def _group(self, node: GroupBy) -> None:
        keys = dict([self._key(path) for path in node.paths])
        inner = [each for each in node.transformations if not isinstance(each, Identity)]
        place = next((n for n, each in enumerate(inner) if isinstance(each, AggregateInto)), None)
        if place is None and node.transformations:
            raise self._within_group(node.transformations[0])
        for each in inner[: place or 0]:
            if not isinstance(each, ComputeAlso):
                raise self._within_group(each)
            self.bind([each])
        aggregate = None if place is None else inner[place]
        self._regroup(keys, aggregate if isinstance(aggregate, AggregateInto) else None)
        for each in inner[0 if place is None else place + 1 :]:
            # each group is one record by now, so these do the same to all of them at once
            if not isinstance(each, ComputeAlso | FilterBy):
                raise self._within_group(each)
            self.bind([each])

    def _aggregate(self, node: AggregateInto) -> None:
        self._regroup({}, node)

    def _regroup(self, keys: Mapping[str, Typed], node: AggregateInto | None) -> None:
        aggregations: list[Aggregation] = []
        longest = {name: self._measured(typed.value, 0) for name, typed in keys.items()}
        found = {name: _named(name, typed) for name, typed in keys.items()}
        heads = _heads(keys)
        for item in () if node is None else node.items:
            if item.alias in heads:
                raise self._taken(item.alias, item.position)
            expression = None if item.expression is None else self._resolved(item.expression)
            aggregation, typed = bind_aggregate(self._scope(), item, expression, grouped=bool(keys))
            longest[item.alias] = OTHER_LENGTH
            if aggregation.operand is not None:
                operand = self._measured(aggregation.operand, item.position)
                longest[item.alias] = operand if typed.type is types.TEXT else OTHER_LENGTH
            aggregations.append(aggregation)
            found[item.alias] = typed
        values = tuple([(name, typed.value) for name, typed in keys.items()])
        self._stages.append(Grouped(values, tuple(aggregations)))
        # names from before the grouping mean nothing after it: an alias may be one of them
        self._names = found
        self._lengths = longest
        self._unlimited.clear()
        self._aggregated = True
        self._order = ()
        self._identity = tuple([_term(name, found[name]) for name in keys])

    def _key(self, path: Path) -> tuple[str, Typed]:
        names = self._scope()
        names.refuse_many(path)
        self._refuse_unlimited(path, "grouping by")
        typed = names.binder.value(path)
        if typed.type is types.RECORD:
            raise unsupported(self.option, path.position, f"grouping by the record {name_of(path)}")
        return "/".join([each for each in path.segments if "." not in each]), typed

    def _scope(self) -> Names:
        return Names(self._set, self._binder(), self._unlimited, self._aggregated)

    def _binder(self) -> Binder:
        binding = self._binding
        return Binder(
            binding.model,
            self._set,
            self.option,
            self._names,
            alone=self._aggregated,
            slots=self._slots,
        )

    def _narrow(self, condition: Value) -> None:
        last = self._stages[-1] if self._stages else None
        if isinstance(last, Narrowed):
            held = last.condition
            joined = isinstance(held, Junction) and held.operator == "and"
            before = held.operands if joined and isinstance(held, Junction) else (held,)
            self._stages[-1] = Narrowed(Junction("and", (*before, condition)))
        else:
            self._stages.append(Narrowed(condition))

    def _resolved(self, node: Node) -> Node:
        """A node with what its aliases stand for; all of them together keep to the limits."""
        limits = self._binding.limits
        if not any(isinstance(each, Parameter) for each, _ in walk(node)):
            return node
        if self._aliases is None:
            self._aliases = parse_aliases(self._binding.aliases, limits)
        resolved = resolve(node, self._aliases, limits)
        self._nodes += sum(1 for _ in walk(resolved))
        if self._nodes > limits.nodes:
            raise misused(
                self.option,
                node.position,
                f"with its aliases replaced, it is larger than {limits.nodes} parts. Write less.",
            )
        return resolved

    def _total_order(self) -> Terms:
        return _once((*self._order, *self._identity))

    def _check_name(self, alias: str, position: int) -> None:
        kind, contained = self._set.type, self._binding.model.contained(self._set)
        own = {*kind.by_name, *kind.related, *contained}
        if (not self._aggregated and alias in own) or alias in _heads(self._names):
            raise self._taken(alias, position)

    def _taken(self, alias: str, position: int) -> Refusal:
        return misused(
            self.option, position, f"{alias} is the name of a property already. Choose another."
        )

    def _refuse_unlimited(self, node: Node, doing: str) -> None:
        if names_one(self._unlimited, node):
            raise unsupported(self.option, node.position, f"{doing} {name_of(node)}")

    def _within_group(self, node: Transformation) -> Refusal:
        name = _NAMES[type(node)]
        return unsupported(self.option, node.position, f"`{name}` at its place within `groupby`")

    def _misused(self, node: Transformation, message: str) -> Refusal:
        return misused(self.option, node.position, message)


def _heads(names: Iterable[str]) -> set[str]:
    """The names at the top of a row: of a path, that of the relation."""
    return {name.partition("/")[0] for name in names}


def _named(name: str, typed: Typed) -> Typed:
    return typed_property(Field(name), typed.edm_type, nullable=typed.nullable)


def _term(name: str, typed: Typed, *, descending: bool = False) -> OrderTerm:
    is_text = typed.type is types.WIDE_DECIMAL or isinstance(typed.edm_type.default, str)
    return OrderTerm(Field(name), is_text, typed.nullable, descending)


def _once(terms: Terms) -> Terms:
    """The terms without those that sort by what one before them sorts by."""
    found: dict[Value, OrderTerm] = {}
    for each in terms:
        found.setdefault(each.value, each)
    return tuple(found.values())
