"""The query options `$filter`, `$orderby`, `$compute` and `$search` bound to an entity set.

A search finds a record if one of its searched properties contains the term, in upper or lower case.
Python folds the case (`str.casefold`, Unicode's full case folding), here and in every database,
because databases fold differently.
"""

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import msgspec

from comptoir.edm.model import Model, PairFilter
from comptoir.edm.types import Stored, Text
from comptoir.errors import refusal_rows as rows
from comptoir.errors.refusal import Refusal
from comptoir.plan.expressions import nodes, types
from comptoir.plan.expressions.binder import Binder
from comptoir.plan.expressions.operands import (
    BindingContext,
    TypedValue,
    described,
    name_of,
    typed_property,
)
from comptoir.plan.expressions.operators import as_narrow
from comptoir.plan.expressions.templates import cached, templated
from comptoir.plan.expressions.types import FunctionName
from comptoir.plan.read import (
    EVERYTHING,
    Computed,
    ComputedProperty,
    NamedValue,
    Order,
    OrderKey,
    Where,
    default_order,
)
from comptoir.profiles.record import ODATA, FilterRules, Treatment
from comptoir.request.expression import tree
from comptoir.request.expression.parser import (
    COMPUTE,
    ExpressionLimits,
    parse_compute,
    parse_expression,
    parse_orderby,
)
from comptoir.request.search import SearchJunction, SearchNode, SearchNot, SearchTerm, parse_search

MOST_CHARACTERS = 64_000
"""The most characters of a computed text, and of all texts of a sort order together.

The length of a property counts with its maximum, not with its value.
"""

MOST_COMPARED = 1 << 28
"""The most pairs of characters that searches for texts within texts may compare for a record.

PostgreSQL may compare every pair, about a hundred million in a tenth of a second, and cannot be
interrupted meanwhile.
"""

_SEARCH_FUNCTIONS: frozenset[FunctionName] = frozenset(
    {"contains", "contains_literal", "indexof", "indexof_literal"}
)

OTHER_LENGTH = 40.0
"""The most characters of a value of any type but text, when it is written as text."""


@dataclass(slots=True)
class Lengths:
    """Bounds the texts of the expressions of one query option, whose slots have these values.

    `known` are the bounds of further names.
    """

    model: Model
    option: str
    values: Sequence[Stored]
    known: Mapping[str, float]
    _compared: float = 0.0

    def longest(self, node: nodes.Value, position: int) -> float:
        """Return the most characters of a value when it is written as text; may be infinite.

        Raises `Refusal` (501) for a joined text that may be too long, and for a search for long
        texts within long texts.
        """
        match node:
            case nodes.Field() if node.name in self.known:
                return self.known[node.name]
            case nodes.Field() | nodes.Member():
                return _lengths(self.model).get(node.name, OTHER_LENGTH)
            case nodes.Slot():
                return float(len(str(self.values[node.number])))
            case nodes.Related():
                return self.longest(node.value, position)
            case nodes.Exists():
                if node.condition is not None:
                    self.longest(node.condition, position)
                return OTHER_LENGTH
        below = [self.longest(each, position) for each in nodes.parts(node)]
        if isinstance(node, nodes.Function):
            return self._of_function(node, below, position)
        return max(below) if isinstance(node, nodes.Choice) else OTHER_LENGTH

    def _of_function(self, node: nodes.Function, below: Sequence[float], position: int) -> float:
        length = sum(below)
        if node.name in _SEARCH_FUNCTIONS:
            text, part = [min(each, MOST_CHARACTERS) for each in below]
            self._compared += text * part
            if self._compared > MOST_COMPARED:
                construct = "A search for long texts within long texts"
                raise rows.NOT_SUPPORTED(self.option, position, construct=construct)
        if node.name == "substring_literal":
            counts = [
                self.values[each.number]
                for each in node.arguments[2:]
                if isinstance(each, nodes.Slot)
            ]
            length = min([below[0], *map(float, counts)])
        if node.name == "concat" and length > MOST_CHARACTERS:
            raise too_long(self.option, position)
        return length


def too_long(option: str, position: int) -> Refusal:
    """501: a computed text that may be too long."""
    construct = f"A computed text of more than {MOST_CHARACTERS} characters"
    return rows.NOT_SUPPORTED(option, position, construct=construct)


@cache
def _lengths(model: Model) -> Mapping[str, float]:
    """The most characters of the text properties with a name."""
    lengths: dict[str, float] = {}
    for entity_set in model.sets:
        for each in entity_set.type.properties:
            if isinstance(each.type, Text):
                length = each.type.stored_length or math.inf
                lengths[each.name] = max(length, lengths.get(each.name, 0.0))
    return lengths


FILTER, ORDERBY = "$filter", "$orderby"

ORDERS_CACHED = 500
"""Short texts of `$orderby` whose bound form is cached."""

COMPUTES_CACHED = 500
"""Short texts of `$compute` whose bound form is cached."""

MOST_KEYS = 32
"""The most keys of an order: the condition of a next page compares each after all before it."""

MOST_COMPUTED = 4 * MOST_CHARACTERS
"""The most characters of all computed properties of a record together."""


@templated
def bind_filter(binding: BindingContext, text: str) -> Where:
    """Bind a `$filter`; raises `Refusal` (400; 501 for what is not supported).

    The value `NOW` is a placeholder for the time of the request.
    """
    node = binding.resolve_aliases(parse_expression(text, binding.limits, FILTER), text)
    names = computed_names(binding.computed)
    binder = Binder(binding, FILTER, names)
    condition = bind_condition(binder, node, binding.entity_set.pair_filter, FILTER)
    Lengths(binding.model, FILTER, binder.slots.values, _known(binding)).longest(condition, 0)
    # errors come first, also those of a filter that is ignored
    if not _is_evaluated(node, binding.dialect, FILTER):
        return EVERYTHING
    return Where(condition, tuple(binder.slots.values))


def bind_condition(
    binder: Binder, node: tree.Node, pair_filter: PairFilter | None, option: str
) -> nodes.Condition:
    """Bind a condition, which may contain filter-only properties in numbered pairs."""
    if pair_filter is None:
        return binder.condition(node).value
    pairs = _PairBinder(pair_filter, option)
    conditions: list[nodes.Value] = [binder.condition(other).value for other in pairs.split(node)]
    conditions += pairs.bind(binder)
    return conditions[0] if len(conditions) == 1 else nodes.Junction("and", tuple(conditions))


@cached(ORDERS_CACHED)
def bind_orderby(binding: BindingContext, text: str) -> Order:
    """Bind an `$orderby` to a total order: its keys, then the key of the set.

    The key of the set has the direction of the last one, so that an index has the same order in
    either direction. A repeated key is left out. Raises `Refusal` (400; 501 for what is not
    supported).
    """
    entity_set = binding.entity_set
    characters = 0.0
    names = computed_names(binding.computed)
    keys: dict[object, OrderKey] = {}
    expressions: list[NamedValue] = []
    slots: tuple[Stored, ...] = ()
    lower_case = binding.dialect.lower_case
    for item in parse_orderby(text, binding.limits, ORDERBY, lower_case=lower_case):
        node = binding.resolve_aliases(item.expression, text)
        binder = Binder(binding, ORDERBY, names)
        typed = binder.value(node)
        if typed.type is types.RECORD:
            raise rows.RECORDS_SORTED(ORDERBY, node.position, node=described(node))
        if typed.type is types.NULL:
            continue
        value, values = typed.value, tuple(binder.slots.values)
        if (value, values) in keys:
            continue
        if len(keys) == MOST_KEYS:
            raise rows.TOO_MANY_KEYS(ORDERBY, item.position, limit=MOST_KEYS)
        # no property has such a name
        name = value.name if isinstance(value, nodes.Field) else f"#{len(keys)}"
        if not isinstance(value, nodes.Field):
            expressions.append(NamedValue(name, value, len(slots)))
            slots += values
        key = order_key(name, typed, descending=item.descending)
        keys[value, values] = key
        lengths = Lengths(binding.model, ORDERBY, values, _known(binding))
        longest = lengths.longest(value, item.position)
        characters += longest if key.text else 0
        if characters > MOST_CHARACTERS:
            # the link to the next page contains the texts
            shown = name_of(node)
            construct = f"Sorting by {shown}, with texts of more than {MOST_CHARACTERS} characters,"
            raise rows.NOT_SUPPORTED(ORDERBY, item.position, construct=construct)
    order = tuple(keys.values())
    if all(key.name != entity_set.type.key for key in order):
        (key,) = default_order(entity_set).keys
        descends = bool(order) and order[-1].descending
        order += (msgspec.structs.replace(key, descending=descends),)
    return Order(order, tuple(expressions), slots)


@cached(COMPUTES_CACHED)
def bind_compute(binding: BindingContext, text: str) -> Computed:
    """Bind a `$compute`; raises `Refusal` (400; 501 for what is not supported)."""
    names = own_names(binding)
    computed: list[ComputedProperty] = []
    together = 0.0
    for item in parse_compute(text, binding.limits, COMPUTE):
        if item.alias in names:
            raise alias_taken(binding.entity_set.type.name, item.alias, COMPUTE, item.position)
        node = binding.resolve_aliases(item.expression, text)
        binder = Binder(binding, COMPUTE)
        typed = computed_value(binder, node, COMPUTE)
        lengths = Lengths(binding.model, COMPUTE, binder.slots.values, {})
        longest = lengths.longest(typed.value, node.position)
        together += longest
        if longest > MOST_CHARACTERS or together > MOST_COMPUTED:
            raise too_long(COMPUTE, node.position)
        values = tuple(binder.slots.values)
        computed.append(
            ComputedProperty(
                item.alias, typed.edm_type, typed.nullable, typed.value, longest, values
            )
        )
    return tuple(computed)


def computed_value(binder: Binder, node: tree.Node, option: str) -> TypedValue:
    """Bind the expression of a computed property; raises `Refusal` (400, 501)."""
    typed = as_narrow(binder.value(node))
    if typed.type is types.RECORD:
        construct = "A record as a computed value"
        raise rows.NOT_SUPPORTED(option, node.position, construct=construct)
    return typed


def own_names(binding: BindingContext) -> set[str]:
    """Return the names in a record of the entity set, which an alias cannot have."""
    entity_type = binding.entity_set.type
    contained = binding.model.contained(binding.entity_set)
    return {*entity_type.by_name, *entity_type.related, *contained}


def alias_taken(owner: str, alias: str, option: str, position: int) -> Refusal:
    """400: the alias of a computed property that `owner` already has."""
    return rows.NAME_TAKEN(option, position, owner=owner, alias=alias)


def order_key(name: str, typed: TypedValue, *, descending: bool = False) -> OrderKey:
    """Return the key that sorts by a bound value of this name."""
    is_text = typed.type is types.WIDE_DECIMAL or isinstance(typed.edm_type.default, str)
    return OrderKey(name, is_text, descending, typed.nullable)


def _known(binding: BindingContext) -> Mapping[str, float]:
    return {each.name: each.longest for each in binding.computed}


def computed_names(computed: Computed) -> Mapping[str, TypedValue]:
    """Return computed properties as names that other query options may use."""
    return {
        each.name: typed_property(nodes.Field(each.name), each.type, nullable=each.nullable)
        for each in computed
    }


def uses_property(names: Collection[str], expression: tree.Node) -> bool:
    """Whether an expression uses a property with one of these names."""
    return any(
        isinstance(node, tree.Path) and node.segments[-1] in names
        for node, _ in tree.walk(expression)
    )


def unlimited_texts(binding: BindingContext) -> set[str]:
    """Return the names of texts without a maximal length.

    They cannot be sorted by: the link to a next page could not contain them.
    """
    return {
        each.name
        for entity_set in binding.model.sets
        for each in entity_set.type.properties
        if isinstance(each.type, Text) and each.type.max_length is None
    }


class _PairBinder:
    """Binds filter-only properties: `AttributeName1 eq 'Color' and AttributeValue1 eq 'Red'`."""

    def __init__(self, pairs: PairFilter, option: str) -> None:
        self._pairs = pairs
        self._option = option
        self._name = re.compile(f"({pairs.name}|{pairs.value})(\\d+)", re.ASCII)
        self._literals: dict[str, dict[int, tree.Literal]] = {pairs.name: {}, pairs.value: {}}

    def split(self, node: tree.Node) -> list[tree.Node]:
        """Take the pairs out of a top-level chain of `and`, and return the other conditions.

        Raises `Refusal` (400) for a pair elsewhere, for a comparison other than by `eq` with a
        text, and for a number that is repeated or out of range.
        """
        others: list[tree.Node] = []
        pending = [node]
        while pending:
            current = pending.pop()
            if isinstance(current, tree.Logical) and current.operator == "and":
                pending.extend(reversed(current.operands))
            elif not self._take(current):
                others.append(current)
        for other in others:
            for each, _ in tree.walk(other):
                if isinstance(each, tree.Path) and self._pair(each):
                    raise self._only_eq(each)
        return others

    def bind(self, binder: Binder) -> list[nodes.Condition]:
        """Return the conditions of the pairs; raises `Refusal` (400) for a value without a name."""
        pairs = self._pairs
        names, values = self._literals[pairs.name], self._literals[pairs.value]
        conditions: list[nodes.Condition] = []
        for number, literal in names.items():
            wanted = {pairs.carrier_name: literal.text}
            if number in values:
                wanted[pairs.carrier_value] = values[number].text
            conditions.append(binder.pair(pairs, wanted))
        for number, literal in values.items():
            if number not in names:
                name, partner = f"{pairs.value}{number}", f"{pairs.name}{number}"
                position = literal.position
                raise rows.PAIR_INCOMPLETE(self._option, position, name=name, partner=partner)
        return conditions

    def _take(self, node: tree.Node) -> bool:
        if not isinstance(node, tree.Binary):
            return False
        sides = (node.left, node.right)
        path = next((each for each in sides if isinstance(each, tree.Path)), None)
        literal = next((each for each in sides if isinstance(each, tree.Literal)), None)
        pair = None if path is None else self._pair(path)
        if path is None or pair is None:
            return False
        if node.operator != "eq" or literal is None or literal.type != "string":
            raise self._only_eq(path)
        kind, number = pair
        if number in self._literals[kind]:
            raise rows.PAIR_TWICE(self._option, path.position, name=path.segments[0])
        self._literals[kind][number] = literal
        return True

    def _pair(self, path: tree.Path) -> tuple[str, int] | None:
        """The name before the number of a filter-only property, and the number."""
        match = self._name.fullmatch(path.segments[0])
        if match is None or len(path.segments) > 1:
            return None
        digits = match[2]
        if digits.startswith("0") or len(digits) > 3 or int(digits) > self._pairs.count:
            name, count = path.segments[0], self._pairs.count
            raise rows.PAIR_NUMBER(self._option, path.position, name=name, count=count)
        return match[1], int(digits)

    def _only_eq(self, path: tree.Path) -> Refusal:
        name = path.segments[0]
        return rows.PAIR_OPERATOR(self._option, path.position, name=name)


def _is_evaluated(node: tree.Node, dialect: FilterRules, option: str) -> bool:
    """Whether a dialect evaluates a filter, or ignores it; raises `Refusal` (501) if it refuses."""
    if dialect is ODATA:
        return True
    found = list(_treated(node, dialect))
    if any(treatment == "ignored" for _, treatment in found):
        return False
    for each, treatment in found:
        if treatment == "refused":
            raise _refusal(each, option)
    return True


def _treated(root: tree.Node, dialect: FilterRules) -> Iterator[tuple[tree.Node, Treatment]]:
    """The constructs that dialects treat differently, each after those around it."""
    pending = [(root, False, False)]
    while pending:
        node, in_or, in_call = pending.pop()
        match node:
            case tree.In() | tree.InCollection():
                yield node, dialect.lists
            case tree.Lambda():
                yield node, dialect.lambdas
            case tree.Call():
                if in_call:
                    yield node, dialect.nested_calls
                in_call = True
            case tree.Logical(operator="or"):
                # an inner one has no property that the outer one does not have
                if not in_or and len(_properties(node)) > 1:
                    yield node, dialect.alternatives
                in_or = True
        pending.extend((each, in_or, in_call) for each in tree.children(node))


def _properties(root: tree.Node) -> set[tuple[str, ...]]:
    """The properties in an expression, as the segments of their paths."""
    paths = [each.segments for each, _ in tree.walk(root) if isinstance(each, tree.Path)]
    return {path[1:] if path[0] == "$it" else path for path in paths}


def _refusal(node: tree.Node, option: str) -> Refusal:
    if isinstance(node, tree.Logical):
        return rows.ALTERNATIVES(option, node.position)
    construct = described(node)
    if isinstance(node, tree.Call):
        construct = f"{construct} as an argument of a function"
    return rows.FILTER_PART(option, node.position, construct=construct)


SEARCH = "$search"

MOST_TERMS = 100

MOST_LEVELS = 10
"""The deepest nesting of AND and OR within one another."""

INDEXED_LENGTH = 3
"""The fewest code points of a folded term that an index, which has trigrams, can look up."""

_OPPOSITE = {"and": "or", "or": "and"}


def fold(*texts: str) -> str:
    """Fold texts for comparison; NUL, which neither a text nor a term contains, separates them."""
    return "\0".join(texts).casefold()


def with_search(where: Where, text: str, limits: ExpressionLimits) -> Where:
    """Narrow a condition to the records that a `$search` finds.

    Raises `Refusal` (400) for a search that is malformed or exceeds a limit.
    """
    slots = nodes.Slots(where.values)
    found = bind_search(parse_search(text, limits), slots)
    condition = (
        found if where.condition is None else nodes.Junction("and", (where.condition, found))
    )
    return Where(condition, tuple(slots.values), searches=True)


def bind_search(node: SearchNode, slots: nodes.Slots) -> nodes.MatchesSearch:
    """Bind a search, with its terms in the slots; raises `Refusal` (400)."""
    first = len(slots.values)
    search = _bound(node, slots)
    if len(slots.values) - first > MOST_TERMS:
        raise rows.SEARCH_TOO_LONG(SEARCH, limit=MOST_TERMS)
    if _levels(search) > MOST_LEVELS:
        raise rows.SEARCH_TOO_DEEP(SEARCH, limit=MOST_LEVELS)
    return nodes.MatchesSearch(search)


def _bound(node: SearchNode, slots: nodes.Slots, *, negated: bool = False) -> nodes.BoundSearch:
    """Bind a node or its negation: NOT moves to the terms, and nested chains become one."""
    match node:
        case SearchNot():
            return _bound(node.operand, slots, negated=not negated)
        case SearchTerm():
            folded = fold(node.text)
            return nodes.ContainsTerm(slots.add(folded), len(folded) >= INDEXED_LENGTH, negated)
        case SearchJunction():
            operator = _OPPOSITE[node.operator] if negated else node.operator
            operands: list[nodes.BoundSearch] = []
            for each in node.operands:
                bound = _bound(each, slots, negated=negated)
                if isinstance(bound, nodes.CombinedSearch) and bound.operator == operator:
                    operands += bound.operands
                else:
                    operands.append(bound)
            return nodes.CombinedSearch(operator, tuple(operands))


def _levels(search: nodes.BoundSearch) -> int:
    if isinstance(search, nodes.ContainsTerm):
        return 0
    return 1 + max(map(_levels, search.operands))
