"""`$filter` bound to an entity type."""

from comptoir.edm.model import PairFilter
from comptoir.plan.bound import Condition, Junction, Value
from comptoir.plan.expressions.binder import Binder
from comptoir.plan.expressions.binding_context import BindingContext
from comptoir.plan.expressions.computes import computed_names
from comptoir.plan.expressions.lengths import Lengths
from comptoir.plan.expressions.pairs import PairBinder
from comptoir.plan.faults import FILTER
from comptoir.plan.read import Where
from comptoir.request.expression import Node, parse_expression


def bind_filter(binding: BindingContext, text: str) -> Where:
    """The condition that a `$filter` means for a set's records.

    Raises `Refusal`: 400 with the place of the fault, 501 for what is not supported.
    """
    node = binding.resolve_aliases(parse_expression(text, binding.limits, FILTER), text)
    names = computed_names(binding.computed)
    binder = Binder(binding.model, binding.entity_set, FILTER, names, nested=binding.nested)
    condition = bind_condition(binder, node, binding.entity_set.pair_filter, FILTER)
    Lengths(binding.model, FILTER, binder.slots.values, binding.computed).longest(condition, 0)
    return Where(condition, tuple(binder.slots.values))


def bind_condition(
    binder: Binder, node: Node, pair_filter: PairFilter | None, option: str
) -> Condition:
    """The condition that a node means, which may hold filter-only properties in pairs."""
    if pair_filter is None:
        return binder.condition(node).value
    pairs = PairBinder(pair_filter, option)
    conditions: list[Value] = [binder.condition(other).value for other in pairs.split(node)]
    conditions += pairs.bind(binder.slots)
    return conditions[0] if len(conditions) == 1 else Junction("and", tuple(conditions))
